"""The open parts of a box during branch and bound: sub-boxes with ReLU phases fixed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from assay.bounds.relaxed_network import Choice
from assay.bounds.rounding import Interval
from assay.bounds.rows import as_rows

Tensors = Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class Domains:
    """N parts, each about one disjunct of the violation.

    `lows` and `highs` bound the tensors before kinks, signs fixed by splits included; `blends`,
    `ups` and `downs` are the choices that gave the best bound so far.
    `bound` is a lower bound of the disjunct's excess; `candidates` [N, C] are the splits that
    look best: unit numbers, or -1 - i for halving the box along input i.
    """

    lower: Tensor
    upper: Tensor
    disjunct: Tensor
    bound: Tensor
    candidates: Tensor
    lows: Tensors
    highs: Tensors
    blends: Tensors
    ups: Tensors
    downs: Tensors

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def known(self) -> dict[str, Interval]:
        return {name: Interval(low, self.highs[name]) for name, low in self.lows.items()}

    @property
    def choice(self) -> Choice:
        return Choice(self.blends, self.ups, self.downs)

    def at(self, index: Tensor) -> Domains:
        return _mapped(lambda parts: parts[0][index], [self])


def joined(parts: Sequence[Domains]) -> Domains:
    return parts[0] if len(parts) == 1 else _mapped(torch.cat, parts)


def _mapped(function: Callable[[list[Tensor]], Tensor], parts: Sequence[Domains]) -> Domains:
    def each(pick: Callable[[Domains], Tensors]) -> dict[str, Tensor]:
        return {name: function([pick(p)[name] for p in parts]) for name in pick(parts[0])}

    return Domains(
        function([p.lower for p in parts]),
        function([p.upper for p in parts]),
        function([p.disjunct for p in parts]),
        function([p.bound for p in parts]),
        function([p.candidates for p in parts]),
        each(lambda p: p.lows),
        each(lambda p: p.highs),
        each(lambda p: p.blends),
        each(lambda p: p.ups),
        each(lambda p: p.downs),
    )


@dataclass(frozen=True)
class Units:
    """Numbers for all units before kinks: the tensors that hold them, one after the other."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    def flat(self, tensors: Tensors, boxes: int) -> Tensor:
        """[N, units] of tensors by name."""
        if not self.names:
            return torch.zeros(boxes, 0, dtype=torch.float64)
        return torch.cat([as_rows(tensors[name]) for name in self.names], dim=1)

    def shaped(self, flat: Tensor, like: Tensors) -> dict[str, Tensor]:
        """Tensors by name of [N, units]."""
        parts = torch.split_with_sizes(flat, list(self.sizes), dim=1) if self.names else ()
        return {
            name: part.reshape(len(flat), *like[name].shape[1:])
            for name, part in zip(self.names, parts, strict=True)
        }


def split(domains: Domains, units: Units, choice: Tensor) -> Domains:
    """Both halves of every domain by its choice: first all lower halves, then all upper ones."""
    count = len(domains)
    row = torch.arange(2 * count, device=choice.device)
    twice = domains.at(row % count)
    choice, upper_half = choice.repeat(2), row >= count
    lower, upper = _halved(twice, choice, upper_half)
    lows, highs = (units.flat(tensors, 2 * count) for tensors in (twice.lows, twice.highs))
    on = (choice >= 0) & upper_half
    off = (choice >= 0) & ~upper_half
    lows[row[on], choice[on]] = lows[row[on], choice[on]].clamp(min=0)
    highs[row[off], choice[off]] = highs[row[off], choice[off]].clamp(max=0)
    return replace(
        twice,
        lower=lower,
        upper=upper,
        lows=units.shaped(lows, twice.lows),
        highs=units.shaped(highs, twice.highs),
    )


def _halved(domains: Domains, choice: Tensor, upper_half: Tensor) -> tuple[Tensor, Tensor]:
    lower, upper = domains.lower.clone(), domains.upper.clone()
    rows = (choice < 0).nonzero().flatten()
    inputs = -1 - choice[rows]
    middle = lower[rows, inputs] * 0.5 + upper[rows, inputs] * 0.5
    high = upper_half[rows]
    lower[rows[high], inputs[high]] = middle[high]
    upper[rows[~high], inputs[~high]] = middle[~high]
    return lower, upper
