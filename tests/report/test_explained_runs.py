"""What the judge says of a task, as an explanation takes it."""

from __future__ import annotations

from assay.judge.outcome import OUTCOMES, SOLVED
from assay.report.explained_runs import coarse


def test_only_answers_solve_and_only_lack_of_power_is_a_timeout() -> None:
    kinds = {outcome: coarse(outcome) for outcome in OUTCOMES}
    assert {o for o, kind in kinds.items() if kind == "solved"} == SOLVED
    assert {o for o, kind in kinds.items() if kind == "timeout"} == {
        "timeout",
        "unknown",
        "out-of-memory",
    }
    assert {"unsound", "bogus", "crashed", "unsupported", "garbled", "unwitnessed"} <= {
        o for o, kind in kinds.items() if kind == "left out"
    }
