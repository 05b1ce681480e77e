"""What `--fail-on` names, and who shows it."""

from __future__ import annotations

import pytest
from small_instances import result, truths

from assay.errors import BadInput
from assay.judge.faults import FAULTS, Failure, failures, faults_named
from assay.judge.judgement import Asked
from assay.judge.results import Result
from assay.judge.score import score

ALL = FAULTS


def found(*results: Result, asked: Asked | None = None) -> set[tuple[str, str, int]]:
    scores = score(results, truths(), asked=asked)
    return {(f.verifier, f.fault, f.instances) for f in failures(scores, ALL)}


def right(tool: str = "tool") -> Result:
    return result("meap-1-robust", "robust", verifier=tool)


def test_each_fault_by_itself() -> None:
    assert found(right()) == set()
    assert found(right(), result("meap-0-violated", "robust")) == {("tool", "unsound", 1)}
    assert found(right(), result("meap-0-robust", "violated")) == {("tool", "bogus", 1)}
    unwitnessed = result("meap-0-violated", "violated", witness_class="no violation")
    assert found(right(), unwitnessed) == {("tool", "unwitnessed", 1)}
    crashed = [
        result("meap-0-violated", ending="crashed"),
        result("meap-0-robust", ending="garbled"),
        result("meap-2-robust", ending="out-of-memory"),
    ]
    assert found(right(), *crashed) == {("tool", "crash", 2)}


@pytest.mark.parametrize("ending", ["crashed", "garbled", "timeout", "refused", "unsupported"])
def test_not_one_valid_answer(ending: str) -> None:
    broken = [result(name, ending=ending) for name in ("meap-0-robust", "meap-0-violated")]
    assert ("tool", "no-answer", 2) in found(*broken, right("other"))
    assert not any(verifier == "other" for verifier, _, _ in found(*broken, right("other")))


def test_wrong_and_unknown_answers_are_not_valid_ones() -> None:
    only_bogus = result("meap-0-robust", "violated", witness_class="exact")
    assert found(only_bogus) == {("tool", "bogus", 1), ("tool", "no-answer", 1)}
    assert found(result("meap-0-robust", "unknown")) == {("tool", "no-answer", 1)}
    tolerated = result("meap-0-violated", "violated", witness_class="within tolerance only")
    assert found(tolerated) == set()


def test_knife_edges_accuse_nobody_but_crashes_there_count() -> None:
    wrong = result("edge-0-violated", "robust")
    assert found(right(), wrong) == set()
    assert found(right(), result("edge-0-violated", ending="crashed")) == {("tool", "crash", 1)}


def test_a_tool_that_was_not_run_is_not_accused() -> None:
    asked = Asked(("meap-1-robust",), {("tool", "1"): 1, ("later", "1"): 1})
    assert found(right(), asked=asked) == set()


def test_only_what_is_wanted_is_found_the_worst_first() -> None:
    results = [
        result("meap-0-violated", "robust"),
        result("meap-0-robust", "violated"),
        result("meap-1-robust", ending="crashed", verifier="other"),
    ]
    scores = score(results, truths())
    assert failures(scores, ()) == ()
    assert failures(scores, ("crash",)) == (Failure("other", "crash", 1),)
    assert [f.fault for f in failures(scores, ALL)] == [
        *("unsound", "bogus", "crash", "no-answer", "no-answer")
    ]
    assert str(failures(scores, ALL)[-1]) == "tool has no valid answer to any of 2 instances"
    assert str(failures(scores, ALL)[0]) == "tool has 1 unsound answer"


def test_names() -> None:
    assert faults_named("none") == ()
    assert faults_named("crash, unsound,crash") == ("unsound", "crash")
    assert faults_named(",".join(ALL)) == ALL
    for text, word in (
        ("unsond", "did you mean 'unsound'?"),
        ("", "give some of unsound,bogus,unwitnessed,crash,no-answer, or 'none'"),
        ("unsound,none", "'none' stands alone"),
        ("unsound,,crash", "'' is not a kind of failure"),
    ):
        with pytest.raises(BadInput, match=r"^--fail-on") as raised:
            faults_named(text)
        assert word in str(raised.value)
