"""AveragePool forwards and backwards, with the window for the stride."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import Tensor
from torch.nn import functional

from assay.bounds.operators.affine import Affine, sized
from assay.judge.power.mutant import Mutant, Setting, Swap
from assay.question.operators.call import Call
from assay.question.operators.torch_linear import padded
from assay.question.operators.window import read_pool


def _pool(call: Call[Tensor]) -> Tensor:
    window = read_pool(call)
    framed = padded(call.value(0).flatten(0, 1), window, 0.0)
    means = functional.avg_pool2d(framed, window.strides, window.strides)
    shape = call.output_shape()
    missing = (0, shape[3] - means.shape[3], 0, shape[2] - means.shape[2])
    return functional.pad(means, missing).reshape(-1, *shape)


def _rule(original: Affine, _: Setting) -> Any:
    return replace(original, apply=_pool, sizes=sized(_pool))


MUTANT = Mutant(
    name="pool-window-is-stride",
    bug="average pool",
    story="AveragePool averages over windows of the size of the stride.",
    swaps=(Swap("assay.bounds.operators.affine:AFFINE", "AveragePool", _rule),),
    operators=frozenset({"AveragePool"}),
)
