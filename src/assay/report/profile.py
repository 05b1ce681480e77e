"""What is known of instances beside a benchmark, where it is: profiles, and what is hidden."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path

from assay.attack.table import ATTACK_FILE
from assay.difficulty.profile_table import PROFILE_FILE

_LARGEST = 16 * 1024 * 1024
_LONGEST_CELL = 40
_NAME_COLUMNS = ("instance", "name")
_OF_ATTACKS = ("hidden", "found_by", "queries")


@dataclass(frozen=True)
class Profiles:
    """Column titles, and the cells of each instance."""

    columns: tuple[str, ...] = ()
    rows: dict[str, tuple[str, ...]] = field(default_factory=dict)


def read_profiles(benchmark: Path) -> Profiles:
    """Rows by instance of profile.csv, and after them what attack.csv says of hiddenness.

    Nothing where a file is missing, huge or not such a table: a report never fails for a file that
    only adds to it.
    """
    profiles, attacks = (_read(benchmark / name) for name in (PROFILE_FILE, ATTACK_FILE))
    kept = [number for number, name in enumerate(attacks.columns) if name in _OF_ATTACKS]
    names = dict.fromkeys((*profiles.rows, *attacks.rows))
    blank = ("",) * len(profiles.columns), ("",) * len(attacks.columns)
    return Profiles(
        columns=(*profiles.columns, *(attacks.columns[number] for number in kept)),
        rows={
            name: (
                *profiles.rows.get(name, blank[0]),
                *(attacks.rows.get(name, blank[1])[number] for number in kept),
            )
            for name in names
        },
    )


def _read(path: Path) -> Profiles:
    try:
        if path.stat().st_size > _LARGEST:
            return Profiles()
        with path.open(encoding="utf-8", newline="") as stream:
            header, *rows = csv.reader(stream)
    except (OSError, ValueError, csv.Error):
        return Profiles()
    key = next((header.index(name) for name in _NAME_COLUMNS if name in header), None)
    if key is None:
        return Profiles()
    return Profiles(
        columns=tuple(_without(header, key)),
        rows={row[key]: tuple(_without(row, key)) for row in rows if len(row) == len(header)},
    )


def _without(row: list[str], key: int) -> list[str]:
    return [cell[:_LONGEST_CELL] for number, cell in enumerate(row) if number != key]
