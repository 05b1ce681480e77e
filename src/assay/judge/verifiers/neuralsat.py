"""NeuralSAT, from its package on the registry, in an environment of its own.

It needs no licence: gurobipy comes with a free one, and the driver leaves the mixed integer parts
out where that is too small. The package asks for torchvision and for an old protobuf, which do not
go with the pinned torch and onnx; it is installed without its own list, and torchvision, which one
operator (NonMaxSuppression) uses, is an empty module.
"""

from __future__ import annotations

from pathlib import Path

from assay.judge.answers import read_vnncomp
from assay.judge.drivers import neuralsat_driver
from assay.judge.environment import Environment
from assay.judge.environments import installed, python_of
from assay.judge.task import Answer, Invocation, Question
from assay.judge.verifier import Verifier

NAME = "neuralsat"
_STOPPED_EARLY = "early_stop"
_PACKAGES = """
    torch==2.13.0 numpy==2.4.6 scipy==1.17.1 onnx==1.23.2 onnxruntime==1.31.1 onnxsim==0.8.1
    gurobipy==13.0.3 protobuf==7.36.2 beartype==0.23.1 sortedcontainers==2.4.0 tqdm==4.70.1
    packaging==26.3 psutil==7.2.2 filelock==4.2.10 flatbuffers==25.12.19 fsspec==2026.9.0
    Jinja2==3.1.6 MarkupSafe==3.0.4 ml_dtypes==0.6.0 mpmath==1.3.0 networkx==3.6.1
    setuptools==84.2.1 sympy==1.14.0 typing_extensions==4.16.0
"""
_ENVIRONMENT = Environment(
    packages=(tuple(_PACKAGES.split()), ("--no-deps", "neuralsat==0.2.17")),
    modules={"torchvision.py": ""},
)


def version() -> str | None:
    found = installed(NAME)
    return None if found is None else found.packages.get(NAME)


def invoke(question: Question, folder: Path) -> Invocation:
    result = "result.txt"
    script = str(Path(neuralsat_driver.__file__).absolute())
    files = (str(question.onnx.absolute()), str(question.vnnlib.absolute()))
    target = str(folder.absolute() / result)
    return Invocation(
        (str(python_of(NAME)), "-I", script, *files, str(question.timeout_s), target),
        result,
        dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    )


def read(text: str) -> Answer:
    """VNN-COMP's grammar and one more word: it gave up because its first bounds were hopeless."""
    if text.strip(" \t\r\n") == _STOPPED_EARLY:
        return Answer("unknown")
    return read_vnncomp(text)


VERIFIER = Verifier(
    name=NAME,
    summary="DPLL(T) with linear bounds, branch and bound, attacks and small MIPs",
    install_hint=f"assay verifiers install {NAME}",
    # What its converter from ONNX knows and its bounds of the same release handle too.
    operators=frozenset(
        {"Add", "AveragePool", "BatchNormalization", "Cast", "Clip", "Concat", "Constant"}
        | {"ConstantOfShape", "Conv", "ConvTranspose", "Div", "Dropout", "Equal", "Exp", "Expand"}
        | {"Flatten", "Floor", "Gather", "Gemm", "GlobalAveragePool", "Identity", "LeakyRelu"}
        | {"Log", "MatMul", "Max", "MaxPool", "Min", "Mul", "Not", "Pad", "Pow", "Range"}
        | {"Reciprocal", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "Relu", "Reshape"}
        | {"Resize", "Shape", "Sigmoid", "Slice", "Softmax", "Softplus", "Split", "Sqrt"}
        | {"Squeeze", "Sub", "Tanh", "Transpose", "Unsqueeze", "Upsample", "Where"}
    ),
    version=version,
    invoke=invoke,
    read=read,
    environment=_ENVIRONMENT,
)
