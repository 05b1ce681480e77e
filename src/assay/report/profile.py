"""The difficulty profile beside a benchmark (`profile.csv`), where there is one."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path

from assay.difficulty.profile_table import PROFILE_FILE

_LARGEST = 16 * 1024 * 1024
_LONGEST_CELL = 40
_NAME_COLUMNS = ("instance", "name")


@dataclass(frozen=True)
class Profiles:
    """Column titles, and the cells of each instance."""

    columns: tuple[str, ...] = ()
    rows: dict[str, tuple[str, ...]] = field(default_factory=dict)


def read_profiles(benchmark: Path) -> Profiles:
    """Rows by instance; nothing where the file is missing, huge or not such a table.

    A report never fails for a file that only adds to it.
    """
    path = benchmark / PROFILE_FILE
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
