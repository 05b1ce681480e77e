"""Marabou, from its package on the registry; it runs without Gurobi."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path

from assay.judge.answers import read_vnncomp
from assay.judge.drivers import marabou_driver
from assay.judge.task import Invocation, Question
from assay.judge.verifier import Verifier
from assay.optional_packages import OPTIONAL


def version() -> str | None:
    try:
        return installed_version("maraboupy")
    except PackageNotFoundError:
        return None


def invoke(question: Question, folder: Path) -> Invocation:
    result = "result.txt"
    files = (str(question.onnx.absolute()), str(question.vnnlib.absolute()))
    script = str(Path(marabou_driver.__file__).absolute())
    target = str(folder.absolute() / result)
    return Invocation(
        (sys.executable, "-I", script, *files, str(question.timeout_s), target),
        result,
        {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )


VERIFIER = Verifier(
    name="marabou",
    summary="SMT-based, complete for piecewise linear networks",
    install_hint=OPTIONAL["maraboupy"].remedy,
    operators=frozenset(
        {"Add", "BatchNormalization", "Concat", "Conv", "Flatten", "Gemm", "Identity"}
        | {"LeakyRelu", "MatMul", "MaxPool", "Mul", "Relu", "Reshape", "Sigmoid", "Softmax"}
        | {"Sub", "Tanh", "Transpose", "Squeeze", "Unsqueeze", "Dropout"}
    ),
    version=version,
    invoke=invoke,
    read=read_vnncomp,
)
