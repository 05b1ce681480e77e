"""A decision counts the samples that were drawn after its verdict, but not their failures."""

from __future__ import annotations

from typing import Any

from assay.analyse.calibration.broken import Broken, Bug
from assay.analyse.decision import Decision


def _make(original: Any) -> Any:
    def feed(decision: Decision, failed: Any) -> Any:
        upto = decision.samples + len(failed)
        verdict = original(decision, failed)
        if verdict is not None:
            decision.samples = max(decision.samples, upto)
        return verdict

    return feed


BROKEN = Broken(
    "samples-after-the-stop",
    "Samples drawn after the verdict count in the interval, their failures do not.",
    ("decide-confidence-sequence", "decide-sprt"),
    (Bug("assay.analyse.decision:Decision", "feed", _make),),
)
