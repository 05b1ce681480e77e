"""Judging verifiers: run them in isolation, validate what they claim, score soundness first."""
