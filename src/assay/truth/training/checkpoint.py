"""Where a training stands, in one file of plain arrays that a stopped command goes on from."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import BadInput

Arrays = dict[str, np.ndarray]
_NOTE = "note.json"


def save(path: Path, arrays: Mapping[str, np.ndarray], note: Mapping[str, Any]) -> None:
    """Written beside and moved into place, so that a kill leaves the one before."""
    temporary = path.with_name(f".{path.name}.new")
    with zipfile.ZipFile(temporary, "w") as archive:
        archive.writestr(_NOTE, json.dumps(note))
        for name, array in arrays.items():
            stream = io.BytesIO()
            np.save(stream, np.asarray(array), allow_pickle=False)
            archive.writestr(f"{name}.npy", stream.getvalue())
    temporary.replace(path)


def load(path: Path) -> tuple[Arrays, dict[str, Any]]:
    try:
        with zipfile.ZipFile(path) as archive:
            note = json.loads(archive.read(_NOTE))
            arrays = {
                name.removesuffix(".npy"): np.load(
                    io.BytesIO(archive.read(name)), allow_pickle=False
                )
                for name in archive.namelist()
                if name != _NOTE
            }
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise BadInput(f"{path}: is no checkpoint of a training ({error}); remove it") from None
    return arrays, note
