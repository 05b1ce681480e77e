"""Which nonlinear coordinates of a network no interval bound makes affine: the unstable ones.

A coordinate is one number that a nonlinear node puts out. Its slope variation is the largest
difference of its slope between two points of the box that interval bounds give to the node's
inputs; it is unstable where that exceeds a threshold. For a ReLU this is 1 where its input may
have both signs and 0 elsewhere, so the fraction of unstable ReLUs is the familiar one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from assay.bounds.interval import IntervalNetwork
from assay.bounds.operators.affine import is_affine
from assay.bounds.rounding import Interval
from assay.bounds.rows import as_rows
from assay.difficulty.slope_curves import CURVES, SlopeRule
from assay.difficulty.slope_joint import JOINT
from assay.errors import BadInput
from assay.question.operators.call import Call, missing_view

SLOPE_RULES: Mapping[str, SlopeRule] = CURVES | JOINT
"""Adding an operator is one function and one line in its family's table."""


def slope_variations(engine: IntervalNetwork, values: Mapping[str, Interval]) -> dict[str, Tensor]:
    """The variation [B, *shape] for each nonlinear node's first output, by its name."""
    boxes = len(values[engine.network.input_name].low)
    found: dict[str, Tensor] = {}
    for node in engine.nodes:
        moving = engine.moving(node)
        if is_affine(node.op_type, moving):
            continue
        if node.op_type not in SLOPE_RULES:
            raise missing_view(engine.network, node, "rule of the unstable fraction")
        call = _with_fixed_constants(engine.call(node, values), moving)
        name = node.outputs[0]
        varied = SLOPE_RULES[node.op_type](call)
        found[name] = varied.expand(boxes, *engine.network.shapes[name])
    return found


def unstable(
    engine: IntervalNetwork, values: Mapping[str, Interval], tau: float
) -> tuple[Tensor, int]:
    """The number of unstable coordinates [B], and how many nonlinear ones there are."""
    if not tau >= 0:
        raise BadInput(f"slopes cannot vary by less than tau = {tau}; give tau at least 0")
    start = values[engine.network.input_name].low
    count = torch.zeros(len(start), dtype=torch.int64, device=start.device)
    total = 0
    for varied in slope_variations(engine, values).values():
        count = count + as_rows(varied > tau).sum(1)
        total += math.prod(varied.shape[1:])
    return count, total


def _with_fixed_constants(call: Call[Interval], moving: Sequence[int]) -> Call[Interval]:
    """A constant that was computed with rounding is an interval, yet no slope goes with it."""
    inputs = tuple(
        x if x is None or i in moving else Interval.exactly(x.low)
        for i, x in enumerate(call.inputs)
    )
    return Call(call.network, call.node, inputs)
