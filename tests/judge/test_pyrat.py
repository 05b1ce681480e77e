"""PyRAT's adapter with a stand-in for its scripts: it is the protocol that is tested."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import BadInput
from assay.judge.environments import install
from assay.judge.sandbox import run_sandboxed
from assay.judge.task import Answer, Limits, Question
from assay.judge.verifiers.pyrat import VERIFIER


def test_its_scripts_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    source = tmp_path / "pyrat"
    source.mkdir()
    (source / "prepare_instance.sh").write_text("echo prepared $2 > prepared\n")
    with pytest.raises(BadInput, match=r"holds no run_instance\.sh"):
        install(VERIFIER, source)
    (source / "run_instance.sh").write_text('cat prepared; echo unsat > "$5"; echo "$6" seconds\n')
    assert VERIFIER.version() is None
    install(VERIFIER, source)
    before = VERIFIER.version()
    assert str(before).startswith("files ")
    (source / "pyrat.pyc").write_bytes(b"another build")
    assert VERIFIER.version() != before
    question = Question("q", tmp_path / "q.onnx", tmp_path / "q.vnnlib", 7.5)
    outcome = run_sandboxed(
        VERIFIER.invoke(question, tmp_path / "task"), tmp_path / "task", Limits(20, 1024)
    )
    assert outcome.result is not None
    assert VERIFIER.read(outcome.result.decode()) == Answer("robust")
    assert outcome.stdout is not None
    assert outcome.stdout.read_text() == "prepared test\n7.5 seconds\n"
