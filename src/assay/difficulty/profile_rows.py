"""The rows of `profile.csv`: one an instance, its columns in the order of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.difficulty.gradients import mass_below_minimum
from assay.difficulty.settings import Settings
from assay.store.csv_line import csv_line

if TYPE_CHECKING:
    from assay.difficulty.profile import Profile

Cell = float | int | str
COLUMNS = (
    "instance",
    "status",
    "M_min",
    "G_IBP",
    "U",
    "A_tau",
    "d_eff",
    "M_searched",
    "found_by",
    "on_faces",
    "G_IBP_searched",
    "L_IBP",
    "L_CROWN",
    "G_CROWN",
    "unstable",
    "units",
    "cells",
    "cell_samples",
    "saturated",
    "coarse",
    "L_c",
    "M_min_mass",
    "A_tau_low",
    "A_tau_high",
    "A_tau_unseen",
    "d_eff_low",
    "d_eff_high",
    "inputs",
    "samples",
    "tau",
    "seed",
    "seconds",
    "search_seconds",
    "crown_seconds",
    "onnx_sha256",
    "vnnlib_sha256",
    "note",
)
TIMINGS = ("seconds", "search_seconds", "crown_seconds")
"""The only columns that two runs with one seed do not share."""


@dataclass(frozen=True)
class Row:
    """`status` is `ok` or `failed`; a failed row has a note and no numbers.

    `point` is where the lowest margin was found; neither it nor `truth_sha256`, of what was known
    about the answer, is part of the file.
    """

    instance: str
    status: str
    cells: Mapping[str, Cell] = field(default_factory=dict)
    note: str = ""
    point: tuple[float, ...] = ()
    truth_sha256: str = ""

    @property
    def hashes(self) -> tuple[str, str, str]:
        """The sha256 of the files that it is about."""
        both = str(self.cells["onnx_sha256"]), str(self.cells["vnnlib_sha256"])
        return *both, self.truth_sha256

    def fields(self, settings: Settings) -> list[str]:
        known: dict[str, Cell] = {
            "instance": self.instance,
            "status": self.status,
            "note": self.note,
            "tau": settings.tau,
            "seed": settings.seed,
            **self.cells,
        }
        return [_text(known.get(column, "")) for column in COLUMNS]


def row_of(instance: str, profile: Profile, hashes: tuple[str, str, str] = ("", "", "")) -> Row:
    """The row of a profile of a network, a question and a truth with these sha256."""
    interval, regions, dimension = profile.interval, profile.regions, profile.dimension
    cells: dict[str, Cell] = {
        "M_min": profile.minimum,
        "G_IBP": profile.interval_gap,
        "U": interval.unstable_fraction,
        "A_tau": regions.value,
        "d_eff": dimension.value,
        "M_searched": profile.lowest,
        "found_by": profile.found_by,
        "on_faces": profile.on_faces,
        "G_IBP_searched": profile.searched_gap,
        "L_IBP": interval.floor,
        "L_CROWN": profile.linear_floor,
        "G_CROWN": profile.linear_gap,
        "unstable": interval.unstable,
        "units": interval.units,
        "cells": regions.distinct,
        "cell_samples": regions.samples,
        "saturated": "yes" if regions.saturated else "no",
        "coarse": "yes" if profile.coarse else "no",
        "L_c": profile.steepest,
        "M_min_mass": mass_below_minimum(profile.samples),
        "A_tau_low": regions.low,
        "A_tau_high": regions.high,
        "A_tau_unseen": regions.unseen,
        "d_eff_low": dimension.low,
        "d_eff_high": dimension.high,
        "inputs": profile.inputs,
        "samples": profile.samples,
        "seconds": round(profile.seconds, 4),
        "search_seconds": round(profile.search_seconds, 4),
        "crown_seconds": round(profile.linear_seconds, 4),
        "onnx_sha256": hashes[0],
        "vnnlib_sha256": hashes[1],
    }
    return Row(instance, "ok", cells, profile.note, profile.point, hashes[2])


def written(rows: Iterable[Row], settings: Settings) -> Iterator[str]:
    """The lines of the file: plain CSV with a header, numbers with all their digits."""
    yield csv_line(COLUMNS)
    for row in rows:
        yield csv_line(row.fields(settings))


def _text(value: Cell) -> str:
    return repr(value) if isinstance(value, float) else str(value)
