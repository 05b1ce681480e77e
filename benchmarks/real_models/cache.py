"""The folder that holds what was downloaded, unpacked, decoded or trained for the studies."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER_VARIABLE = "ASSAY_STUDIES"


def cache_folder(*parts: str) -> Path:
    """A folder of the cache, made where it is missing: `$ASSAY_STUDIES`, or one in the home."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    root = Path(chosen) if chosen else Path.home() / ".cache" / "assay-studies"
    folder = root.expanduser().absolute().joinpath(*parts)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def appearing_whole(final: Path) -> Iterator[Path]:
    """A path to write to; `final` appears only when all is written, and never half."""
    with tempfile.TemporaryDirectory(dir=final.parent, prefix=".making-") as scratch:
        # The suffix stays: numpy would add one to a name without it.
        draft = Path(scratch, final.name)
        yield draft
        if not final.exists():
            draft.rename(final)
