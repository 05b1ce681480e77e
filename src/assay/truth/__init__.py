"""Constructors: one module a family, each making questions whose answer is proven."""
