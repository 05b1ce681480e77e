"""What the two lists of a benchmark folder say: `instances.csv` and `suite.json`."""

from __future__ import annotations

import csv
import io
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

import assay
from assay.suite.build_journal import Made, Plan, TaskRecord

SCHEMA = 1


def row(made: Made, timeout: int | float) -> str:
    """The line of instances.csv for one instance."""
    line = io.StringIO()
    seconds = int(timeout) if timeout == int(timeout) else timeout
    fields = (f"onnx/{made.name}.onnx", f"vnnlib/{made.name}.vnnlib", seconds)
    csv.writer(line, lineterminator="").writerow(fields)
    return line.getvalue()


def versions() -> dict[str, str]:
    """The versions of what decides the bytes of a build."""
    deciding = ("numpy", "onnx", "scipy", "highspy", "python-flint")
    installed = {name: metadata.version(name) for name in deciding}
    return {"assay": assay.__version__, "python": platform.python_version(), **installed}


def document(
    name: str, plan: Plan, records: Sequence[TaskRecord], failures: Mapping[str, str]
) -> dict[str, Any]:
    """The content of suite.json; `failures` gives the reason for each task without a record."""
    counts: dict[str, dict[str, int]] = {}
    for record in records:
        for made in record.instances:
            answers = counts.setdefault(record.family, {"robust": 0, "violated": 0})
            answers[made.answer] += 1
    return {
        "schema": SCHEMA,
        "name": name,
        "suite": plan.suite,
        "seed": plan.seed,
        "versions": dict(plan.versions),
        "counts": counts,
        "tasks": [
            {"task": r.stem, "family": r.family, "seed": r.seed, "instances": len(r.instances)}
            for r in records
        ],
        "replacements": [
            {"task": record.stem, "seed": seed, "reason": reason, "used": record.seed}
            for record in records
            for seed, reason in record.refused
        ],
        "failures": [{"task": stem, "reason": reason} for stem, reason in failures.items()],
        "timings": {record.stem: record.seconds for record in records},
    }
