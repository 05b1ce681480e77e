"""Corners of the box: all of them where they are few, random ones otherwise."""

from __future__ import annotations

import torch
from torch import Tensor

from assay.attack.method import Attack, Effort
from assay.attack.target import Target


def _run(target: Target, effort: Effort) -> None:
    free = target.free
    every = len(free) < effort.restarts.bit_length()
    count = 2 ** len(free) if every else effort.restarts
    with torch.no_grad():
        for rows in target.batches(count):
            number = torch.arange(rows.start, rows.stop, device=target.device)
            high = _bits(number, len(free)) if every else _random_bits(target, len(number))
            points = target.lower.expand(len(number), -1).clone()
            points[:, free] = torch.where(high, target.upper[free], target.lower[free])
            target.outputs(points)


def _bits(number: Tensor, count: int) -> Tensor:
    places = torch.arange(count, device=number.device)
    return (number.unsqueeze(1) >> places) % 2 == 1


def _random_bits(target: Target, count: int) -> Tensor:
    size = (count, len(target.free))
    return torch.randint(2, size, generator=target.draw, device=target.device) == 1


ATTACK = Attack(
    "corners",
    "corners of the box: all of them if they are no more than that",
    Effort(8192),
    _run,
    gradients=False,
)
