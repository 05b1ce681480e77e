"""Where work is kept: whole files, locks, journals of rows that resume, hashes, verdicts."""
