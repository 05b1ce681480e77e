"""What `assay calibrate` leaves behind: calibration.json, which can be read back, and a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from assay.analyse.calibration.accusation import (
    LEVEL,
    Accusation,
    accusations,
    blamed,
    group_of,
)
from assay.analyse.calibration.measured import Measured
from assay.analyse.calibration.summary import Summary, summaries
from assay.errors import BadInput
from assay.store.whole_file import write_whole

TABLE, DOCUMENT = "calibration.csv", "calibration.json"
SCHEMA = 2
_READABLE = (1, SCHEMA)
"""Documents of schema 1 have the exact error among the figures, and fewer kinds of rows."""
_EXACT_BEFORE = "exact error"
_FIELDS = {field.name for field in fields(Measured)}
_PLAIN = [field.name for field in fields(Measured) if field.name not in ("figures", "left_out")]


@dataclass(frozen=True)
class Calibration:
    """All rows, question after question; `already` questions were measured before."""

    head: dict[str, Any]
    rows: tuple[Measured, ...]
    already: int
    seconds: float

    @property
    def broken(self) -> list[Accusation]:
        """Theorems that are contradicted: a defect of ours, or of the truth."""
        return [found for found in accusations(self.rows) if found.holds]

    @property
    def rates(self) -> dict[str, float]:
        """The failure rate of every question by its name."""
        return {question["name"]: question["rate"] for question in self.head["questions"]}

    @property
    def summaries(self) -> list[Summary]:
        return summaries(self.rows, self.rates)

    @property
    def document(self) -> dict[str, Any]:
        found = accusations(self.rows)
        alone = {id(row) for one in found if one.ground != "all questions" for row in one.rows}
        return {
            "schema": SCHEMA,
            **self.head,
            "level": LEVEL,
            "seconds": round(self.seconds, 1),
            "rows": [
                {
                    **asdict(row),
                    "rate": row.rate,
                    "interval": row.interval,
                    "luck": row.luck,
                    "contradicted": id(row) in alone,
                }
                for row in self.rows
            ],
            "accusations": [
                {
                    "analyser": one.group[0],
                    "event": one.group[1],
                    "settings": sorted({row.setting for row in one.rows}),
                    "questions": [row.question for row in one.rows],
                    "ground": one.ground,
                    "theorem": one.holds,
                    "chance": one.chance,
                    "sentence": one.sentence,
                }
                for one in found
            ],
        }


def write_calibration(folder: Path, made: Calibration) -> None:
    write_whole(folder / TABLE, _table(made).encode())
    write_whole(folder / DOCUMENT, (json.dumps(made.document, indent=1) + "\n").encode())


def read_calibration(path: Path) -> Calibration:
    """A calibration.json of ours; BadInput where it is none."""
    try:
        document = json.loads(path.read_bytes())
        if document["schema"] not in _READABLE:
            known = " or ".join(map(str, _READABLE))
            raise BadInput(
                f"{path}: schema {document['schema']} is not {known}; calibrate again, or read it "
                "with the Assay that wrote it"
            )
        rows = tuple(measured_row(row) for row in document["rows"])
        head = {key: document[key] for key in ("assay", "effort", "analysers", "questions")}
        found = Calibration(head, rows, len(head["questions"]), float(document["seconds"]))
        if not {row.question for row in rows} <= set(found.rates):
            raise ValueError("a row about no question")
    except OSError as error:
        raise BadInput(
            f"{path}: cannot be read ({error.strerror}); give calibration.json"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadInput(
            f"{path}: is no document of `assay calibrate`; give calibration.json"
        ) from None
    return found


def measured_row(document: Mapping[str, Any]) -> Measured:
    known = {name: value for name, value in document.items() if name in _FIELDS}
    return Measured(**{"exact": document.get("figures", {}).get(_EXACT_BEFORE), **known})


def _table(made: Calibration) -> str:
    rates = {question["name"]: question for question in made.head["questions"]}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    measured = [
        "error_rate",
        "error_lower",
        "error_upper",
        "luck",
        "verdict",
        "figures",
        "left_out",
    ]
    writer.writerow(["kind", "inputs", "p", *_PLAIN, *measured])
    verdicts = _verdicts(made)
    for row in made.rows:
        about = rates[row.question]
        low, high = row.interval or (None, None)
        figures = "; ".join(f"{name} = {_short(value)}" for name, value in row.figures.items())
        writer.writerow(
            [
                about["kind"],
                about["inputs"],
                _short(about["rate"]),
                *(_short(getattr(row, name)) for name in _PLAIN),
                *map(_short, (row.rate, low, high)),
                _short(row.luck) if row.runs and row.promised is not None else None,
                verdicts[id(row)],
                figures,
                row.left_out,
            ]
        )
    return out.getvalue()


def _verdicts(made: Calibration) -> dict[int, str]:
    found = accusations(made.rows)
    alone = {id(row) for one in found if one.ground != "all questions" for row in one.rows}
    together = blamed(found)
    return {
        id(row): _verdict(row, id(row) in alone, group_of(row) in together) for row in made.rows
    }


def _verdict(row: Measured, alone: bool, together: bool) -> str:
    if not row.runs or row.promised is None:
        return "" if not row.runs else "no promise"
    if alone or together:
        return "BROKEN" if alone else "broken on other questions, or on all together"
    certain = row.exact is not None or (row.promised == 0 and row.chance is None)
    return "kept" if certain else "not contradicted"


def _short(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value
