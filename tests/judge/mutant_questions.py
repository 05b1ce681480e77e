"""For every mutant a small question that it gets wrong, and the verifier without its bug right."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from needles import Question, needle, spike

from assay.question.graph import GraphBuilder

_INSIDE = (0.3, -0.55)
_MANY = 18
"""Idle units, so many that inputs are halved instead of units split."""
_RISING = [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5]


def _identity(size: int) -> np.ndarray:
    """A 3 x 3 kernel for each channel that passes its middle on."""
    kernel = np.zeros((size, size, 3, 3), np.float32)
    kernel[np.arange(size), np.arange(size), 1, 1] = 1
    return kernel


def _added(graph: GraphBuilder) -> str:
    eye = np.eye(12, dtype=np.float32)
    return graph.add(graph.matmul(graph.input, eye), np.full((1, 12), 5, np.float32))


def _square(graph: GraphBuilder) -> str:
    weight = np.zeros((12, 12), np.float32)
    weight[0] = 1
    return graph.gemm(graph.input, weight)


def _padded(graph: GraphBuilder) -> str:
    return graph.flatten(graph.conv(graph.input, _identity(1), pads=(1, 1, 1, 1)))


def _biased(graph: GraphBuilder) -> str:
    bias = np.full(1, 5, np.float32)
    return graph.flatten(graph.conv(graph.input, _identity(1), bias, pads=(1, 1, 1, 1)))


def _flattened(graph: GraphBuilder) -> str:
    return graph.flatten(graph.input)


def _pooled(graph: GraphBuilder) -> str:
    return graph.flatten(graph.average_pool(graph.input, (2, 2), strides=(1, 1)))


def _pooled_to_the_edge(graph: GraphBuilder) -> str:
    pads = (1, 1, 1, 1)
    return graph.flatten(graph.average_pool(graph.input, (3, 3), strides=(1, 1), pads=pads))


def _bulging(graph: GraphBuilder) -> str:
    """tanh(2 x) - 0.75 x, highest where tanh(2 x)^2 = 1 - 0.375."""
    steep = graph.tanh(graph.gemm(graph.input, 2 * np.eye(2, dtype=np.float32)))
    return graph.sub(steep, graph.mul(graph.input, 0.75))


_BULGE = float(np.arctanh(np.sqrt(1 - 0.375)) / 2)


def _plain(graph: GraphBuilder) -> str:
    return graph.gemm(graph.input, np.eye(12, dtype=np.float32))


QUESTIONS: dict[str, Callable[[], Question]] = {
    "add-constant-ignored": lambda: spike((1, 12), _added),
    "almost-fixed-inputs": lambda: needle(_INSIDE, 0.02, idle=_MANY),
    "almost-fixed-units": lambda: needle(_INSIDE, 0.06),
    "any-disjunct-closes-all": lambda: needle(_INSIDE, 0.06),
    "better-half-speaks-for-both": lambda: needle(_INSIDE, 0.06),
    "box-limit-is-proved": lambda: needle((*_INSIDE, 0.1), 0.06),
    "channels-last-flatten": lambda: spike(
        (1, 2, 2, 3), _flattened, weights=_RISING, upper=_RISING
    ),
    "chord-above-s-shape": lambda: spike((1, 2), _bulging, at=(_BULGE, _BULGE), width=0.01),
    "dropped-conv-bias": lambda: spike((1, 1, 3, 4), _biased),
    "dropped-domains@0.9": lambda: needle(_INSIDE, 0.06),
    "equal-bounds-are-duplicates": lambda: needle(_INSIDE, 0.06, skew=0.1),
    "few-left-is-proved": lambda: needle(_INSIDE, 0.01, idle=_MANY),
    "first-disjunct-wins": lambda: needle(_INSIDE, 0.06),
    "full-queue": lambda: needle((*_INSIDE, 0.1), 0.06, skew=0.1),
    "gap-between-halves@0.1": lambda: needle((0.05, -0.55), 0.04, idle=_MANY),
    "large-batch-is-skipped": lambda: needle((*_INSIDE, 0.1), 0.06),
    "last-disjunct-wins": lambda: needle(_INSIDE, 0.06),
    "leaf-limit-is-infeasible": lambda: needle(_INSIDE, 0.06),
    "leaf-incumbent-is-optimum": lambda: needle(_INSIDE, 0.06, peak=1.01, skew=0.1),
    "missing-intercept": lambda: needle(_INSIDE, 0.06, peak=1.002),
    "multiplier-meets-the-middle": lambda: needle(_INSIDE, 0.06),
    "near-zero-is-proved": lambda: needle(_INSIDE, 0.06, peak=1.0005),
    "nearly-violated-is-violated": lambda: needle(_INSIDE, 2.0, peak=0.999),
    "pads-at-one-side": lambda: spike((1, 1, 3, 4), _padded),
    "pool-counts-padding": lambda: spike((1, 1, 3, 4), _pooled_to_the_edge),
    "pool-upsampled-by-kernel": lambda: spike((1, 1, 3, 4), _pooled),
    "pool-window-is-stride": lambda: spike((1, 1, 3, 4), _pooled, upper=_RISING),
    "ranges-of-the-first": lambda: needle(_INSIDE, 0.06, skew=0.1),
    "same-half-twice": lambda: needle(_INSIDE, 0.06),
    "shrunk-bounds": lambda: needle((0.998, -0.55), 0.05),
    "shrunk-box": lambda: needle((0.998, -0.55), 0.01),
    "square-gemm-transposed": lambda: spike((1, 12), _square, weights=[1.0] + [0.0] * 11),
    "swapped-slopes": lambda: needle(_INSIDE, 0.06, peak=1.002),
    "tiny-weights-dropped": lambda: spike(
        (1, 12), _plain, weights=[1.0] * 11 + [0.015], upper=[1.0] * 11 + [100.0]
    ),
    "witness-outside-the-box": lambda: needle((1.0075, 0.3), 1.0, peak=1.005, truth="robust"),
}
