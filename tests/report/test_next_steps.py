"""Every wrong answer comes with commands that run as they are, and the outputs that refute it."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from page_reader import Page
from small_runs import result, run

from assay.judge.results import Result
from assay.question import vnnlib
from assay.question.graph import mlp
from assay.question.property import Violation
from assay.question.region import Box
from assay.report.material import gather
from assay.report.next_steps import next_steps
from assay.report.page import write_report
from assay.truth.instance import sha256
from assay.truth.record import Truth

NETWORK = mlp([(np.float32([[1], [-1]]), np.float32([0, 0.25]))])
QUESTION = vnnlib.write(
    Box.around([Fraction(0)], Fraction(1)), Violation.misclassification(0, classes=2)
).encode()
"""Y_0 = x against Y_1 = 0.25 - x on [-1, 1]: violated, as at 0, where they are 0 and 0.25."""


def answer(instance: str, verdict: str, verifier: str, **changes: object) -> Result:
    digests = {"onnx_sha256": sha256(NETWORK), "vnnlib_sha256": sha256(QUESTION)}
    return result(instance, verdict, verifier, **digests, **changes)


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    """A liar about a violated instance, and a tool whose witness shows nothing."""
    bench = tmp_path / "a bench"
    for part in ("onnx", "vnnlib", "truth"):
        (bench / part).mkdir(parents=True)
    known = Truth(
        "violated",
        Fraction(-1, 4),
        "float32",
        "meap",
        {},
        0,
        None,
        sha256(NETWORK),
        sha256(QUESTION),
        {"kind": "witness"},
        ("0",),
    )
    (bench / "onnx/i.onnx").write_bytes(NETWORK)
    (bench / "vnnlib/i.vnnlib").write_bytes(QUESTION)
    (bench / "truth/i.json").write_text(known.to_json())
    (bench / "instances.csv").write_text("onnx/i.onnx,vnnlib/i.vnnlib,30\n")
    files = (str(bench / "onnx/i.onnx"), str(bench / "vnnlib/i.vnnlib"))
    module = (sys.executable, "-m", "assay.judge.builtin", "liar-unsat")
    command = (*module, *files, "5.0", "/tmp/assay-tasks-gone/17/result.txt")
    results = [
        answer("i", "robust", "liar-unsat", command=command),
        answer("i", "violated", "mine", witness=("1",), witness_class="no violation"),
    ]
    return run(tmp_path / "run", bench, results)


def test_the_command_runs_as_it_is_and_gives_the_answer_again(wrong: Path) -> None:
    steps = next_steps(gather([wrong], None))
    reproduce = steps["liar-unsat", "i"].reproduce
    assert "assay-tasks-gone" not in reproduce
    done = subprocess.run(["bash", "-c", reproduce], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["unsat"], done.stderr


def test_outputs_are_those_of_the_network_at_the_counterexample(wrong: Path) -> None:
    steps = next_steps(gather([wrong], None))
    shown = steps["liar-unsat", "i"].outputs
    assert shown is not None
    assert shown.where.startswith("at the exact counterexample (margin at most -0.25")
    assert shown.rows == (("Y_0", "0", "0"), ("Y_1", "0.25", "0.25"))
    claimed = steps["mine", "i"].outputs
    assert claimed is not None
    assert claimed.where == "at the point that it calls a counterexample"
    assert claimed.rows == (("Y_0", "1", "1"), ("Y_1", "-0.75", "-0.75"))


def test_shrinking_names_run_instance_and_verifier(wrong: Path) -> None:
    steps = next_steps(gather([wrong], None))
    assert shlex.split(steps["liar-unsat", "i"].shrink) == [
        *("assay", "shrink", str(wrong), "i", "--verifier", "liar-unsat")
    ]
    assert steps["liar-unsat", "i"].remark == ""
    assert "--verifier-command" in steps["mine", "i"].remark


def test_files_that_have_moved_are_named_where_they_are(wrong: Path, tmp_path: Path) -> None:
    moved = (tmp_path / "a bench").rename(tmp_path / "moved")
    found = next_steps(gather([wrong], moved))["liar-unsat", "i"]
    assert str(moved / "onnx/i.onnx") in shlex.split(found.reproduce)
    assert shlex.split(found.shrink)[-2:] == ["--benchmark", str(moved)]


def test_the_page_has_them_for_every_wrong_answer(wrong: Path, tmp_path: Path) -> None:
    page = Page(write_report([wrong], None, tmp_path / "r.html").path)
    for steps in next_steps(gather([wrong], None)).values():
        assert steps.shrink in page.text
        assert steps.reproduce in page.text
    found = [detail["next"] for detail in page.data["details"].values()]
    assert [sorted(item)[0] for item in found] == ["leftOut"] * 2
    assert page.count("copy") == 4


def test_right_answers_need_nothing(wrong: Path, tmp_path: Path) -> None:
    lines = (wrong / "results.jsonl").read_text().splitlines()
    right = replace(answer("i", "violated", "good", witness=("0",), witness_class="exact"))
    assert len(lines) == 2
    path = run(tmp_path / "other", tmp_path / "a bench", [right])
    assert next_steps(gather([path], None)) == {}
