"""Better backward bounds by gradient ascent in what a relaxed network is free to choose.

Every choice gives a sound bound, with its rounding accounted for, so the best bound that any
step met counts; the ascent itself needs no care.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from assay.bounds.backward import RelaxedLink
from assay.bounds.relaxed_network import Bound, Choice, RelaxedNetwork

_PACE = 0.2
_INNERMOST = 0.1
"""Slopes start this far inside their range: at its ends a unit may hide those before it."""
_FADING = 0.96
_MEMORY, _LONG_MEMORY = 0.9, 0.999


def improved(
    relaxed: RelaxedNetwork,
    functionals: Mapping[str, Tensor],
    choice: Choice | None = None,
    *,
    steps: int,
    by_row: bool = False,
    enough: Tensor | None = None,
    until: float = math.inf,
) -> Bound:
    """The best bounds of `steps` of ascent from `choice`, and of plain intervals.

    `by_row` gives every row slopes of its own; otherwise a box cares for its best row only, as a
    conjunction is refuted by one. It stops early when every box has a row above
    `enough`, [B, K], or when the monotonic clock reaches `until`.
    """
    with torch.no_grad():
        found = relaxed.lower(functionals, choice)
        plain = relaxed.plain(functionals)
    if steps and not _done(found.bound, enough):
        found = _ascended(relaxed, functionals, found, steps, by_row, enough, until)
    return replace(found, bound=torch.maximum(found.bound, plain))


def _ascended(
    relaxed: RelaxedNetwork,
    functionals: Mapping[str, Tensor],
    start: Bound,
    steps: int,
    by_row: bool,
    enough: Tensor | None,
    until: float,
) -> Bound:
    blends = _blends(relaxed, start, by_row)
    ups, scales = _pushes(relaxed, start, start.choice.ups, by_row)
    downs, _ = _pushes(relaxed, start, start.choice.downs, by_row)
    variables = [*blends.values(), *ups.values(), *downs.values()]
    if not variables:
        return start
    climb = _Climb(variables)
    best, kept, trial = start.bound, start.choice, start
    for step in range(steps):
        with torch.enable_grad():
            raised, lowered = (
                {name: push * scales[name] for name, push in pushes.items()}
                for pushes in (ups, downs)
            )
            choice = Choice(blends, raised, lowered)
            trial = relaxed.lower(functionals, choice)
            goals = trial.bound if by_row else trial.bound.amax(1)
            goal = goals[torch.isfinite(goals)].sum()
        reached = trial.bound.detach()
        better = reached > best
        kept = _kept(kept, choice, better if by_row else better.any(1, keepdim=True))
        best = torch.maximum(best, reached)
        if _done(best, enough) or not goal.requires_grad or time.monotonic() >= until:
            break
        slopes = torch.autograd.grad(goal, variables, allow_unused=True)
        climb.step(slopes, _PACE * _FADING**step)
        with torch.no_grad():
            for blend in blends.values():
                blend.clamp_(0, 1)
            for push in (*ups.values(), *downs.values()):
                push.clamp_(min=0)
    at_kinks = {name: f.detach() for name, f in trial.at_kinks.items()}
    return Bound(best, trial.at_input.detach(), at_kinks, kept)


class _Climb:
    """Adam's steps uphill; torch's own optimiser takes seconds to import."""

    def __init__(self, variables: Sequence[Tensor]) -> None:
        self.variables = variables
        self.means = [torch.zeros_like(v) for v in variables]
        self.squares = [torch.zeros_like(v) for v in variables]
        self.count = 0

    @torch.no_grad()
    def step(self, slopes: Sequence[Tensor | None], pace: float) -> None:
        self.count += 1
        corrections = (1 - _MEMORY**self.count, 1 - _LONG_MEMORY**self.count)
        moments = zip(self.variables, slopes, self.means, self.squares, strict=True)
        for variable, slope, mean, square in moments:
            if slope is None:
                continue
            mean.lerp_(slope, 1 - _MEMORY)
            square.lerp_(slope * slope, 1 - _LONG_MEMORY)
            size = (square / corrections[1]).sqrt_().add_(1e-30)
            variable.add_(mean / size, alpha=pace / corrections[0])


def _done(bound: Tensor, enough: Tensor | None) -> bool:
    return enough is not None and bool((bound > enough).any(1).all())


def _blends(relaxed: RelaxedNetwork, start: Bound, by_row: bool) -> dict[str, Tensor]:
    """Variables for the free slopes, from where the last choice left them."""
    found = {}
    for link in relaxed.links:
        output = link.node.outputs[0]
        kink = link.relaxation.kink if isinstance(link, RelaxedLink) else None
        if kink is None or output not in start.at_kinks or not bool(kink.free.any()):
            continue
        blend = start.choice.blends.get(output, kink.preferred.unsqueeze(1))
        found[output] = _variable(blend.clamp(_INNERMOST, 1 - _INNERMOST), start, by_row)
    return found


def _pushes(
    relaxed: RelaxedNetwork, start: Bound, last: Mapping[str, Tensor], by_row: bool
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Variables for the multipliers of ranges, in units of the functional they meet."""
    found: dict[str, Tensor] = {}
    scales: dict[str, Tensor] = {}
    for link in relaxed.links:
        output, name = link.node.outputs[0], link.node.inputs[0]
        if output not in start.at_kinks or name in found or name == relaxed.network.input_name:
            continue
        x = relaxed.values[name]
        if not bool(torch.isfinite(x.size).all()):
            continue
        size = start.at_kinks[output].abs().flatten(1).amax(1).clamp(min=1e-30)
        scales[name] = size.reshape(-1, *(1,) * x.low.ndim)
        push = last.get(name, torch.zeros_like(x.low).unsqueeze(1))
        found[name] = _variable(push / scales[name], start, by_row)
    return found, scales


def _variable(value: Tensor, start: Bound, by_row: bool) -> Tensor:
    boxes, rows = start.bound.shape
    shape = (boxes, rows if by_row else 1, *value.shape[2:])
    return value.expand(shape).clone().requires_grad_()


def _kept(kept: Choice, new: Choice, better: Tensor) -> Choice:
    """The new choice where it is better, [B, K or 1], the kept one elsewhere."""

    def mixed(old: Mapping[str, Tensor], fresh: Mapping[str, Tensor]) -> dict[str, Tensor]:
        result = {}
        for name, tensor in fresh.items():
            given = tensor.detach().clone()
            if name in old:
                mask = better.reshape(*better.shape, *(1,) * (given.ndim - 2))
                given = torch.where(mask, given, old[name])
            result[name] = given
        return result

    pairs = ((kept.blends, new.blends), (kept.ups, new.ups), (kept.downs, new.downs))
    return Choice(*(mixed(old, fresh) for old, fresh in pairs))
