"""Graphs as Keras's converter (tf2onnx) writes them: channels last, names with slashes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

IMAGE, ROW, SEQUENCE = (8, 8, 1), (6,), (5, 4)
CLASSES = 3
_OPSET = 15


class Graph:
    """Nodes and weights in the order they are added; batch None is a dynamic one."""

    def __init__(self, shape: Sequence[int], batch: int | None, seed: int = 0) -> None:
        self.input = "keras_tensor:0"
        first: int | str = "unk__6" if batch is None else batch
        self._input = helper.make_tensor_value_info(self.input, TensorProto.FLOAT, [first, *shape])
        self._first = first
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._random = np.random.default_rng(seed)

    def add(self, operator: str, inputs: Sequence[str], **attributes: object) -> str:
        name = f"StatefulPartitionedCall/model/{operator.lower()}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs, [f"{name}:0"], name, **attributes))
        return f"{name}:0"

    def weight(self, *shape: int) -> str:
        values = self._random.normal(0, 1 / np.sqrt(np.prod(shape[1:]) or 1), shape)
        return self.constant(values.astype(np.float32))

    def constant(self, values: np.ndarray) -> str:
        name = f"const_fold_opt__{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(values, name))
        return name

    def dense(self, x: str, width: int, units: int) -> str:
        return self.add(
            "Add", [self.add("MatMul", [x, self.weight(width, units)]), self.weight(units)]
        )

    def model(self, output: str) -> onnx.ModelProto:
        self._nodes.append(helper.make_node("Identity", [output], ["Identity:0"], "Identity"))
        made = helper.make_tensor_value_info(
            "Identity:0", TensorProto.FLOAT, [self._first, CLASSES]
        )
        graph = helper.make_graph(self._nodes, "tf2onnx", [self._input], [made], self._weights)
        imports = [helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", 2)]
        return helper.make_model(
            graph, producer_name="tf2onnx", opset_imports=imports, ir_version=8
        )


def dense(batch: int | None) -> onnx.ModelProto:
    graph = Graph(ROW, batch)
    hidden = graph.add("Relu", [graph.dense(graph.input, 6, 16)])
    return graph.model(graph.add("Softmax", [graph.dense(hidden, 16, CLASSES)], axis=-1))


def channels_last(batch: int | None) -> onnx.ModelProto:
    """Conv2D, BatchNormalization folded to Mul and Add, pooling, Flatten after a Transpose."""
    graph = Graph(IMAGE, batch)
    x = graph.add("Transpose", [graph.input], perm=[0, 3, 1, 2])
    x = graph.add("Conv", [x, graph.weight(4, 1, 3, 3), graph.weight(4)], auto_pad="SAME_UPPER")
    x = graph.add("Add", [graph.add("Mul", [x, graph.weight(4, 1, 1)]), graph.weight(4, 1, 1)])
    x = graph.add("MaxPool", [graph.add("Relu", [x])], kernel_shape=[2, 2], strides=[2, 2])
    x = graph.add("Transpose", [x], perm=[0, 2, 3, 1])
    x = graph.add("Reshape", [x, graph.constant(np.array([-1, 64], np.int64))])
    return graph.model(graph.dense(x, 64, CLASSES))


def separable(batch: int | None) -> onnx.ModelProto:
    """SeparableConv2D, a global average over the last axes."""
    graph = Graph(IMAGE, batch)
    x = graph.add("Transpose", [graph.input], perm=[0, 3, 1, 2])
    x = graph.add("Conv", [x, graph.weight(4, 1, 1, 1)])
    x = graph.add("Conv", [x, graph.weight(4, 1, 3, 3)], group=4, pads=[1, 1, 1, 1])
    x = graph.add("HardSigmoid", [x], alpha=1 / 6, beta=0.5)
    x = graph.add("Squeeze", [graph.add("GlobalAveragePool", [x]), _axes(graph, 2, 3)])
    return graph.model(graph.dense(x, 4, CLASSES))


def lstm(batch: int | None) -> onnx.ModelProto:
    """Keras's LSTM layer: time first inside, the last state out."""
    graph = Graph(SEQUENCE, batch)
    x = graph.add("Transpose", [graph.input], perm=[1, 0, 2])
    weights = [graph.weight(1, 32, 4), graph.weight(1, 32, 8), graph.weight(1, 64)]
    x = graph.add("LSTM", [x, *weights], hidden_size=8)
    x = graph.add("Squeeze", [x, _axes(graph, 1)])
    x = graph.add("Gather", [x, graph.constant(np.array(-1, np.int64))], axis=0)
    return graph.model(graph.dense(x, 8, CLASSES))


def conv_one_dimension(batch: int | None) -> onnx.ModelProto:
    """Conv1D, which the converter writes as a two-dimensional one with a thin axis."""
    graph = Graph(SEQUENCE, batch)
    x = graph.add("Transpose", [graph.input], perm=[0, 2, 1])
    x = graph.add("Unsqueeze", [x, _axes(graph, 2)])
    x = graph.add("Conv", [x, graph.weight(8, 4, 1, 3), graph.weight(8)])
    x = graph.add("Elu", [graph.add("Squeeze", [x, _axes(graph, 2)])])
    return graph.model(graph.dense(graph.add("ReduceMean", [x], axes=[2], keepdims=0), 8, CLASSES))


GRAPHS = (
    ("dense", dense, ROW, None),
    ("channels-last", channels_last, IMAGE, None),
    ("separable", separable, IMAGE, 1),
    ("lstm", lstm, SEQUENCE, None),
    ("conv1d", conv_one_dimension, SEQUENCE, 1),
)


def export_all(folder: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    for title, make, shape, batch in GRAPHS:
        name = f"keras-{title}-batch-{'any' if batch is None else batch}"
        model = make(batch)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, folder / f"{name}.onnx")
        yield name, shape


def _axes(graph: Graph, *axes: int) -> str:
    return graph.constant(np.array(axes, np.int64))
