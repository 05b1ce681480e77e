"""Gradient ascent on rarely active units, then on the margin.

A counterexample that gradients of the margin do not see is often made by units that are silent
nearly everywhere. The attack samples the box, takes the units before an activation that are quiet
on nearly all samples, raises each one's argument by gradient steps from the samples where it is
highest and from random points, and goes on from there with the margin. Of a unit that saturates at
its upper end on nearly all samples the argument is lowered instead. Few quiet units share all
restarts; of many, those nearest to waking get the least number each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from assay.attack.climbing import Gait, climbed
from assay.attack.losses import margin
from assay.attack.method import Attack, Effort
from assay.attack.projected_gradient import REACHES, descend
from assay.attack.target import Target

_RECTIFIERS = ("Relu", "LeakyRelu", "PRelu", "Elu", "Gelu", "Softplus")
_SIGMOIDS = ("Sigmoid", "Tanh")
_SATURATED = 2.0
"""Beyond this a sigmoid or tanh hardly moves."""
_QUIET = 0.05
"""A unit is quiet if at most this share of the samples moves it."""
_SAMPLES, _MOST_SAMPLES = 4096, 2**15
"""Of the usual effort, and of any."""
_STARTS = 12
"""The fewest of a unit: half the samples that come nearest to waking it, half random points."""
_RESTARTS = 1536


@dataclass(frozen=True, eq=False)
class _Quiet:
    """Units that are quiet, those nearest to waking first: their numbers, and which sign wakes."""

    units: Tensor
    signs: Tensor
    nearest: Tensor
    """Numbers of samples, [units, half of the starts of each]."""


def _run(target: Target, effort: Effort) -> None:
    samples = target.uniform(_sample_count(target, effort))
    with torch.no_grad():
        values = [_arguments(target, samples[rows]) for rows in target.batches(len(samples))]
    arguments = torch.cat(values)
    if not arguments.shape[1]:
        return
    quiet = _quiet(arguments, _thresholds(target), effort.restarts)
    count, nearest = quiet.nearest.shape
    if not count:
        return
    anywhere = max(_STARTS, effort.restarts // count) - nearest
    starts = torch.cat([samples[quiet.nearest].flatten(0, 1), target.uniform(anywhere * count)])
    owner = torch.arange(count, device=target.device)
    owner = torch.cat([owner.repeat_interleave(n) for n in (nearest, anywhere)])

    def woken(points: Tensor, rows: Tensor) -> Tensor:
        mine = owner[rows]
        found = _arguments(target, points).gather(1, quiet.units[mine].unsqueeze(1))
        return found[:, 0] * quiet.signs[mine]

    # Half of the starts step by signs, the others along the gradient, which suits dense units.
    gait = Gait.of(REACHES, len(starts), target.device)
    gait = replace(gait, signed=torch.arange(len(starts), device=target.device) % 2 == 0)
    raised = climbed(target, woken, starts, gait, effort.steps)
    descend(target, margin, raised.points, replace(gait, reach=gait.reach / 5), effort.steps)


def _sample_count(target: Target, effort: Effort) -> int:
    """In proportion to the restarts; their units are kept in memory all at once."""
    wanted = max(_SAMPLES, _SAMPLES * effort.restarts // _RESTARTS)
    return max(_STARTS, min(wanted, _MOST_SAMPLES, 16 * target.at_once))


def _arguments(target: Target, points: Tensor) -> Tensor:
    """What all activations take, [N, units]."""
    _, taken = target.with_units(points, (*_RECTIFIERS, *_SIGMOIDS))
    return torch.cat([*taken.values(), points[:, :0]], dim=1)


def _thresholds(target: Target) -> Tensor:
    """For each unit, how far from zero it counts as quiet: zero means only below."""
    point = target.uniform(1)
    with torch.no_grad():
        _, taken = target.with_units(point, (*_RECTIFIERS, *_SIGMOIDS))
    sigmoids = target.arguments_of(_SIGMOIDS)
    parts = [
        torch.full_like(values[0], _SATURATED if name in sigmoids else 0.0)
        for name, values in taken.items()
    ]
    return torch.cat(parts)


def _quiet(arguments: Tensor, thresholds: Tensor, restarts: int) -> _Quiet:
    low = (arguments > -thresholds).double().mean(0) <= _QUIET
    high = ((arguments < thresholds).double().mean(0) <= _QUIET) & (thresholds > 0)
    signs = torch.where(low, 1.0, -1.0).double()
    closeness = ((arguments * signs).amax(0) + thresholds) / (
        arguments.std(0, correction=0) + 1e-300
    )
    order = torch.where(low | high, closeness, -torch.inf).argsort(descending=True, stable=True)
    units = order[: min(max(1, restarts // _STARTS), int((low | high).sum()))]
    towards = arguments[:, units] * signs[units]
    nearest = max(_STARTS, restarts // max(1, len(units))) // 2
    found = towards.topk(min(nearest, len(arguments)), dim=0).indices.T
    return _Quiet(units, signs[units], found)


ATTACK = Attack(
    "quiet-units",
    "gradient ascent on rarely active units, then on the margin",
    Effort(_RESTARTS, 80),
    _run,
)
