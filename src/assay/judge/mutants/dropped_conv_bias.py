"""The bias of a convolution is lost on the way back."""

from __future__ import annotations

from typing import Any

from assay.bounds.linear import LinearNetwork
from assay.judge.power.mutant import Mutant, Setting, Swap
from assay.question.network import Node


def _parts(original: Any, _: Setting) -> Any:
    def parts(engine: LinearNetwork, node: Node) -> Any:
        constants, variable, offsets = original(engine, node)
        lost = node.op_type == "Conv"
        return constants, variable, (None,) * len(offsets) if lost else offsets

    return parts


MUTANT = Mutant(
    name="dropped-conv-bias",
    bug="relaxation",
    story="Backward substitution through a convolution leaves out its bias.",
    swaps=(Swap("assay.bounds.linear:LinearNetwork", "_affine_parts", _parts),),
    operators=frozenset({"Conv"}),
)
