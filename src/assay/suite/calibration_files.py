"""What `assay calibrate` leaves behind: calibration.json, which can be read back, and a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from assay.analyse.calibration.measured import LEVEL, Measured, contradicted
from assay.analyse.calibration.summary import Summary, summaries
from assay.errors import BadInput
from assay.suite.whole_file import write_whole

TABLE, DOCUMENT = "calibration.csv", "calibration.json"
SCHEMA = 1
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
    def broken(self) -> list[Measured]:
        """Theorems that luck does not save: a defect of ours, or of the truth."""
        return [row for row in contradicted(self.rows) if row.holds]

    @property
    def rates(self) -> dict[str, float]:
        """The failure rate of every question by its name."""
        return {question["name"]: question["rate"] for question in self.head["questions"]}

    @property
    def summaries(self) -> list[Summary]:
        return summaries(self.rows, self.rates)

    @property
    def document(self) -> dict[str, Any]:
        broken = {id(row) for row in contradicted(self.rows)}
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
                    "contradicted": id(row) in broken,
                }
                for row in self.rows
            ],
        }


def write_calibration(folder: Path, made: Calibration) -> None:
    write_whole(folder / TABLE, _table(made).encode())
    write_whole(folder / DOCUMENT, (json.dumps(made.document, indent=1) + "\n").encode())


def read_calibration(path: Path) -> Calibration:
    """A calibration.json of ours; BadInput where it is none."""
    try:
        document = json.loads(path.read_bytes())
        if document["schema"] != SCHEMA:
            raise BadInput(f"{path}: schema {document['schema']} is not {SCHEMA}; calibrate again")
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
    return Measured(**{name: value for name, value in document.items() if name in _FIELDS})


def _table(made: Calibration) -> str:
    rates = {question["name"]: question for question in made.head["questions"]}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    measured = ["error_rate", "error_lower", "error_upper", "figures", "left_out"]
    writer.writerow(["kind", "inputs", "p", *_PLAIN, *measured])
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
                figures,
                row.left_out,
            ]
        )
    return out.getvalue()


def _short(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value
