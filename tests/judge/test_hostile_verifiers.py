"""Hostile verifiers from end to end: each ends in the class it should, and leaves nothing."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from fractions import Fraction
from pathlib import Path

import pytest
from small_instances import instance

from assay.judge.answers import read_vnncomp
from assay.judge.execute import Task, execute
from assay.judge.results import Result
from assay.judge.task import Invocation, Limits, Question
from assay.judge.verifier import Verifier
from assay.question import vnnlib
from assay.question.vnnlib import decimal

LIMITS = Limits(wall_s=3.0, memory_mb=300.0, output_mb=2.0, processes=40)
WRITE = "import sys, os, time, signal; result = sys.argv[1]\n"
SAY = "open(result, 'w').write({!r})\n"

# name: (script, ending, verdict, class of the witness)
HOSTILE: dict[str, tuple[str, str, str | None, str | None]] = {
    "fork bomb": (
        "for _ in range(9):\n    try: os.fork()\n    except OSError: pass\ntime.sleep(600)",
        "crashed",
        None,
        None,
    ),
    "setsid child": (
        "if os.fork() == 0:\n    os.setsid()\n    time.sleep(600)\n" + SAY.format("unsat\n"),
        "answered",
        "robust",
        None,
    ),
    "memory hog": (
        "hoard = []\nwhile True: hoard.append(bytearray(os.urandom(1) * 10_000_000))",
        "out-of-memory",
        None,
        None,
    ),
    "endless stdout": ("while True: os.write(1, b'unsat\\n' * 1000)", "crashed", None, None),
    "ignores SIGTERM": (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)",
        "timeout",
        None,
        None,
    ),
    "says unsat after its timeout": (
        "def late(*_):\n    open(result, 'w').write('unsat\\n')\n    os._exit(0)\n"
        "signal.signal(signal.SIGTERM, late)\nwhile True: time.sleep(1)",
        "timeout",
        None,
        None,
    ),
    "says unsat and goes on": (
        SAY.format("unsat\n") + "time.sleep(600)",
        "timeout",
        "robust",
        None,
    ),
    "garbage": (SAY.format("the network is safe: unsat!\n"), "garbled", None, None),
    "binary garbage": ("open(result, 'wb').write(os.urandom(4096))", "garbled", None, None),
    "crashes after its verdict": (
        SAY.format("unsat\n") + "os.kill(os.getpid(), signal.SIGSEGV)",
        "crashed",
        "robust",
        None,
    ),
    "empty witness": (SAY.format("sat\n()\n"), "answered", "violated", "missing"),
    "no witness": (SAY.format("sat\n"), "answered", "violated", "missing"),
    "NaN in the witness": (
        SAY.format("sat\n((X_0 nan)\n(X_1 0)\n(X_2 0))\n"),
        "answered",
        "violated",
        "missing",
    ),
    "declines": (SAY.format("error\n"), "refused", None, None),
    "a link instead of a result": (
        "os.symlink('/etc/passwd', result)",
        "garbled",
        None,
        None,
    ),
    "a result elsewhere": (
        "open(os.path.join(os.path.dirname(result), 'other.txt'), 'w').write('unsat')",
        "garbled",
        None,
        None,
    ),
}


def tool(script: str, name: str = "result.txt") -> tuple[Verifier, str]:
    mark = f"hostile-{os.getpid()}-{time.monotonic_ns()}"

    def invoke(question: Question, folder: Path) -> Invocation:
        del question
        target = str(folder / "result.txt")
        command = (sys.executable, "-I", "-S", "-c", WRITE + textwrap.dedent(script), target)
        return Invocation(command, name, {"ASSAY_HOSTILE": mark})

    verifier = Verifier("hostile", "", "", None, lambda: "1", invoke, read_vnncomp)
    return verifier, mark


def judged(verifier: Verifier, folder: Path, setting: str = "meap") -> Result:
    made = instance(setting, "violated")
    onnx, text = folder / "q.onnx", folder / "q.vnnlib"
    onnx.write_bytes(made.onnx)
    text.write_bytes(made.vnnlib)
    task = Task(Question("q", onnx, text, LIMITS.wall_s), "hostile", 0)
    return execute(task, verifier, "1", folder / "task", LIMITS).result


def running(mark: str) -> list[int]:
    def holds(path: Path) -> bool:
        try:
            return f"ASSAY_HOSTILE={mark}".encode() in path.read_bytes()
        except OSError:
            return False

    return [int(p.parent.name) for p in Path("/proc").glob("[0-9]*/environ") if holds(p)]


def files(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if "task" not in p.parts}


@pytest.mark.parametrize("name", HOSTILE)
def test_each_ends_in_its_class(name: str, tmp_path: Path) -> None:
    script, ending, verdict, witness_class = HOSTILE[name]
    verifier, mark = tool(script)
    result = judged(verifier, tmp_path)
    assert (result.ending, result.verdict, result.witness_class) == (
        ending,
        verdict,
        witness_class,
    ), result.detail
    assert result.counts == (ending == "answered")
    assert running(mark) == []
    assert files(tmp_path) - {"task"} == {"q.onnx", "q.vnnlib"}


def forged(by: Fraction) -> str:
    """The true witness with one coordinate on the border of the box moved out of it."""
    made = instance("corners", "violated")
    assert made.truth.witness is not None
    (case,) = vnnlib.read(made.vnnlib.decode(), "q").cases
    point = [Fraction(v) for v in made.truth.witness]
    ends = list(zip(case.box.lower, case.box.upper, strict=True))
    index = next(i for i, v in enumerate(point) if v in ends[i])
    point[index] += by if point[index] == ends[index][1] else -by
    pairs = " ".join(f"(X_{i} {decimal(v)})" for i, v in enumerate(point))
    return f"sat\n({pairs})\n"


def test_a_witness_outside_by_a_trillionth_is_not_exact(tmp_path: Path) -> None:
    text = forged(Fraction(1, 10**12))
    result = judged(tool(SAY.format(text))[0], tmp_path, "corners")
    assert (result.ending, result.verdict) == ("answered", "violated")
    # As written it is no counterexample; its float32 numbers, which a tool computes with, are.
    assert result.witness_class == "float32 only"
    assert result.witness_check is not None
    assert result.witness_check["outside"] == "1/1000000000000"


def test_the_true_witness_is_exact(tmp_path: Path) -> None:
    result = judged(tool(SAY.format(forged(Fraction(0))))[0], tmp_path, "corners")
    assert result.witness_class == "exact"


@pytest.mark.parametrize("name", ["../escaped.txt", "/tmp/escaped.txt", "a/../../escaped.txt"])
def test_a_result_name_that_leaves_the_folder_is_refused(name: str, tmp_path: Path) -> None:
    verifier, mark = tool(SAY.format("unsat\n"), name)
    with pytest.raises(Exception, match="not a plain path inside the task's folder"):
        judged(verifier, tmp_path)
    assert running(mark) == []
    assert not (tmp_path / "escaped.txt").exists()


def test_a_verdict_about_a_file_that_is_no_question_is_kept_without_a_class(
    tmp_path: Path,
) -> None:
    verifier, _ = tool(SAY.format("sat\n((X_0 0.5))\n"))
    onnx, text = tmp_path / "q.onnx", tmp_path / "q.vnnlib"
    onnx.write_bytes(b"not a network")
    text.write_text("(assert")
    task = Task(Question("q", onnx, text, 3.0), "hostile", 0)
    result = execute(task, verifier, "1", tmp_path / "task", LIMITS).result
    assert (result.ending, result.verdict, result.witness_class) == ("answered", "violated", None)
    assert "cannot be judged" in result.detail
