"""How much a benchmark detects: verifiers broken on purpose, run on it and judged."""
