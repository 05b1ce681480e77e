"""`python -m assay.judge.builtin NAME ONNX VNNLIB SECONDS RESULT`: answer one question."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path

from assay.errors import AssayError
from assay.judge.task import Answer
from assay.question.asked import read_specification
from assay.question.network import Network, load_file
from assay.question.property import Specification

_WORDS = {"robust": "unsat", "violated": "sat", "unknown": "unknown"}


def main(name: str, onnx: str, vnnlib: str, seconds: str, result: str) -> int:
    tool = importlib.import_module(f"assay.judge.builtin.{name.replace('-', '_')}")
    return answered(tool.answer, onnx, vnnlib, seconds, result)


def answered(
    answer_of: Callable[[Network, Specification, float], Answer],
    onnx: str,
    vnnlib: str,
    seconds: str,
    result: str,
) -> int:
    """A network or property that it cannot handle is refused with the word `error`."""
    try:
        network, specification = load_file(onnx), read_specification(Path(vnnlib))
        # Imports and reading have taken some of the time already.
        left = max(float(seconds) - time.process_time(), 0.0)
        answer = answer_of(network, specification, left)
    except AssayError as reason:
        print(reason, file=sys.stderr)
        Path(result).write_text("error\n")
        return 0
    Path(result).write_text(as_vnncomp(answer))
    return 0


def as_vnncomp(answer: Answer) -> str:
    lines = [_WORDS[answer.verdict]]
    if answer.witness is not None:
        pairs = "\n".join(f"(X_{i} {value})" for i, value in enumerate(answer.witness))
        lines.append(f"({pairs})")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
