"""Add with a constant is read as nothing at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assay.judge.power.mutant import Mutant
from assay.judge.power.seams import misread
from assay.question.network import Network


def _without_constants(network: Network) -> Network:
    added = {name for node in network.nodes if node.op_type == "Add" for name in node.inputs}
    return replace(
        network,
        initializers={
            name: np.zeros_like(array) if name in added else array
            for name, array in network.initializers.items()
        },
    )


MUTANT = Mutant(
    name="add-constant-ignored",
    bug="operator misread",
    story="The bias that stands in an Add of its own, as after a MatMul, is ignored.",
    swaps=(misread(_without_constants),),
    operators=frozenset({"Add"}),
)
