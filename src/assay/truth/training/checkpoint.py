"""Where a training stands, in one file of plain arrays that a stopped command goes on from."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import BadInput
from assay.store.whole_file import replaced
from assay.truth.training.settings import Schedule, Setting
from assay.truth.training.standing import Standing

Arrays = Mapping[str, np.ndarray]
_NOTE = "note.json"
_DAMAGES = (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, IndexError)


@dataclass(frozen=True)
class Saved:
    seconds: float
    standings: tuple[Standing, ...]
    live: tuple[int, ...]
    """Which of them are still trained."""
    epoch: int
    state: Arrays
    """Of their trainer."""


def save(path: Path, schedule: Schedule, device: str, saved: Saved) -> None:
    """Written beside and moved into place, so that a kill leaves the one before."""
    arrays = {f"now.{name}": value for name, value in saved.state.items()}
    rows = []
    for at, standing in enumerate(saved.standings):
        row = {n: v for n, v in vars(standing).items() if n not in ("setting", "weights")}
        rows.append(row)
        arrays |= {f"best{at}.{name}": v for name, v in (standing.weights or {}).items()}
    note = {
        "plan": _plan(schedule, [standing.setting for standing in saved.standings]),
        "device": device,
        "seconds": saved.seconds,
        "standings": rows,
        "live": saved.live,
        "epoch": saved.epoch,
    }
    with replaced(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        archive.writestr(_NOTE, json.dumps(note))
        for name, array in arrays.items():
            stream = io.BytesIO()
            np.save(stream, np.asarray(array), allow_pickle=False)
            archive.writestr(f"{name}.npy", stream.getvalue())


def load(path: Path, schedule: Schedule, settings: Sequence[Setting], device: str) -> Saved:
    """The checkpoint of this very training."""
    try:
        arrays, note = _read(path)
        plan, begun_on = note["plan"], note["device"]
        saved = Saved(
            note["seconds"],
            tuple(
                Standing(
                    setting,
                    **{**row, "places": tuple(row["places"])},
                    weights=_named(arrays, f"best{at}.") or None,
                )
                for at, (setting, row) in enumerate(zip(settings, note["standings"], strict=False))
            ),
            tuple(note["live"]),
            note["epoch"],
            _named(arrays, "now."),
        )
    except (*_DAMAGES, zipfile.BadZipFile) as error:
        raise BadInput(f"{path}: is no checkpoint of a training ({error}); remove it") from None
    if plan != _plan(schedule, settings):
        raise BadInput(f"{path}: belongs to another training; choose another folder")
    if begun_on != device:
        raise BadInput(f"{path}: was begun with --device {begun_on}; go on with that")
    return saved


def _read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    with zipfile.ZipFile(path) as archive:
        note = json.loads(archive.read(_NOTE))
        arrays = {
            name.removesuffix(".npy"): np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
            for name in archive.namelist()
            if name != _NOTE
        }
    return arrays, note


def _named(arrays: Arrays, prefix: str) -> dict[str, np.ndarray]:
    return {
        name.removeprefix(prefix): value
        for name, value in arrays.items()
        if name.startswith(prefix)
    }


def _plan(schedule: Schedule, settings: Sequence[Setting]) -> dict[str, Any]:
    plan = {"schedule": asdict(schedule), "settings": [asdict(s) for s in settings]}
    return dict(json.loads(json.dumps(plan)))
