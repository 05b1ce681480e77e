"""What `assay calibrate` prints: every method against its promise, and what it could not reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from assay.analyse.calibration.measured import CONFIDENCE, LEVEL
from assay.analyse.calibration.summary import Summary
from assay.cli.output import print_json, print_line, print_table
from assay.report.calibration_chart import CHART
from assay.suite.calibration_files import DOCUMENT, TABLE, Calibration

HEADER = (
    "analyser",
    "an error is",
    "setting",
    "promised",
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
    low, high = summary.interval
    promised = "nothing" if summary.promised is None else f"{summary.promised:.3g}"
    worst = summary.worst
    return (
        summary.analyser,
        summary.event,
        summary.setting,
        promised,
        f"{summary.rate:.3g} [{low:.2g}, {high:.2g}]",
        f"{worst.rate or 0:.3g} (p = {summary.rates[worst.question]:.1e})",
        f"{summary.runs:,}",
        summary.samples,
        summary.verdict,
    )


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
    for row in found.broken:
        yield (
            f"CONTRADICTED: {row.analyser} on {row.question}: {row.errors} errors in {row.runs} "
            f"runs where {row.promised:g} is promised; the chance of that is {row.luck:.1e}."
        )
    if not found.broken:
        yield f"No promise that is a theorem is contradicted (level {LEVEL:g} over all tests)."
    names = ", ".join((DOCUMENT, TABLE, CHART))
    yield f"{folder}: {names}; {found.seconds:.0f} s."
