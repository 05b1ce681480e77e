"""One or more small networks for every operator that a view of Assay takes.

`test_exact`, `test_torch_view` and the fuzz test run over them; an operator that some view
registers and no case holds makes `test_every_registered_operator_has_a_case` fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

X = "input"
Operand = str | np.ndarray | None


@dataclass(frozen=True)
class Case:
    """`inputs` holds X for the network's input, arrays for constants, None for left out."""

    op_type: str
    shape: tuple[int, ...]
    inputs: tuple[Operand, ...] = (X,)
    attributes: dict[str, Any] = field(default_factory=dict)
    opset: int = 13
    outputs: int = 1
    positive: bool = False
    note: str = ""

    @property
    def label(self) -> str:
        return "-".join(filter(None, (self.op_type, str(self.opset), self.note)))

    def onnx(self) -> bytes:
        names, initializers = [], []
        for i, operand in enumerate(self.inputs):
            if isinstance(operand, np.ndarray):
                initializers.append(numpy_helper.from_array(operand, f"constant_{i}"))
                names.append(f"constant_{i}")
            else:
                names.append(operand or "")
        made = ["output"] if self.outputs == 1 else [f"part_{i}" for i in range(self.outputs)]
        nodes = [helper.make_node(self.op_type, names, made, name="under_test", **self.attributes)]
        if self.outputs > 1:
            nodes.append(helper.make_node("Concat", made[::-1], ["output"], name="join", axis=1))
        graph = helper.make_graph(
            nodes,
            "case",
            [helper.make_tensor_value_info(X, TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info("output", TensorProto.FLOAT, None)],
            initializers,
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8
        )
        return bytes(model.SerializeToString(deterministic=True))

    def points(self, count: int) -> np.ndarray:
        """Random multiples of 1/64 whose float32 values are exact."""
        rng = np.random.default_rng(len(self.label))
        size = (count, int(np.prod(self.shape)))
        low, high = (32, 256) if self.positive else (-192, 192)
        return (rng.integers(low, high, size=size) / 64).astype(np.float32)


def weights(*shape: int) -> np.ndarray:
    rng = np.random.default_rng(sum(shape))
    return rng.normal(size=shape).astype(np.float32)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def number(value: float) -> np.ndarray:
    return np.array(value, np.float32)


_IMAGE = (1, 4, 6, 5)
_ROW = (1, 6)
_BN = (weights(4), weights(4) + 1, weights(4) - 1)
_ROOTS = (floats(2.0, 0.75, 6.0, 0.0),)

_UNARY = ("Abs", "Cos", "Erf", "Exp", "Identity", "Neg", "Relu", "Sigmoid", "Sin", "Softplus")
_POSITIVE = ("Log", "Reciprocal", "Sqrt")


def _window(**attributes: Sequence[int] | int | str) -> dict[str, Any]:
    return {"kernel_shape": [3, 2], **attributes}


CASES: tuple[Case, ...] = (
    *(Case(op, _ROW) for op in (*_UNARY, "Tanh")),
    *(Case(op, _ROW, positive=True) for op in _POSITIVE),
    Case("Elu", _ROW, attributes={"alpha": 0.5}),
    Case("Gelu", _ROW, opset=20),
    Case("Gelu", _ROW, attributes={"approximate": "tanh"}, opset=20, note="tanh"),
    Case("LeakyRelu", _ROW),
    Case("LeakyRelu", _ROW, attributes={"alpha": 0.3}, note="alpha"),
    Case("PRelu", _IMAGE, (X, weights(4, 1, 1))),
    # Element by element, with broadcasting both ways
    *(Case(op, _IMAGE, (X, weights(4, 1, 5))) for op in ("Add", "Sub", "Mul", "Div")),
    *(Case(op, _IMAGE, (weights(2, 1, 1, 1, 1), X), note="wide") for op in ("Add", "Sub", "Mul")),
    Case("Div", _ROW, (floats(1, 2, 3, 4, 5, 6), X), positive=True, note="by input"),
    Case("Mul", _ROW, (X, X), note="square"),
    *(Case(op, _IMAGE, (X, weights(6, 1), number(0.5))) for op in ("Max", "Min", "Sum", "Mean")),
    Case("Pow", _ROW, (X, number(3))),
    Case("Pow", _ROW, (X, floats(0, 1, 2, 3, 4, 5)), note="each"),
    Case("Pow", _ROW, (X, ints(2)), note="integer"),
    Case("Clip", _ROW, (X, number(-1), number(1.5))),
    Case("Clip", _ROW, (X, None, number(0.25)), note="one side"),
    Case("Clip", _ROW, (X, number(1), number(-1)), note="crossed"),
    Case("Clip", _ROW, attributes={"min": -0.5, "max": 0.75}, opset=9),
    Case("BatchNormalization", _IMAGE, (X, *_BN, *_ROOTS), {"epsilon": 0.25}),
    Case("BatchNormalization", (1, 4), (X, *_BN, *_ROOTS), {"epsilon": 0.25}, 15, note="row"),
    Case("Softmax", _IMAGE),
    Case("Softmax", _IMAGE, attributes={"axis": 1}, note="axis"),
    Case("Softmax", _IMAGE, opset=11),
    Case("LogSoftmax", _ROW),
    # Matrices
    Case("Gemm", _ROW, (X, weights(3, 6), weights(3)), {"transB": 1}),
    Case("Gemm", _ROW, (X, weights(6, 3)), {"alpha": 0.3, "beta": 2.0}, note="no bias"),
    Case("Gemm", (6, 1), (X, weights(6, 3), number(2)), {"transA": 1, "beta": 0.7}, note="transA"),
    Case("MatMul", _ROW, (X, weights(6, 3))),
    Case("MatMul", _ROW, (X, weights(6)), note="vector"),
    Case("MatMul", (6,), (X, weights(6, 3)), note="by vector"),
    Case("MatMul", (1, 3, 6), (weights(2, 3), X), note="left"),
    Case("MatMul", (1, 3, 6), (X, weights(5, 2, 6, 4)[:, :1]), note="stack"),
    Case("MatMul", (1, 4, 4), (X, X), note="square"),
    # Windows
    Case("Conv", _IMAGE, (X, weights(3, 4, 3, 2), weights(3)), _window(pads=[1, 0, 2, 1])),
    Case("Conv", _IMAGE, (X, weights(6, 2, 3, 2)), {"group": 2, "strides": [2, 1]}, note="group"),
    Case("Conv", _IMAGE, (X, weights(3, 4, 2, 2)), {"dilations": [2, 3]}, note="dilated"),
    Case("Conv", _IMAGE, (X, weights(3, 4, 3, 2)), {"auto_pad": "SAME_UPPER"}, note="upper"),
    Case("Conv", _IMAGE, (X, weights(3, 4, 3, 2)), {"auto_pad": "SAME_LOWER"}, note="lower"),
    Case("Conv", (1, 2, 7), (X, weights(3, 2, 3)), {"strides": [2]}, note="line"),
    Case("Conv", (2, 2, 4, 4, 4), (X, weights(3, 2, 2, 2, 2)), note="volume"),
    Case("AveragePool", _IMAGE, attributes=_window(strides=[2, 1])),
    Case("AveragePool", _IMAGE, attributes=_window(pads=[1, 1, 2, 0]), note="pads"),
    Case(
        "AveragePool",
        _IMAGE,
        attributes=_window(pads=[1, 1, 2, 0], count_include_pad=1),
        note="counted",
    ),
    Case("AveragePool", _IMAGE, attributes=_window(auto_pad="SAME_UPPER"), note="upper"),
    Case("MaxPool", _IMAGE, attributes=_window(pads=[1, 1, 2, 0], strides=[1, 2])),
    Case("MaxPool", _IMAGE, attributes=_window(dilations=[2, 2]), note="dilated"),
    Case("GlobalAveragePool", _IMAGE),
    Case("GlobalMaxPool", _IMAGE),
    *(
        Case(op, _IMAGE, attributes={"axes": [1, -1], "keepdims": keep}, note=f"keep{keep}")
        for op in ("ReduceMax", "ReduceMean", "ReduceMin")
        for keep in (0, 1)
    ),
    Case("ReduceMean", _IMAGE, (X, ints(2)), opset=18),
    Case("ReduceMean", _IMAGE, note="all"),
    Case("ReduceSum", _IMAGE, (X, ints(0, 2)), {"keepdims": 0}),
    Case("ReduceSum", _IMAGE, (X, ints(3)), note="last"),
    Case("ReduceSum", _IMAGE, attributes={"axes": [1]}, opset=11),
    Case("ReduceSum", _IMAGE, attributes={"noop_with_empty_axes": 1}, note="nothing"),
    # Single numbers, which have no axes
    Case("Relu", (), note="number"),
    Case("ReduceSum", _ROW, attributes={"keepdims": 0}, note="number"),
    Case("ReduceMax", _ROW, attributes={"keepdims": 0}, note="number"),
    # Movement
    Case("Flatten", _IMAGE),
    Case("Flatten", _IMAGE, attributes={"axis": 2}, note="axis"),
    Case("Reshape", _IMAGE, (X, ints(1, -1, 10))),
    Case("Reshape", _IMAGE, (X, ints(0, 2, -1, 5)), note="copy"),
    Case("Reshape", _IMAGE, (X, ints(-1)), note="flat"),
    Case("Squeeze", (1, 4, 1, 5), (X, ints(2))),
    Case("Squeeze", (1, 4, 1, 5), attributes={"axes": [0]}, opset=11),
    Case("Squeeze", (1, 4, 1, 5), note="all"),
    Case("Unsqueeze", _ROW, (X, ints(1, -1))),
    Case("Unsqueeze", _ROW, attributes={"axes": [0]}, opset=11),
    Case("Transpose", _IMAGE, attributes={"perm": [0, 2, 3, 1]}),
    Case("Transpose", _IMAGE, note="reversed"),
    Case("Concat", _IMAGE, (X, X), {"axis": 1}),
    Case("Concat", _IMAGE, (X, weights(1, 4, 6, 2)), {"axis": -1}, note="constant"),
    Case("Slice", _IMAGE, (X, ints(1, -4), ints(3, 2**63 - 1), ints(1, 2))),
    Case("Slice", _IMAGE, (X, ints(-1), ints(-(2**63)), ints(3), ints(-2)), note="backwards"),
    Case("Slice", _IMAGE, attributes={"starts": [1], "ends": [2**63 - 1], "axes": [2]}, opset=9),
    Case("Split", _IMAGE, (X, ints(1, 3)), {"axis": 1}, outputs=2),
    Case("Split", _IMAGE, attributes={"axis": 1, "split": [3, 1]}, opset=11, outputs=2),
    Case("Gather", _IMAGE, (X, ints(3, 0, -1)), {"axis": 1}),
    Case("Gather", _IMAGE, (X, np.array(2, np.int64)), {"axis": -2}, note="one"),
    Case("Gather", (4, 3), (X, ints(3, 0, 0)), note="rows"),
    Case("Pad", _IMAGE, (X, ints(0, 0, 1, 2, 0, 0, 0, 1), number(0.75))),
    Case("Pad", _IMAGE, (X, ints(0, 1, 2, 2, 0, 0, 1, 3)), {"mode": "reflect"}, note="reflect"),
    Case("Pad", _IMAGE, (X, ints(0, 0, 2, 2, 0, 1, 1, 7)), {"mode": "edge"}, note="edge"),
    Case("Pad", _IMAGE, (X, ints(1, 2), None, ints(-1)), opset=18, note="axes"),
    Case("Pad", _ROW, attributes={"pads": [0, 1, 0, 2], "value": -0.5}, opset=9),
    Case("Expand", (1, 4, 1), (X, ints(2, 1, 4, 3))),
    Case("Dropout", _ROW),
)
