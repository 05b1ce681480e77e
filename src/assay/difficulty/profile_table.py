"""The difficulty profiles of a benchmark as `assay profile` left them: profile.csv, read strictly.

What a report shows beside an instance may be missing or odd; what an explanation rests on may not.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.difficulty.components import NAMES
from assay.errors import BadInput

PROFILE_FILE = "profile.csv"
_AGAIN = "run `assay profile` on the benchmark again"
_FINE = "ok"


@dataclass(frozen=True)
class ProfileRow:
    """One instance: its five components, or none where it could not be profiled.

    `others` holds all other cells as they are written.
    """

    instance: str
    values: Mapping[str, float] | None
    others: Mapping[str, str]

    @property
    def blind(self) -> tuple[str, ...]:
        """Components whose value says nothing."""
        return ("A_tau",) if self.others.get("coarse") == "yes" else ()


def read_profile_table(benchmark: Path) -> dict[str, ProfileRow]:
    """The rows of the benchmark's profile.csv by instance, in the order of the file."""
    path = benchmark / PROFILE_FILE
    rows: dict[str, ProfileRow] = {}
    lines: dict[str, int] = {}
    for line, cells in _lines(path):
        row = _row(cells, f"{path}:{line}")
        first = lines.setdefault(row.instance, line)
        if first != line:
            raise BadInput(f"{path}:{line}: repeats {row.instance} of line {first}; remove one")
        rows[row.instance] = row
    if not rows:
        raise BadInput(f"{path}: has no row; {_AGAIN}")
    return rows


def _lines(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Every row as a mapping from column to cell, with its line."""
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            reader = csv.reader(stream, strict=True)
            header = next(reader, [])
            _refuse_other_columns(path, header)
            for cells in reader:
                if len(cells) != len(header):
                    found = f"has {len(cells)} cells under {len(header)} columns"
                    raise BadInput(f"{path}:{reader.line_num}: {found}; {_AGAIN}")
                yield reader.line_num, dict(zip(header, cells, strict=True))
    except FileNotFoundError:
        raise BadInput(f"{path}: there is none; run `assay profile {path.parent}` first") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); check the file") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{path}: is no table in UTF-8 ({error}); {_AGAIN}") from None


def _refuse_other_columns(path: Path, header: list[str]) -> None:
    missing = [name for name in ("instance", "status", *NAMES) if name not in header]
    if missing:
        raise BadInput(f"{path}:1: has no column {', '.join(missing)}; {_AGAIN}")
    if len(set(header)) < len(header):
        raise BadInput(f"{path}:1: names a column twice; {_AGAIN}")


def _row(cells: Mapping[str, str], place: str) -> ProfileRow:
    others = {name: text for name, text in cells.items() if name not in ("instance", *NAMES)}
    if not cells["instance"]:
        raise BadInput(f"{place}: names no instance; {_AGAIN}")
    if cells["status"] != _FINE:
        return ProfileRow(cells["instance"], None, others)
    values = {name: _number(cells[name], f"{place}: {name}") for name in NAMES}
    whole = not any(math.isnan(value) for value in values.values())
    return ProfileRow(cells["instance"], values if whole else None, others)


def _number(text: str, place: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"{place} {text[:40]!r} is not a number; {_AGAIN}") from None
