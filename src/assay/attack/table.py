"""What `assay attack` found about a benchmark: attack.csv, one row an instance, and attack.json.

An instance is `hidden` if it is violated, every attack of the battery ran and none of them found a
violation that survives exact arithmetic; `no` if one did; and blank where there is nothing to hide
or nothing can be said: robust instances, no truth, only a part of the battery, or an attack that
could evaluate nothing or decide nothing. Then `note` says so.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import BadInput
from assay.store.csv_line import csv_line

if TYPE_CHECKING:
    from assay.attack.battery import Result

ATTACK_FILE = "attack.csv"
SETTINGS_FILE = "attack.json"
YES, NO, UNKNOWN = "yes", "no", ""
PARTIAL = "only a part of the battery ran"
_MARGIN = "margin "
_MOST_DIGITS = 18
_AGAIN = "run `assay attack` on the benchmark again"
_FIRST = (
    "instance",
    "status",
    "family",
    "kind",
    "answer",
    "hidden",
    "found_by",
    "queries",
    "gradients",
    "seconds",
)
_LAST = ("onnx_sha256", "vnnlib_sha256", "note")
START = ",".join(_FIRST[:3])
"""How the file begins."""


@dataclass(frozen=True)
class AttackRow:
    """One instance under the battery.

    `found_by` names the attacks that found a violation, the one with the fewest queries first;
    `queries` and `gradients` are that one's, or of all together where none did. `margins` holds the
    lowest margin that each attack reached, in float64.
    """

    instance: str
    status: str
    family: str = ""
    kind: str = ""
    answer: str = ""
    hidden: str = UNKNOWN
    found_by: tuple[str, ...] = ()
    queries: int = 0
    gradients: int = 0
    seconds: float = 0.0
    margins: Mapping[str, float] = field(default_factory=dict)
    onnx_sha256: str = ""
    vnnlib_sha256: str = ""
    note: str = ""
    truth_sha256: str = ""
    """Of what was known about the answer; not part of the file."""

    @property
    def group(self) -> str:
        """The family, and the kind within it where it has kinds."""
        return f"{self.family} {self.kind}".strip() or "(unknown)"


def row_of(instance: str, answer: str, results: Sequence[Result], whole: bool) -> AttackRow:
    """`whole` says whether this was all of the battery."""
    finders = sorted((r for r in results if r.found is not None), key=lambda r: r.queries)
    spent = finders[:1] or results
    hidden = UNKNOWN
    if finders:
        hidden = NO
    elif answer == "violated" and whole and not any(result.in_vain for result in results):
        hidden = YES
    return AttackRow(
        instance,
        "ok",
        answer=answer,
        hidden=hidden,
        found_by=tuple(result.attack for result in finders),
        queries=sum(result.queries for result in spent),
        gradients=sum(result.gradients for result in spent),
        seconds=round(sum(result.seconds for result in results), 3),
        margins={result.attack: result.margin for result in results if not result.note},
        note="" if finders else _reservations(answer, results, whole),
    )


def _reservations(answer: str, results: Sequence[Result], whole: bool) -> str:
    """What keeps a question on which nothing was found from being called hidden."""
    by_reason: dict[str, list[str]] = {}
    for result in results:
        if result.in_vain and not result.note:
            by_reason.setdefault(result.in_vain, []).append(result.attack)
    notes = [f"{', '.join(names)}: {reason}" for reason, names in by_reason.items()]
    if answer == "violated" and not whole:
        notes.insert(0, PARTIAL)
    return "; ".join(notes)


def written(rows: Iterable[AttackRow], attacks: Sequence[str]) -> Iterator[str]:
    """The lines of the file: plain CSV with a header; margins in a column for each attack."""
    yield csv_line((*_FIRST, *(_MARGIN + name for name in attacks), *_LAST))
    for row in rows:
        done = row.status == "ok"
        numbers = (row.queries, row.gradients, row.seconds) if done else ("", "", "")
        margins = (row.margins.get(name) for name in attacks)
        yield csv_line(
            (
                *(row.instance, row.status, row.family, row.kind, row.answer, row.hidden),
                *(" ".join(row.found_by), *numbers),
                *("" if margin is None else repr(margin) for margin in margins),
                *(row.onnx_sha256, row.vnnlib_sha256, row.note),
            )
        )


def read(benchmark: Path) -> dict[str, AttackRow]:
    """The rows of the benchmark's attack.csv by instance, in the order of the file."""
    path = benchmark / ATTACK_FILE
    rows: dict[str, AttackRow] = {}
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream, strict=True)
            missing = [name for name in (*_FIRST, *_LAST) if name not in (reader.fieldnames or ())]
            if missing:
                raise BadInput(f"{path}:1: has no column {missing[0]}; {_AGAIN}")
            for cells in reader:
                row = _parsed(cells, f"{path}:{reader.line_num}")
                if row.instance in rows:
                    raise BadInput(
                        f"{path}:{reader.line_num}: repeats {row.instance}; remove one of the rows"
                    )
                rows[row.instance] = row
    except FileNotFoundError:
        raise BadInput(f"{path}: there is none; run `assay attack {benchmark}` first") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); check the file") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{path}: is no table in UTF-8 ({error}); {_AGAIN}") from None
    return rows


