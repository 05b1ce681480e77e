"""No mutant is a caricature: on the suite `quick` it mostly says what the verifier says.

Here on its smallest instances, in `make test-all` on its 52 quickest; `python
benchmarks/mutant_agreement.py DIR` asks all of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from mutant_agreement import BUDGET, Task, agreement, baselines
from tier import sized

from assay.judge.power.catalogue import mutants, specimen
from assay.judge.power.hunt import Baseline, Subject
from assay.judge.power.measure import subjects_of

ASKED = sized(16, 52)
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def asked(quick: Path) -> tuple[tuple[Subject, Baseline], ...]:
    small = sorted(subjects_of(quick), key=lambda subject: subject.onnx.stat().st_size)
    known = sorted(baselines(small[: sized(16, None)], jobs=2), key=lambda pair: pair[1].seconds)
    found_at_once = [pair for pair in known if pair[1].attacked]
    return (*found_at_once, *(pair for pair in known if not pair[1].attacked))[:ASKED]


@pytest.mark.parametrize("name", mutants())
def test_a_mutant_agrees_on_four_of_five(
    name: str, asked: tuple[tuple[Subject, Baseline], ...]
) -> None:
    found = agreement(Task(specimen(name).name, asked, BUDGET, enough=True))
    assert found.is_close, "\n".join(found.differed)
