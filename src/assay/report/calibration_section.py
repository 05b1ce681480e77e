"""What the section "Analysers against truth" of a report prints, from a calibration."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from assay.analyse.calibration.accusation import LEVEL
from assay.analyse.calibration.files import Calibration
from assay.analyse.calibration.measured import CONFIDENCE
from assay.analyse.calibration.summary import Summary
from assay.report.calibration_chart import calibration_chart


def section(found: Calibration) -> dict[str, Any]:
    rates = sorted(found.rates.values())
    summaries = found.summaries
    return {
        "summary": (
            f"Every analyser on {len(rates)} questions whose failure rate p is proven, from "
            f"{rates[0]:.1e} to {rates[-1]:.1e}. A promise is kept where its error was computed "
            "exactly, or no error is allowed and none was made; not contradicted where it has "
            "passed a test; broken where the exact error is above it, or chance does not explain "
            f"the errors (a run accuses correct analysers with probability at most {LEVEL:g}). "
            f"Intervals of measured rates hold with {CONFIDENCE:.0%}."
        ),
        "broken": len(found.broken),
        "left_out": sum(bool(row.left_out) for row in found.rows),
        "rows": [_row(summary) for summary in summaries],
        "chart": Markup(calibration_chart(summaries, page=True)),
    }


def _row(summary: Summary) -> dict[str, Any]:
    interval = "" if summary.interval is None else "{:.2g} – {:.2g}".format(*summary.interval)
    return {
        "analyser": summary.analyser,
        "event": summary.event,
        "setting": summary.setting,
        "promised": summary.promise,
        "exact": summary.exactly,
        "measured": summary.found,
        "interval": interval,
        "runs": f"{summary.runs:,}",
        "samples": summary.samples,
        "verdict": summary.verdict,
        "level": "bad" if summary.broken else "",
    }
