"""Networks trained to hide a counterexample, after SoundnessBench (arXiv 2412.03154)."""
