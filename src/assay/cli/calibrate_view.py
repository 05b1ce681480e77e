"""What `assay calibrate` prints: every method against its promise, and what it could not reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from assay.analyse.calibration.accusation import LEVEL
from assay.analyse.calibration.files import DOCUMENT, TABLE, Calibration
from assay.analyse.calibration.measured import CONFIDENCE, Measured
from assay.analyse.calibration.summary import Summary
from assay.cli.output import print_json, print_line, print_table
from assay.report.calibration_chart import CHART

HEADER = (
    "analyser",
    "an error is",
    "setting",
    "promised",
    "exact, at most",
    "measured",
    "worst question",
    "runs",
    "samples",
    "verdict",
)


def show(found: Calibration, folder: Path, as_json: bool) -> None:
    if as_json:
        print_json({"folder": str(folder), **found.document})
        return
    print_table("calibration", HEADER, [cells(summary) for summary in found.summaries])
    for line in sentences(found, folder):
        print_line(line)


def cells(summary: Summary) -> tuple[str, ...]:
    worst = summary.worst
    return (
        summary.analyser,
        summary.event,
        summary.setting,
        summary.promise,
        summary.exactly,
        _measured(summary),
        f"{_worst(worst)} (p = {summary.rates[worst.question]:.1e})",
        f"{summary.runs:,}",
        summary.samples,
        summary.verdict,
    )


def _measured(summary: Summary) -> str:
    if summary.interval is None:
        return summary.found
    low, high = summary.interval
    return f"{summary.found} [{low:.2g}, {high:.2g}]"


def _worst(row: Measured) -> str:
    return f"p-value {row.luck:.2g}" if row.rate is None else f"{row.rate:.3g}"


def sentences(found: Calibration, folder: Path) -> Iterator[str]:
    rates = sorted(found.rates.values())
    before = f", {found.already} of them measured before" if found.already else ""
    yield (
        f"{len(rates)} questions with proven failure rates from {rates[0]:.1e} to "
        f"{rates[-1]:.1e}{before}; intervals of measured rates hold with {CONFIDENCE:.0%}."
    )
    left = Counter(row.analyser for row in found.rows if row.left_out)
    if left:
        words = ", ".join(f"{name} {count}" for name, count in left.items())
        yield f"Rows left out, for reasons that {TABLE} gives: {words}."
    yield (
        "kept: computed exactly, or never wrong where no error is allowed; not contradicted: a "
        "test that it has passed."
    )
    for one in found.broken:
        yield f"CONTRADICTED: {one.sentence}."
    if not found.broken:
        yield (
            "No promise that is a theorem is contradicted (a run accuses correct analysers with "
            f"probability at most {LEVEL:g})."
        )
    names = ", ".join((DOCUMENT, TABLE, CHART))
    yield f"{folder}: {names}; {found.seconds:.0f} s."
