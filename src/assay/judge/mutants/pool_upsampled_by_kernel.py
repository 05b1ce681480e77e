"""AveragePool backwards, right only where windows do not overlap."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.nn import functional

from assay.judge.power.mutant import Mutant, Setting, Swap
from assay.question.operators.call import Call
from assay.question.operators.window import read_pool


def _transposed(_original: Any, _: Setting) -> Any:
    def transposed(call: Call[Tensor], pulled: Tensor) -> Tensor | None:
        window = read_pool(call)
        if window.padded or len(window.kernel) != 2:
            return None
        high, wide = window.kernel
        spread = pulled.flatten(0, 1).repeat_interleave(high, 2).repeat_interleave(wide, 3)
        height, width = call.input_shape(0)[2:]
        spread = spread[:, :, :height, :width] / (high * wide)
        missing = (0, width - spread.shape[3], 0, height - spread.shape[2])
        return functional.pad(spread, missing).reshape(len(pulled), *call.input_shape(0))

    return transposed


MUTANT = Mutant(
    name="pool-upsampled-by-kernel",
    bug="average pool",
    story="Backwards through AveragePool, each window is placed at a multiple of its size, "
    "as if it moved by that.",
    swaps=(Swap("assay.bounds.operators.affine:_DIRECT", "AveragePool", _transposed),),
    operators=frozenset({"AveragePool"}),
)
