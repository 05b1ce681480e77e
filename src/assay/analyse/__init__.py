"""Answers for a model where no verifier reaches: statistics whose guarantee really holds."""
