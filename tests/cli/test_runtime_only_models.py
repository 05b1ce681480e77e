"""Models that only ONNX Runtime runs are looked at as others are: fine numbers, the same twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from command_line import assay
from onnx import TensorProto, helper, numpy_helper

QUESTION = """(declare-const X_0 Real)(declare-const Y_0 Real)(declare-const Y_1 Real)
(assert (>= X_0 {low}))(assert (<= X_0 {high}))(assert (>= Y_1 Y_0))
"""


def saved(path: Path, nodes: list[onnx.NodeProto], kind: int, *consts: onnx.TensorProto) -> Path:
    """A model with a second output, which Assay's own reader does not take."""
    nodes = [*nodes, helper.make_node("Identity", ["scores"], ["copy"])]
    given = [helper.make_tensor_value_info("x", kind, ["n", 1])]
    outputs = [helper.make_tensor_value_info(name, kind, ["n", 2]) for name in ("scores", "copy")]
    graph = helper.make_graph(nodes, "g", given, outputs, list(consts))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def linear(path: Path, bound: float, kind: type[np.floating]) -> Path:
    """Fails for x >= bound."""
    weight = numpy_helper.from_array(np.array([[0, 1]], kind), "w")
    bias = numpy_helper.from_array(np.array([bound, 0], kind), "b")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Add", ["h", "b"], ["scores"]),
    ]
    tensor = {np.float16: TensorProto.FLOAT16, np.float32: TensorProto.FLOAT}[kind]
    return saved(path, nodes, tensor, weight, bias)


def noisy(path: Path) -> Path:
    nodes = [
        helper.make_node("RandomNormalLike", ["x"], ["noise"]),
        helper.make_node("Concat", ["x", "noise"], ["scores"], axis=1),
    ]
    return saved(path, nodes, TensorProto.FLOAT)


def decide(folder: Path, net: Path, low: float, high: float):  # type: ignore[no-untyped-def]
    (folder / "q.vnnlib").write_text(QUESTION.format(low=f"{low:.9f}", high=f"{high:.9f}"))
    options = ("--model-output", "scores")
    return assay("weakened", "decide", net, "q.vnnlib", *options, cwd=folder)


@pytest.mark.parametrize(
    ("kind", "radius", "words"),
    [
        (np.float32, 1e-6, "the numbers of float32 are 1.53e-05 apart"),
        (np.float16, 0.05, "the numbers of float16 are 0.125 apart"),
        (np.float16, 65500, "inputs as large as 65700 overflow float16"),
    ],
)
def test_a_box_that_is_few_numbers_is_refused(
    tmp_path: Path, kind: type[np.floating], radius: float, words: str
) -> None:
    """The model sees one number of it, or infinity; `decide` gave a verdict about that."""
    net = linear(tmp_path / "net.onnx", 201, kind)
    done = decide(tmp_path, net, 200 - radius, 200 + radius)
    assert done.returncode == 2, done.stdout
    (line,) = done.stderr.splitlines()[-1:]
    assert words in line


def test_a_wide_box_is_decided(tmp_path: Path) -> None:
    for kind in (np.float16, np.float32):
        net = linear(tmp_path / "net.onnx", 100, kind)
        done = decide(tmp_path, net, 0, 200)
        assert done.stdout.startswith("not robust"), done.stderr


def test_a_random_model_is_called_so(tmp_path: Path) -> None:
    done = decide(tmp_path, noisy(tmp_path / "net.onnx"), 0, 1)
    assert "WARNING: the model is not deterministic" in done.stdout, done.stderr
