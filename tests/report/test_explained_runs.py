"""What the judge says of a task, as an explanation takes it."""

from __future__ import annotations

from dataclasses import replace

from small_runs import truth

from assay.judge.outcome import OUTCOMES, SOLVED
from assay.report.explained_runs import coarse, networks_of


def test_only_answers_solve_and_only_lack_of_power_is_unsolved() -> None:
    kinds = {outcome: coarse(outcome) for outcome in OUTCOMES}
    assert {o for o, kind in kinds.items() if kind == "solved"} == SOLVED
    assert {o for o, kind in kinds.items() if kind == "unsolved"} == {
        "timeout",
        "unknown",
        "out-of-memory",
    }
    assert {"unsound", "bogus", "crashed", "unsupported", "garbled", "unwitnessed"} <= {
        o for o, kind in kinds.items() if kind == "left out"
    }


def test_twins_and_instances_of_one_network_go_together() -> None:
    hashes = {
        "a": ("one", "p"),
        "b": ("two", "q"),
        "c": ("one", "r"),
        "d": ("three", "p"),
        "e": ("four", "s"),
    }
    truths = {"a": truth("robust"), "d": replace(truth("violated"), twin="b")}
    found = networks_of(hashes, truths)
    assert found["a"] == found["c"]
    assert found["b"] == found["d"]
    assert len(set(found.values())) == 3
    truths["c"] = replace(truth("violated"), twin="d")
    assert len(set(networks_of(hashes, truths).values())) == 2
