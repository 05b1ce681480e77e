"""Algorithm 1 of the weakened robustness paper, printed without the warning."""

from __future__ import annotations

from typing import Any

from assay.analyse.calibration.broken import Broken, Bug


def _make(original: Any) -> Any:
    def rule(*args: Any, **options: Any) -> Any:
        return original(*args, **{**options, "holds": True})

    return rule


BROKEN = Broken(
    "paper-claims-a-theorem",
    "The paper's Algorithm 1 says that its error bounds hold.",
    ("decide-paper",),
    (Bug("assay.analyse.rules.paper", "Rule", _make),),
)
