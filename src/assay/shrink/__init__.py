"""From a wrong answer to its smallest reproducer: `assay shrink`."""
