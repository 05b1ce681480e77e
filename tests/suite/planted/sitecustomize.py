"""Adds the family planted here to `assay.truth` in every process whose PYTHONPATH names it."""

from pathlib import Path

import assay.truth

assay.truth.__path__.append(str(Path(__file__).parent / "families"))
