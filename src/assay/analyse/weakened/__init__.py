"""Weakened robustness: regions in which failures are rarer than a rate, and how far they go."""
