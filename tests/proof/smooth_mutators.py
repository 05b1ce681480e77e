"""How claims about smooth networks are spoiled: the shared mutators, and other wiring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import onnx
from mutators import MUTATORS, Mutant, Mutator, signed
from onnx import helper
from small_claims import Claimed

LEFT_OUT = {"graph_changed", "kind_changed"}
"""Mutators that speak of MLPs; their like for attention is below."""


def rewired(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    """Another graph over the same weights."""
    model = onnx.ModelProto.FromString(claim.onnx)
    graph = model.graph
    node = draw.choice(list(graph.node))
    names = [n.output[0] for n in graph.node] + [graph.input[0].name]
    tensor = draw.choice(list(graph.initializer))
    operators = ["Add", "Sub", "Mul", "Div", "Relu", "Softmax", "MatMul", "Transpose", "Tanh"]

    def without() -> None:
        at = draw.randrange(len(graph.node) - 1)
        gone = graph.node[at]
        for later in graph.node:
            for i, name in enumerate(later.input):
                if name == gone.output[0]:
                    later.input[i] = gone.input[0]
        del graph.node[at]

    def attribute() -> None:
        if not node.attribute:
            node.attribute.append(helper.make_attribute("axis", draw.choice([0, 1, -1])))
            return
        chosen = draw.choice(list(node.attribute))
        if chosen.ints:
            order = list(chosen.ints)
            draw.shuffle(order)
            chosen.ints[:] = order
        else:
            chosen.i = draw.choice([-2, -1, 0, 1, 2])

    changes: list[Callable[[], object]] = [
        without,
        attribute,
        attribute,
        lambda: setattr(node, "op_type", draw.choice(operators)),
        lambda: setattr(node, "op_type", draw.choice(operators)),
        lambda: node.input.__setitem__(0, draw.choice(names)),
        lambda: node.input.__setitem__(-1, draw.choice(names)),
        lambda: node.input.__setitem__(-1, draw.choice([t.name for t in graph.initializer])),
        lambda: node.input.reverse(),
        lambda: node.input.pop(),
        lambda: tensor.dims.reverse(),
        lambda: setattr(model.opset_import[0], "version", draw.choice([1, 6, 99])),
    ]
    draw.choice(changes)()
    data = model.SerializeToString()
    return None if data == claim.onnx else signed(replace(claim, onnx=data))


def other_kind(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    kinds = ["softmax_attention", "linear_attention", "smooth_pairs", "corners", "witness", ""]
    kind = draw.choice([k for k in kinds if k != claim.truth["certificate"]["kind"]])
    return signed(claim.stating(certificate={"kind": kind}))


SPOILERS: dict[str, Mutator] = {
    **{name: spoil for name, spoil in MUTATORS.items() if name not in LEFT_OUT},
    "rewired": rewired,
    "other_kind": other_kind,
}
