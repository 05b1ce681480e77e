"""Assay: how far can a claim about a neural network's robustness be trusted?"""

__version__ = "0.1.0"
