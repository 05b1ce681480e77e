"""Small claims to hand to the checker: networks, questions, truths, and digests that match."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from assay.errors import CannotCertify
from assay.proof.checker import Verdict, check
from assay.truth.families import family
from assay.truth.instance import Instance

Rows = Sequence[Sequence[float]]
Layers = Sequence[tuple[Rows, Sequence[float]]]

MISCLASSIFIED = "(assert (<= Y_0 Y_1))"
"""The violation of `output 0 is the larger one` for two outputs."""


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class Claimed:
    """The four things the checker is given; the truth as a dictionary that tests can change."""

    onnx: bytes
    vnnlib: bytes
    truth: Mapping[str, Any]
    arrays: bytes | None = None

    @classmethod
    def of(cls, instance: Instance) -> Claimed:
        truth = json.loads(instance.truth.to_json())
        return cls(instance.onnx, instance.vnnlib, truth, instance.arrays)

    def stating(self, **changes: Any) -> Claimed:
        return replace(self, truth={**self.truth, **changes})

    def signed(self) -> Claimed:
        """The same claim with digests of the bytes as they are now."""
        certificate = {k: v for k, v in self.truth["certificate"].items() if k != "arrays_sha256"}
        if self.arrays is not None:
            certificate["arrays_sha256"] = sha256(self.arrays)
        return self.stating(
            onnx_sha256=sha256(self.onnx),
            vnnlib_sha256=sha256(self.vnnlib),
            certificate=certificate,
        )

    def verdict(self) -> Verdict:
        verdict = check(self.onnx, self.vnnlib, json.dumps(self.truth).encode(), self.arrays)
        assert "\n" not in verdict.line()
        return verdict


def instances(name: str, **knobs: Any) -> list[Instance]:
    """What a family makes of these knobs with the first seed that it can certify."""
    constructor = family(name)
    for seed in range(20):
        try:
            return list(constructor.make(constructor.knobs(**knobs), seed))
        except CannotCertify:
            continue
    raise AssertionError(f"{name} certifies nothing with {knobs}")


def claimed(
    network: onnx.ModelProto | bytes,
    question: str | bytes,
    *,
    kind: str = "corners",
    margin: str = "1/100",
    guard: str = "real",
    arrays: bytes | None = None,
    witness: Sequence[str] | None = None,
) -> Claimed:
    """A claim about these files: robust, or violated when a witness is given."""
    truth: dict[str, Any] = {
        "schema": 1,
        "answer": "robust" if witness is None else "violated",
        "margin": margin,
        "guard": guard,
        "family": "handmade",
        "parameters": {},
        "seed": 0,
        "twin": None,
        "certificate": {"kind": kind if witness is None else "witness"},
    }
    if witness is not None:
        truth["witness"] = list(witness)
    data = network if isinstance(network, bytes) else network.SerializeToString()
    text = question.encode() if isinstance(question, str) else question
    return Claimed(data, text, truth, arrays).signed()


def model(
    nodes: Sequence[onnx.NodeProto],
    constants: Mapping[str, Any],
    input_shape: Sequence[int],
    output_shape: Sequence[int],
) -> onnx.ModelProto:
    """A graph from `x` to `y`; constants are float32 unless they are numpy arrays already."""
    initializers = [
        numpy_helper.from_array(
            value if isinstance(value, np.ndarray) else np.array(value, np.float32), name
        )
        for name, value in constants.items()
    ]
    graph = helper.make_graph(
        list(nodes),
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, input_shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, output_shape)],
        initializers,
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])


def network(layers: Layers) -> onnx.ModelProto:
    """Gemm nodes with a Relu between each two; weights as rows of units."""
    nodes, constants, name = [], {}, "x"
    for index, (weight, bias) in enumerate(layers):
        last = index == len(layers) - 1
        constants |= {f"W{index}": weight, f"b{index}": bias}
        result = "y" if last else f"s{index}"
        operands = [name, f"W{index}", f"b{index}"]
        nodes.append(helper.make_node("Gemm", operands, [result], transB=1))
        name = f"z{index}"
        if not last:
            nodes.append(helper.make_node("Relu", [result], [name]))
    return model(nodes, constants, (1, len(layers[0][0][0])), (1, len(layers[-1][1])))


def question(
    box: Sequence[tuple[object, object]], outputs: int = 2, condition: str = MISCLASSIFIED
) -> str:
    """VNN-LIB text of a box, its bounds as decimals, and a condition on the outputs."""
    lines = [f"(declare-const X_{i} Real)" for i in range(len(box))]
    lines += [f"(declare-const Y_{i} Real)" for i in range(outputs)]
    for i, (low, high) in enumerate(box):
        lines += [f"(assert (>= X_{i} {low}))", f"(assert (<= X_{i} {high}))"]
    return "\n".join([*lines, condition, ""])


SQUARE = [(-1, 1), (-1, 1)]
CONCAVE: Layers = [([[1, 0], [0, 1]], [0, 0]), ([[-1, -1], [0, 0]], [5, 0])]
"""y_0 - y_1 = 5 - relu(x_0) - relu(x_1): margin 3 on the square."""


def outputs(layers: Layers, point: Sequence[Fraction]) -> list[Fraction]:
    """The network evaluated in rationals, in the plainest way."""
    values = list(point)
    for index, (weight, bias) in enumerate(layers):
        if index:
            values = [max(v, Fraction(0)) for v in values]
        values = [
            sum((Fraction(w) * v for w, v in zip(row, values, strict=True)), Fraction(b))
            for row, b in zip(weight, bias, strict=True)
        ]
    return values
