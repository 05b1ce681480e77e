"""Scripts that run inside a verifier's own environment; they import nothing of Assay."""
