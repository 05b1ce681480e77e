"""Where to split a part of a box: units that cost the bound most, or inputs that move it most."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from assay.bounds.backward import RelaxedLink
from assay.bounds.domains import Domains, Units
from assay.bounds.relaxed_network import RelaxedNetwork


def unit_scores(
    relaxed: RelaxedNetwork, domains: Domains, units: Units, at_kinks: Mapping[str, Tensor]
) -> Tensor:
    """[N, units]: what the gap between the lines around an open unit weighs; -inf where closed.

    `at_kinks` holds the functional of each domain at the outputs of kinked nodes.
    """
    scores = {name: torch.zeros_like(low) for name, low in domains.lows.items()}
    for link in relaxed.links:
        output, name = link.node.outputs[0], link.node.inputs[0]
        if output not in at_kinks or name not in scores or not isinstance(link, RelaxedLink):
            continue
        lower, upper = link.relaxation.lower, link.relaxation.upper
        height = torch.maximum(lower.offset.abs(), upper.offset.abs())
        scores[name] = scores[name] + at_kinks[output].abs() * height
    flat = units.flat(scores, len(domains))
    lows, highs = (units.flat(ends, len(domains)) for ends in (domains.lows, domains.highs))
    return torch.where((lows < 0) & (highs > 0), flat, -math.inf)


def input_scores(domains: Domains, slope: Tensor) -> Tensor:
    """[N, inputs]: how much an input moves the linear bound; -inf where it cannot be halved."""
    width = domains.upper - domains.lower
    share = width / width.amax(1, keepdim=True)
    return torch.where(halvable(domains), slope.abs() * width + 1e-3 * share, -math.inf)


def best_candidates(by_unit: Tensor, by_input: Tensor, most: int) -> Tensor:
    """[N, C]: up to `most` units; where none is open, halving the best input."""
    inputs = -1 - by_input.argmax(1, keepdim=True)
    if by_unit.shape[1] == 0:
        return inputs
    best = by_unit.topk(min(most, by_unit.shape[1]), dim=1)
    usable = torch.isfinite(best.values)
    # Where fewer units are left, the first stands in for the missing ones.
    numbers = torch.where(usable, best.indices, best.indices[:, :1])
    return torch.where(usable[:, :1], numbers, inputs)


def splittable(domains: Domains) -> Tensor:
    """Whether the first candidate makes two smaller parts."""
    first = domains.candidates[:, 0]
    column = (-1 - first).clamp(min=0).unsqueeze(1)
    return (first >= 0) | halvable(domains).gather(1, column)[:, 0]


def halvable(domains: Domains) -> Tensor:
    """Whether a float64 lies strictly between the ends of each input."""
    middle = domains.lower * 0.5 + domains.upper * 0.5
    return (domains.lower < middle) & (middle < domains.upper)
