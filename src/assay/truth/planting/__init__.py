"""What is planted on a background: bumps over small sets of known volume."""
