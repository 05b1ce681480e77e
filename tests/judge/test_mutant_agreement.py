"""No mutant is a caricature: on the suite `quick` it mostly says what the verifier says.

Here on its quickest instances; `python benchmarks/mutant_agreement.py DIR` asks all of them.
"""

from __future__ import annotations

import pytest
from mutant_agreement import BUDGET, Task, agreement, baselines

from assay.judge.power.catalogue import mutants, specimen
from assay.judge.power.hunt import Baseline, Subject
from assay.judge.power.measure import subjects_of
from assay.suite.build import build
from assay.suite.spec import load_suite

ASKED = 52
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[tuple[Subject, Baseline], ...]:
    folder = tmp_path_factory.mktemp("quick") / "bench"
    build(load_suite("quick"), folder, seed=None, jobs=2)
    known = sorted(baselines(subjects_of(folder), jobs=2), key=lambda pair: pair[1].seconds)
    found_at_once = [pair for pair in known if pair[1].attacked]
    return (*found_at_once, *(pair for pair in known if not pair[1].attacked))[:ASKED]


@pytest.mark.parametrize("name", mutants())
def test_a_mutant_agrees_on_four_of_five(
    name: str, asked: tuple[tuple[Subject, Baseline], ...]
) -> None:
    found = agreement(Task(specimen(name).name, asked, BUDGET, enough=True))
    assert found.is_close, "\n".join(found.differed)
