"""Sound bounds on networks over regions: linear programmes, multipliers and phase trees."""
