"""Answers with probability: what sampling and counting say where no verifier reaches."""
