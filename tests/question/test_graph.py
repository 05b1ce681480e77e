from __future__ import annotations

import hashlib
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from assay.errors import BadInput
from assay.question.graph import GraphBuilder, exact_float32, mlp
from assay.question.network import load
from assay.question.runtime import FloatRunner

_LAYERS = [
    (np.array([[1, -2], [0.5, 3], [0, 1]], np.float32), np.array([0, 1, -1], np.float32)),
    (np.array([[1, 1, 1], [2, -1, 0.25]], np.float32), np.array([0.5, 0], np.float32)),
]


def test_mlp_is_what_it_says() -> None:
    model = onnx.load_from_string(mlp(_LAYERS))
    assert [node.op_type for node in model.graph.node] == ["Gemm", "Relu", "Gemm"]
    assert (model.ir_version, model.opset_import[0].version) == (8, 13)
    assert [i.name for i in model.graph.input] == ["input"]
    assert [o.name for o in model.graph.output] == ["output"]
    for tensor in model.graph.initializer:
        assert tensor.data_type == TensorProto.FLOAT
        assert len(tensor.raw_data) == 4 * np.prod(tensor.dims)
    network = load(mlp(_LAYERS), "mlp")
    assert (network.input_shape, network.output_shape) == ((1, 2), (1, 2))
    found = FloatRunner(network).run(np.array([[1, 2]], np.float32))
    hidden = np.maximum(_LAYERS[0][0] @ [1, 2] + _LAYERS[0][1], 0)
    assert found[0].tolist() == (_LAYERS[1][0] @ hidden + _LAYERS[1][1]).tolist()


def test_bytes_are_the_same_in_every_process() -> None:
    program = (
        "import numpy as np, hashlib; from assay.question.graph import mlp;"
        "print(hashlib.sha256(mlp([(np.eye(3, dtype=np.float32), np.ones(3, np.float32))]))"
        ".hexdigest())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    here = mlp([(np.eye(3, dtype=np.float32), np.ones(3, np.float32))])
    assert done.stdout.strip() == hashlib.sha256(here).hexdigest()


@pytest.mark.parametrize(
    "value", [0.1, 2.0**-150, 2.0**128, np.nan, np.inf, 2**24 + 1, "text", None]
)
def test_refuses_what_float32_does_not_hold(value: object) -> None:
    with pytest.raises(BadInput):
        exact_float32(np.array([value]), "weight")


@pytest.mark.parametrize("value", [0.5, 2.0**-149, 2**24, np.float32(0.1), -0.0])
def test_accepts_what_float32_holds(value: float) -> None:
    assert exact_float32(np.array([value]), "weight").dtype == np.float32


def test_mlp_refuses_wrong_layers() -> None:
    weight, bias = _LAYERS[0]
    with pytest.raises(BadInput, match="not exactly representable"):
        mlp([(weight * np.float64(0.1), bias)])
    with pytest.raises(BadInput, match="layer 0 needs"):
        mlp([(weight, bias[:1])])
    with pytest.raises(BadInput, match=r"Gemm_2.*fix its shapes"):
        mlp([(weight, bias), (weight, bias)])
    with pytest.raises(BadInput, match="no layers"):
        mlp([])


def test_builder_refuses_graphs_that_make_no_sense() -> None:
    graph = GraphBuilder((1, 4))
    with pytest.raises(BadInput, match="unknown tensor 'nothing'"):
        graph.relu("nothing")
    with pytest.raises(BadInput, match=r"Reshape_0.*fix its shapes"):
        graph.reshape(graph.input, [3, 3])
    with pytest.raises(BadInput, match="not made by a node"):
        graph.build(graph.input)
    idle = graph.relu(graph.input)
    output = graph.tanh(graph.input)
    with pytest.raises(BadInput, match="Relu_0 does not reach the output"):
        graph.build(output)
    assert graph.build(graph.add(idle, output))
    with pytest.raises(BadInput, match="positive dimensions"):
        GraphBuilder((1, 0))


def test_an_output_may_also_be_used_inside() -> None:
    graph = GraphBuilder((1, 2))
    x = graph.relu(graph.input)
    assert load(graph.build(graph.mul(x, x)), "net").output_name == "output"


def test_every_method_makes_a_valid_graph() -> None:
    graph = GraphBuilder((1, 2, 6, 6))
    w = np.ones((2, 2, 3, 3), np.float32)
    two = np.ones(2, np.float32)
    x = graph.conv(graph.input, w, two, pads=(1, 1, 1, 1))
    x = graph.batch_norm(x, two, two, two, two)
    x = graph.max_pool(graph.average_pool(x, (2, 2)), (2, 2), strides=(2, 2))
    x = graph.leaky_relu(graph.abs(graph.neg(x)), 0.25)
    x = graph.maximum(graph.minimum(graph.clip(x, -1, 1), 0.5), graph.sqrt(graph.exp(x)))
    x = graph.concat([x, graph.erf(x)], axis=1)
    x = graph.div(graph.sub(graph.mul(x, 2), 1), two[:1])
    x = graph.add(x, graph.global_average_pool(x))
    x = graph.pad(graph.slice(x, [0], [1], [1]), [0, 0, 1, 1, 0, 0, 0, 0])
    x = graph.unsqueeze(graph.squeeze(graph.gather(x, [0], axis=1), [1]), [1])
    x = graph.add(graph.reduce_max(x, [2]), graph.reduce_min(x, [3]))
    x = graph.add(graph.reduce_sum(x, [2]), graph.reduce_mean(x, [3]))
    x = graph.reshape(graph.transpose(graph.flatten(x), [1, 0]), [1, -1])
    x = graph.matmul(graph.pow(x, 2), np.ones((graph.shape(x)[1], 3), np.float32))
    x = graph.softmax(graph.sigmoid(graph.tanh(graph.relu(x))))
    data = graph.build(x)
    network = load(data, "all")
    values = FloatRunner(network).run(np.ones((4, 72), np.float32))
    np.testing.assert_allclose(values, 1 / 3, rtol=1e-6)
