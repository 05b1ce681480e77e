"""What networks owe that are not layers with ReLUs or one power between: agreement in balls."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import torch
from flint import ctx

from assay.proof import reader
from assay.proof.arithmetic import Unsupported
from assay.proof.ball_network import BallNetwork
from assay.proof.balls import BITS, ceiling, floor, over_box
from assay.proof.network import read_network
from assay.question import vnnlib
from assay.question.balls import Bounds, enclose
from assay.question.network import load
from assay.question.runtime import FloatRunner
from assay.question.torch_view import torch_view
from assay.truth.instance import Instance

Points = Sequence[Sequence[Fraction]]


def is_layered(instance: Instance) -> bool:
    try:
        read_network(reader.read(instance.onnx))
    except Unsupported:
        return False
    return True


def checker_bounds(instance: Instance, point: Sequence[Fraction]) -> list[Bounds]:
    """The outputs as the checker encloses them."""
    graph = reader.read(instance.onnx)
    network = BallNetwork(graph)
    with ctx.workprec(BITS):
        values = network.values(over_box(point, point, graph.input_shape))
        return [(floor(ball), ceiling(ball)) for ball in network.outputs(values)]


def margin_bounds(instance: Instance, point: Sequence[Fraction]) -> Bounds:
    """The margin at a point as `question.balls` encloses it; every inequality is y_i <= y_k."""
    (case,) = vnnlib.read(instance.vnnlib.decode(), instance.name).cases
    outputs = enclose(load(instance.onnx, instance.name), point, 160)
    lows, highs = [], []
    for ((inequality),) in case.violation.disjuncts:
        ends = [tuple(sorted((c * outputs[i][0], c * outputs[i][1]))) for i, c in inequality.terms]
        lows.append(sum(low for low, _ in ends) - inequality.bound)
        highs.append(sum(high for _, high in ends) - inequality.bound)
    return min(lows), min(highs)


def agree_in_balls(instance: Instance, points: Points) -> None:
    """Two evaluators that share nothing enclose the same outputs, and the truth is kept."""
    network = load(instance.onnx, instance.name)
    for point in points:
        ours, theirs = checker_bounds(instance, point), enclose(network, point, 160)
        for (low, high), (other_low, other_high) in zip(ours, theirs, strict=True):
            assert low <= other_high
            assert other_low <= high
            assert max(high - low, other_high - other_low) < Fraction(1, 10**25)
        if instance.truth.answer == "robust":
            assert margin_bounds(instance, point)[0] >= instance.truth.margin
    if instance.truth.witness is not None:
        witness = [Fraction(text) for text in instance.truth.witness]
        assert margin_bounds(instance, witness)[1] <= instance.truth.margin < 0


def agree_in_floats(instance: Instance, points: Points) -> None:
    """ONNX Runtime and torch come as close as float32 and float64 let them."""
    network = load(instance.onnx, instance.name)
    runner = FloatRunner(network)
    assert runner.batched
    rows = np.array([[float(v) for v in point] for point in points])
    together = runner.run(rows.astype(np.float32))
    double = torch_view(network, torch.float64)(torch.tensor(rows)).numpy()
    for row, point in enumerate(points):
        alone = runner.run(rows[row : row + 1].astype(np.float32))[0]
        right = np.array([float(low) for low, _ in enclose(network, point, 160)])
        scale = 1 + np.abs(right).max()
        assert np.abs(together[row] - right).max() <= 1e-4 * scale
        assert np.abs(alone - right).max() <= 1e-4 * scale
        assert np.abs(double[row] - right).max() <= 1e-12 * scale
