"""Variables that a user sets for a tool reach it, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_tools import tool

from assay.errors import BadInput
from assay.judge.sandbox import run_sandboxed
from assay.judge.task import Limits, Question
from assay.judge.tool_environment import read_assignments, with_environment

TELLS = "import os, sys; open(sys.argv[1], 'w').write(os.environ.get('ODDITY', 'none'))"


def told(verifier_text: dict[str, str], folder: Path) -> bytes | None:
    chosen = with_environment(tool("teller", TELLS), verifier_text)
    question = Question("q", folder / "q.onnx", folder / "q.vnnlib", 20)
    invocation = chosen.invoke(question, folder / "task")
    return run_sandboxed(invocation, folder / "task", Limits(20, 1024)).result


def test_a_variable_reaches_the_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODDITY", "from outside")
    assert told({}, tmp_path / "a") == b"none"
    assert told({"ODDITY": "0.5 =x"}, tmp_path / "b") == b"0.5 =x"


def test_the_version_says_so() -> None:
    plain = tool("teller", TELLS)
    assert with_environment(plain, {}) is plain
    changed = with_environment(plain, {"B": "2", "A": "1"})
    assert changed.version() == "1 with A=1 B=2"
    assert changed.name == plain.name


def test_assignments() -> None:
    assert read_assignments(["A=1", "_b2=x=y", "A=", "C= "]) == {"A": "", "_b2": "x=y", "C": " "}
    for text in ("", "A", "=1", "1A=2", "A B=3", "Ä=1", "A=\0", "A=\n"):
        with pytest.raises(BadInput, match="NAME=VALUE"):
            read_assignments([text])
