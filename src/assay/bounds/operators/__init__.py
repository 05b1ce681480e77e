"""Sound bounds of single operators: intervals forwards, linear relaxations backwards."""
