"""Counting: proved bounds of the share of a box on which a violation holds."""
