"""`python -m assay.judge.power NAME ONNX VNNLIB SECONDS RESULT`: a mutant answers one question."""

from __future__ import annotations

import sys

from assay.judge.builtin import linear
from assay.judge.builtin.__main__ import answered
from assay.judge.power.catalogue import specimen
from assay.judge.power.mutant import applied
from assay.judge.power.verifier import PREFIX
from assay.judge.task import Answer
from assay.question.network import Network
from assay.question.property import Specification


def main(name: str, onnx: str, vnnlib: str, seconds: str, result: str) -> int:
    asked = specimen(name.removeprefix(PREFIX))

    def answer(network: Network, specification: Specification, limit: float) -> Answer:
        with applied(asked, about=network.sha256):
            return linear.answer(network, specification, limit)

    return answered(answer, onnx, vnnlib, seconds, result)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
