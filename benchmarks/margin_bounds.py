"""Lower bounds of an instance's margin that our own engines reach without branching."""

from __future__ import annotations

import torch

from assay.bounds.interval import enclosing_box, output_bounds
from assay.bounds.linear import linear_margin_bounds
from assay.question.network import Network
from assay.question.property import Case


def margin_bounds(network: Network, case: Case) -> tuple[float, float]:
    """The least bound over the rivals, by intervals and by one backward pass of linear bounds.

    Every way to violate must be one inequality, as in all families: a bound above zero is a proof.
    """
    rows = torch.zeros(len(case.violation.disjuncts), network.outputs, dtype=torch.float64)
    thresholds = torch.zeros(len(rows), dtype=torch.float64)
    for number, (inequality,) in enumerate(case.violation.disjuncts):
        thresholds[number] = float(inequality.bound)
        for output, coefficient in inequality.terms:
            rows[number, output] = float(coefficient)
    ends = enclosing_box(case.box)
    low, high = output_bounds(network, *ends)
    intervals = rows.clamp(min=0) @ low[0] + rows.clamp(max=0) @ high[0] - thresholds
    lines = linear_margin_bounds(network, *ends, rows)[0] - thresholds
    return float(intervals.min()), float(lines.min())
