"""One module a verifier; each declares VERIFIER."""
