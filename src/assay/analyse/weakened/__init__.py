"""Weakened robustness: regions in which failures are rarer than a given rate, and how far they go."""
