"""Verifiers made of one line of Python, for tests of the runner: honest, lying and broken."""

from __future__ import annotations

import sys
from pathlib import Path

from assay.judge.answers import read_vnncomp
from assay.judge.task import Invocation, Question
from assay.judge.verifier import Verifier


def tool(name: str, script: str, *, operators: frozenset[str] | None = None) -> Verifier:
    """A tool that runs `script` with the result's path as sys.argv[1]."""

    def invoke(question: Question, folder: Path) -> Invocation:
        command = (sys.executable, "-I", "-S", "-c", script, str(folder / "result.txt"))
        return Invocation((*command, question.name), "result.txt")

    return Verifier(
        name=name,
        summary="for tests",
        install_hint="nothing",
        operators=operators,
        version=lambda: "1",
        invoke=invoke,
        read=read_vnncomp,
    )


def says(text: str) -> str:
    return f"import sys; open(sys.argv[1], 'w').write({text!r})"


LIAR_UNSAT = tool("liar-unsat", says("unsat\n"))
LIAR_SAT = tool("liar-sat", says("sat\n"))
COIN = tool(
    "coin",
    "import sys; n = sys.argv[2].encode(); "
    "open(sys.argv[1], 'w').write('unsat\\n' if sum(n) % 2 else 'unknown\\n')",
)
SLEEPER = tool("sleeper", "import time; time.sleep(600)")
LATE = tool("late", "import sys, time; time.sleep(600); open(sys.argv[1], 'w').write('unsat')")
CRASHER = tool("crasher", says("unsat\n") + "; sys.exit(3)")
GARBAGE = tool("garbage", says("I think it is safe, unsat\n"))
SILENT = tool("silent", "pass")
REFUSER = tool("refuser", says("error\n"))
TIMED_OUT = tool("timed-out", says("timeout\n"))
NO_RELU = tool("no-relu", says("unsat\n"), operators=frozenset({"Gemm"}))