def _parsed(cells: Mapping[str, str], place: str) -> AttackRow:
    if None in cells or None in cells.values():
        raise BadInput(f"{place}: has another number of cells than columns; {_AGAIN}")
    if cells["hidden"] not in (YES, NO, UNKNOWN):
        raise BadInput(f"{place}: hidden is {cells['hidden'][:40]!r}, not yes or no; {_AGAIN}")
    margins = {
        name.removeprefix(_MARGIN): _number(text, f"{place}: {name}")
        for name, text in cells.items()
        if name.startswith(_MARGIN) and text
    }
    return AttackRow(
        **{name: cells[name] for name in (*_FIRST[:6], *_LAST)},
        found_by=tuple(cells["found_by"].split()),
        queries=_count(cells["queries"], f"{place}: queries"),
        gradients=_count(cells["gradients"], f"{place}: gradients"),
        seconds=_number(cells["seconds"] or "0", f"{place}: seconds"),
        margins=margins,
    )


def _number(text: str, place: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise BadInput(f"{place} {text[:40]!r} is not a number; {_AGAIN}")
    return value


def _count(text: str, place: str) -> int:
    """A whole number, as this file writes it; nothing where there is none."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise BadInput(f"{place} {text[:40]!r} is not a whole number; {_AGAIN}")
    return int(text)


def row_from(line: Mapping[str, Any]) -> AttackRow:
    """A row from the fields of one, as `asdict` gives them; ValueError if they are none."""
    row = AttackRow(
        **{name: line[name] for name in AttackRow.__dataclass_fields__ if name != "found_by"},
        found_by=tuple(line["found_by"]),
    )
    words = (row.instance, row.status, row.family, row.kind, row.answer, row.note, *row.found_by)
    words += (row.onnx_sha256, row.vnnlib_sha256, row.truth_sha256)
    numbers = (row.seconds, *row.margins.values())
    if (
        not all(isinstance(word, str) for word in (*words, *row.margins))
        or not all(isinstance(number, int | float) for number in numbers)
        or not all(isinstance(count, int) for count in (row.queries, row.gradients))
        or row.hidden not in (YES, NO, UNKNOWN)
    ):
        raise ValueError("no row of attacks")
    return row


def read_settings(folder: Path) -> dict[str, Any] | None:
    """How the table of a folder was made: strength, whether of all attacks, what was left out.

    None where nobody knows: no table, or no readable attack.json beside it.
    """
    if not (folder / ATTACK_FILE).is_file():
        return None
    try:
        return facts_of(json.loads((folder / SETTINGS_FILE).read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def facts_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What of all settings decides how much a table says."""
    return {
        "strength": settings["strength"],
        "whole": settings["whole"],
        "left_out": list(settings["left_out"]),
    }
