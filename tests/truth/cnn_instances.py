"""Exact looks at a written CNN instance that share nothing with its constructor."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from assay.question import vnnlib
from assay.question.exact import ExactFunction
from assay.question.network import load
from assay.truth.instance import Instance


class WrittenCnn:
    """The arrays of its nodes in order, the box, the violation and the exact function."""

    def __init__(self, instance: Instance) -> None:
        graph = onnx.load_from_string(instance.onnx).graph
        arrays = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        self.operators = [node.op_type for node in graph.node]
        self.weights: list[NDArray[np.float32]] = [
            arrays[n.input[1]] for n in graph.node if n.op_type in ("Conv", "Gemm")
        ]
        self.biases: list[NDArray[np.float32]] = [
            arrays[n.input[2]] for n in graph.node if n.op_type in ("Conv", "Gemm")
        ]
        (self.case,) = vnnlib.read(instance.vnnlib.decode(), instance.name).cases
        self.network = load(instance.onnx, instance.name)
        self._function = ExactFunction(self.network)

    def differs_by_one_output_bias(self, other: WrittenCnn) -> bool:
        fixed, theirs = ((*net.weights, *net.biases[:-1]) for net in (self, other))
        same = all(np.array_equal(a, b) for a, b in zip(fixed, theirs, strict=True))
        return same and int((self.biases[-1] != other.biases[-1]).sum()) == 1

    def margin(self, point: Sequence[Fraction]) -> Fraction:
        return self.case.violation.margin(self._function(point))

    @property
    def middle(self) -> list[Fraction]:
        ends = zip(self.case.box.lower, self.case.box.upper, strict=True)
        return [(low + high) / 2 for low, high in ends]
