"""Every analyser that is broken on purpose is caught, and switched off again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from planted_question import known_question

from assay.analyse.analysers import analysers
from assay.analyse.broken import broken_analysers
from assay.analyse.calibration.accusation import accusations
from assay.analyse.calibration.broken import applied
from assay.analyse.calibration.known import Effort
from assay.analyse.regions import Ball
from assay.analyse.sampling import Sampler

# As the first question of the bundled suite; tests/suite hunts on the suite itself, at night.
FIRST = {
    "kind": "soft_box",
    "inputs": 2,
    "width": 0.3,
    "height": 8,
    "folds": 1,
    "neurons": 4,
    "dilution": 0,
}
USUAL, QUICK = Effort(), Effort(50, 500_000)
# What a few runs do not show.
NEED_MORE = {"narrow-failures-forgiven", "samples-after-the-stop"}


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_there_are_many_and_they_tell_their_story() -> None:
    found = broken_analysers()
    assert len(found) >= 10
    assert {
        "sprt-spends-twice",
        "interval-as-if-n-were-fixed",
        "blocks-repeat",
        "count-off-by-a-thousandth",
    } <= set(found)
    for one in found.values():
        assert one.story.endswith(".")
        assert set(one.shown_by) <= set(analysers())
    assert len({one.story for one in found.values()}) == len(found)


@pytest.mark.parametrize("name", broken_analysers())
def test_every_one_is_caught(name: str) -> None:
    broken, effort = broken_analysers()[name], USUAL if name in NEED_MORE else QUICK
    for analyser in broken.shown_by:
        with applied(broken):
            rows = analysers()[analyser].measure(known_question(**FIRST), effort)
        found = [one for one in accusations(rows) if one.holds]
        if found:
            assert name not in {"sprt-spends-twice", "one-failure-too-many"} or (
                found[0].ground == "exact"
            )
            return
    raise AssertionError(f"{name} survives")


@pytest.mark.parametrize("name", ["count", "sampler", "decide-sprt", "interval-clopper-pearson"])
def test_afterwards_nothing_is_broken(name: str) -> None:
    for broken in broken_analysers().values():
        with applied(broken):
            pass
    rows = analysers()[name].measure(known_question(**FIRST), QUICK)
    assert not [one for one in accusations(rows) if one.holds]


def test_a_bug_is_undone_when_something_raises() -> None:
    ball = Ball(np.zeros(2), 1.0, "2")
    before = Sampler(ball, 0).take(9)

    def fail() -> None:
        with applied(broken_analysers()["blocks-repeat"]):
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert torch.equal(Sampler(ball, 0).take(9), before)
