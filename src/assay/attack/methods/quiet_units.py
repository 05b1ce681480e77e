"""Gradient ascent on rarely active units, then on the margin.

A counterexample that gradients of the margin do not see is often made by units that are silent
nearly everywhere. The attack samples the box, takes the units before an activation that are quiet
on nearly all samples, raises each one's argument by sign steps from the samples where it is highest
and from random points, and goes on from there with the margin. Of a unit that saturates at its upper
end on nearly all samples the argument is lowered instead.
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

_RECTIFIERS = frozenset({"Relu", "LeakyRelu", "PRelu", "Elu", "Gelu", "Softplus", "Selu"})
_SIGMOIDS = frozenset({"Sigmoid", "Tanh"})
_SATURATED = 2.0
"""Beyond this a sigmoid or tanh hardly moves."""
_QUIET = 0.05
"""A unit is quiet if at most this share of the samples moves it."""
_SAMPLES = 4096
_FROM_SAMPLES = 6
_STARTS = 12
"""A unit's; the first ones are the samples that come nearest to waking it."""


@dataclass(frozen=True, eq=False)
class _Layer:
    """The arguments of one activation: which are quiet, and which sign wakes each."""

    name: str
    units: Tensor
    signs: Tensor
    closeness: Tensor
    best: Tensor
    """Sample numbers [units, _FROM_SAMPLES], those nearest to waking first."""


def _run(target: Target, effort: Effort) -> None:
    samples = target.uniform(min(_SAMPLES, target.at_once * 16))
    layers = _quiet_layers(target, samples)
    if not layers:
        return
    closeness = torch.cat([layer.closeness for layer in layers])
    most = max(1, effort.restarts // _STARTS)
    chosen = closeness.argsort(descending=True, stable=True)[:most]
    for layer in layers:
        first, chosen_here = _split(layers, layer, chosen)
        if len(chosen_here):
            _wake(target, layer, chosen_here - first, samples, effort)


def _split(layers: list[_Layer], layer: _Layer, chosen: Tensor) -> tuple[int, Tensor]:
    first = sum(len(other.units) for other in layers[: layers.index(layer)])
    inside = (chosen >= first) & (chosen < first + len(layer.units))
    return first, chosen[inside]


def _wake(
    target: Target, layer: _Layer, chosen: Tensor, samples: Tensor, effort: Effort
) -> None:
    """Raise each chosen unit from several starts, then lower the margin from where that led."""
    random = target.uniform(len(chosen) * (_STARTS - _FROM_SAMPLES))
    near = samples[layer.best[chosen]].flatten(0, 1)
    starts = torch.cat([near, random])
    owner = torch.cat(
        [
            chosen.repeat_interleave(_FROM_SAMPLES),
            chosen.repeat_interleave(_STARTS - _FROM_SAMPLES),
        ]
    )
    columns, signs = layer.units[owner], layer.signs[owner]

    def argument(points: Tensor, rows: Tensor) -> Tensor:
        _, taken = target.with_units(points, _RECTIFIERS | _SIGMOIDS)
        found = taken[layer.name].gather(1, columns[rows].unsqueeze(1))[:, 0]
        return found * signs[rows]

    # Half of the starts step by signs, the others along the gradient, which suits dense units.
    gait = Gait.of(REACHES, len(starts), target.device)
    gait = replace(gait, signed=torch.arange(len(starts), device=target.device) % 2 == 0)
    woken = climbed(target, argument, starts, gait, effort.steps)
    descend(target, margin, woken.points, replace(gait, reach=gait.reach / 5), effort.steps)


def _quiet_layers(target: Target, samples: Tensor) -> list[_Layer]:
    parts: dict[str, list[Tensor]] = {}
    with torch.no_grad():
        for rows in target.batches(len(samples)):
            _, taken = target.with_units(samples[rows], _RECTIFIERS | _SIGMOIDS)
            for name, values in taken.items():
                parts.setdefault(name, []).append(values)
    sigmoids = target.arguments_of(_SIGMOIDS)
    found = (
        _quiet(name, torch.cat(values), _SATURATED if name in sigmoids else 0.0)
        for name, values in parts.items()
    )
    return [layer for layer in found if len(layer.units)]


def _quiet(name: str, values: Tensor, threshold: float) -> _Layer:
    """Quiet below -threshold, or (of units that saturate at both ends) above it."""
    low = (values > -threshold).double().mean(0) <= _QUIET
    high = (values < threshold).double().mean(0) <= _QUIET
    high &= torch.tensor(threshold > 0, device=values.device)
    units = (low | high).nonzero().flatten()
    signs = torch.where(low, 1.0, -1.0).double()[units]
    towards = values[:, units] * signs
    spread = towards.std(0, correction=0) + 1e-300
    closeness = (towards.amax(0) + threshold) / spread
    best = towards.topk(min(_FROM_SAMPLES, len(towards)), dim=0).indices.T
    return _Layer(name, units, signs, closeness, best)


ATTACK = Attack(
    "quiet-units",
    "gradient ascent on rarely active units, then on the margin",
    Effort(768, 60),
    _run,
)
