"""The exam itself is right, honest tools pass it, and broken ones fail where they should."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_tools import CRASHER, GARBAGE, LIAR_UNSAT, REFUSER

from assay.bounds.branch import decide
from assay.judge.catalogue import verifier
from assay.judge.conformance.check import check_verifier
from assay.judge.conformance.questions import ExamQuestion, exam
from assay.judge.demo_liars import demo_liars
from assay.judge.witness import classify
from assay.question.network import load
from assay.question.vnnlib import decimal, read

EXAM = {question.name: question for question in exam()}
PROVED = [q for q in EXAM.values() if q.truth is not None and q.name != "hard, few seconds"]


@pytest.mark.parametrize("question", PROVED, ids=lambda q: q.name)
def test_the_expected_answers_are_right(question: ExamQuestion) -> None:
    network = load(question.onnx, question.name)
    specification = read(question.vnnlib.decode(), question.name)
    decisions = [decide(network, case, deadline_s=60) for case in specification.cases]
    witnesses = [d.witness for d in decisions if d.witness is not None]
    if question.truth == "robust":
        assert all(decision.verdict == "robust" for decision in decisions)
    else:
        texts = [decimal(value) for value in witnesses[0]]
        assert classify(network, specification, texts).witness_class == "exact"


def marks(tool: str) -> dict[str, str]:
    return {m.question: m.mark for m in check_verifier(verifier(tool))}


def test_an_honest_verifier_fails_nothing() -> None:
    found = marks("milp")
    assert set(found) == set(EXAM)
    assert "fails" not in found.values()
    assert found["robust"] == found["violated"] == found["10,000 inputs, robust"] == "passes"


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["linear", "marabou"])
def test_so_do_the_others_of_the_audit(tool: str) -> None:
    assert "fails" not in marks(tool).values()


def test_a_liar_fails_every_question_of_the_other_answer() -> None:
    unsat, sat, _ = demo_liars()
    for liar, lie in ((unsat, "robust"), (sat, "violated")):
        for marked in check_verifier(liar):
            if marked.expected not in (lie, "no verdict"):
                assert marked.mark == "fails", marked
    broken = {m.question: m.mark for m in check_verifier(LIAR_UNSAT)}
    assert broken["network cut short"] == broken["operator nobody knows"] == "fails"


def test_crashes_and_garbage_fail_and_refusals_do_not() -> None:
    for tool, expected in ((CRASHER, "fails"), (GARBAGE, "fails"), (REFUSER, "no answer")):
        for marked in check_verifier(tool):
            assert marked.mark == (expected if marked.expected != "no verdict" else "passes")


def test_nothing_stays_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    list(check_verifier(REFUSER))
    assert list(tmp_path.iterdir()) == []
