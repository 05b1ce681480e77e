"""A folder that appears whole or not at all, and never in the place of another."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.errors import BadInput


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield a hidden folder beside `target`, which becomes `target` when all went well.

    Whatever ends the work before that, the hidden folder is removed. Inside, an OSError means
    that writing failed: who reads other files turns their errors into BadInput first.
    """
    place = Path(os.path.abspath(target))  # noqa: PTH100 - resolve() would follow links
    refuse_taken(target)
    hidden = place.parent / f".{place.name[:100]}.{secrets.token_hex(8)}"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        hidden.mkdir()
        yield hidden
        hidden.rename(place)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR) and place.exists():
            raise BadInput(
                f"{target}: appeared while this was being written; choose a new folder"
            ) from None
        raise BadInput(
            f"cannot write {target}: {error.strerror}; make room or choose another folder, and "
            "run the same command again"
        ) from None
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def refuse_taken(target: Path) -> None:
    """Raise BadInput where a new folder cannot be made; an empty one may be there."""
    place = Path(os.path.abspath(target))  # noqa: PTH100 - resolve() would follow links
    try:
        taken = place.is_symlink() or (place.exists() and not place.is_dir())
        taken = taken or (place.is_dir() and any(place.iterdir()))
    except OSError as error:
        raise BadInput(
            f"{target}: cannot be looked at ({error.strerror}); choose another folder"
        ) from None
    if taken:
        raise BadInput(f"{target}: exists already and is not overwritten; choose a new folder")
