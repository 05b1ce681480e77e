"""What the section "Analysers against truth" of a report prints, from a calibration."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from assay.analyse.calibration.measured import CONFIDENCE, LEVEL
from assay.analyse.calibration.summary import Summary
from assay.report.calibration_chart import calibration_chart
from assay.suite.calibration_files import Calibration


def section(found: Calibration) -> dict[str, Any]:
    rates = sorted(found.rates.values())
    summaries = found.summaries
    return {
        "summary": (
            f"Every analyser on {len(rates)} questions whose failure rate p is proven, from "
            f"{rates[0]:.1e} to {rates[-1]:.1e}. Promises are refuted where luck does not explain "
            f"the errors ({LEVEL:g} over all tests); intervals hold with {CONFIDENCE:.0%}."
        ),
        "broken": len(found.broken),
        "left_out": sum(bool(row.left_out) for row in found.rows),
        "rows": [_row(summary) for summary in summaries],
        "chart": Markup(calibration_chart(summaries, page=True)),
    }


def _row(summary: Summary) -> dict[str, Any]:
    low, high = summary.interval
    return {
        "analyser": summary.analyser,
        "event": summary.event,
        "setting": summary.setting,
        "promised": "nothing" if summary.promised is None else f"{summary.promised:.3g}",
        "measured": f"{summary.rate:.3g}",
        "interval": f"{low:.2g} – {high:.2g}",
        "runs": f"{summary.runs:,}",
        "samples": summary.samples,
        "verdict": summary.verdict,
        "level": "bad" if summary.broken else "",
    }
