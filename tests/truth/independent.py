"""Exact evaluation and sampling of a written instance that share nothing with its constructor."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import numpy_helper

from assay.question import vnnlib
from assay.question.property import Case
from assay.truth.instance import Instance

Rows = list[list[Fraction]]


class Written:
    """What the bytes of an instance say: weights as rationals, the box, the violation."""

    def __init__(self, instance: Instance) -> None:
        graph = onnx.load_from_string(instance.onnx).graph
        arrays = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        self.operators = [node.op_type for node in graph.node]
        gemms = [node for node in graph.node if node.op_type == "Gemm"]
        self.floats = [(arrays[n.input[1]], arrays[n.input[2]]) for n in gemms]
        specification = vnnlib.read(instance.vnnlib.decode(), instance.name)
        (self.case,) = specification.cases
        self._onnx = instance.onnx

    @cached_property
    def layers(self) -> list[tuple[Rows, list[Fraction]]]:
        return [
            ([[Fraction(float(v)) for v in row] for row in w], [Fraction(float(v)) for v in b])
            for w, b in self.floats
        ]

    def preactivations(self, point: Sequence[Fraction]) -> list[list[Fraction]]:
        values, found = list(point), []
        for weight, bias in self.layers:
            inner = [(i, v) for i, v in enumerate(values) if v]
            values = [
                sum((row[i] * v for i, v in inner), start=b)
                for row, b in zip(weight, bias, strict=True)
            ]
            found.append(values)
            values = [max(v, Fraction(0)) for v in values]
        return found

    def outputs(self, point: Sequence[Fraction]) -> list[Fraction]:
        return self.preactivations(point)[-1]

    def margin(self, point: Sequence[Fraction]) -> Fraction:
        return self.case.violation.margin(self.outputs(point))

    def float32_outputs(self, points: NDArray[np.float32]) -> NDArray[np.float32]:
        session = ort.InferenceSession(self._onnx, _options(), providers=["CPUExecutionProvider"])
        name = session.get_inputs()[0].name
        return np.concatenate([session.run(None, {name: point[None]})[0] for point in points])

    def float32_margins(self, points: NDArray[np.float32]) -> NDArray[np.float64]:
        """Differences of float32 outputs, exact in float64; the label is what others deny."""
        outputs = self.float32_outputs(points).astype(np.float64)
        label = self.label
        return outputs[:, label] - np.delete(outputs, label, axis=1).max(axis=1)

    @property
    def label(self) -> int:
        common = set.intersection(
            *({i for i, c in d[0].terms if c == 1} for d in self.case.violation.disjuncts)
        )
        (label,) = common
        return label


def sample(case: Case, count: int, seed: int) -> NDArray[np.float32]:
    """Random float32 points of the box: inside, on faces and at corners."""
    draw = np.random.default_rng(seed)
    low = np.array([float(v) for v in case.box.lower], dtype=np.float32)
    high = np.array([float(v) for v in case.box.upper], dtype=np.float32)
    share = draw.random((count, len(low)))
    snap = draw.random((count, 1)) * draw.integers(0, 2, (count, 1))
    share = np.where(draw.random(share.shape) < snap, share.round(), share)
    return np.clip((low + share * (high - low)).astype(np.float32), low, high)


def exact(point: NDArray[np.float32]) -> list[Fraction]:
    return [Fraction(float(v)) for v in point]


def witness(instance: Instance) -> list[Fraction]:
    assert instance.truth.witness is not None
    return [Fraction(text) for text in instance.truth.witness]


def _options() -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return options
