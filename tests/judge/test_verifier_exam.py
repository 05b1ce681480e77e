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
from assay.judge.execute import Task, execute
from assay.judge.task import Limits, Question
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


def test_an_operator_nobody_knows_is_unsupported_before_the_tool_runs(tmp_path: Path) -> None:
    onnx, text = tmp_path / "q.onnx", tmp_path / "q.vnnlib"
    onnx.write_bytes(EXAM["operator nobody knows"].onnx)
    text.write_bytes(EXAM["operator nobody knows"].vnnlib)
    task = Task(Question("q", onnx, text, 20.0), "milp", 0)
    result = execute(task, verifier("milp"), "1", tmp_path / "task", Limits(20.0, 1024)).result
    assert result.ending == "unsupported"
    assert "assay.exam.Quux" in result.detail
    assert result.command == ()
    onnx.write_bytes(EXAM["network cut short"].onnx)
    result = execute(task, verifier("milp"), "1", tmp_path / "cut", Limits(20.0, 1024)).result
    assert result.ending == "refused"
    assert "not an ONNX file" in result.detail


@pytest.mark.nightly
def test_so_does_the_linear_one() -> None:
    assert "fails" not in marks("linear").values()


@pytest.mark.nightly
def test_marabou_fails_only_where_it_is_wrong() -> None:
    """On a quick machine Marabou 2.0.0 answers the hard question in time, with a point that does
    not violate; on a slow one it runs out of time, as it should."""
    failed = {name for name, mark in marks("marabou").items() if mark == "fails"}
    assert failed <= {"hard, few seconds"}


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


def test_how_a_file_that_is_no_question_ended_is_said() -> None:
    said = {
        tool.name: {m.reason for m in check_verifier(tool) if m.expected == "no verdict"}
        for tool in (CRASHER, GARBAGE, REFUSER)
    }
    assert said["crasher"] == {"crashed: ended by exit code 3 (allowed here)"}
    (garbage,) = said["garbage"]
    assert garbage.startswith("garbled: ")
    assert garbage.endswith("(allowed here)")
    (refused,) = said["refuser"]
    assert refused.startswith("refused: ")
    assert "allowed" not in refused


def test_nothing_stays_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    list(check_verifier(REFUSER))
    assert list(tmp_path.iterdir()) == []
