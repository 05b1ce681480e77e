"""A network between lines: the backward pass that bounds linear functions of its tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from assay.bounds.backward import Link, least, merged, pushed
from assay.bounds.forward import Carried
from assay.bounds.operators.relaxation import KINKED
from assay.bounds.rounding import Interval
from assay.question.network import Network


@dataclass(frozen=True, eq=False)
class Choice:
    """What a backward pass is free to choose, [B, K or 1, *shape] each.

    `blends`, in [0, 1], by the output of a kinked node. `ups` and `downs`, at least 0, by the name
    of a tensor x known to lie in [low, high]: since ups x >= ups low and -downs x >= -downs high,
    replacing these parts of a functional by those numbers keeps a lower bound. That is how the
    sign that a split assumes, or a range found elsewhere, enters.
    """

    blends: Mapping[str, Tensor] = field(default_factory=dict)
    ups: Mapping[str, Tensor] = field(default_factory=dict)
    downs: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Bound:
    """`bound` [B, K], the functional at the input, and those at the outputs of kinked nodes."""

    bound: Tensor
    at_input: Tensor
    at_kinks: Mapping[str, Tensor]
    choice: Choice


@dataclass(frozen=True, eq=False)
class RelaxedNetwork:
    """A network between lines, on a batch of boxes; `empty` marks boxes that hold no input."""

    network: Network
    values: Mapping[str, Interval]
    constants: Mapping[str, Interval]
    links: Sequence[Link]
    empty: Tensor
    nodes: int
    carried: Mapping[str, Carried] = field(default_factory=dict)
    """Tensors of which lines in the box are known."""

    def on_outputs(self, functional: Tensor) -> dict[str, Tensor]:
        shape = (*functional.shape[:2], *self.network.output_shape)
        return {self.network.output_name: functional.reshape(shape)}

    def lower(self, functionals: Mapping[str, Tensor], choice: Choice | None = None) -> Bound:
        """Lower bounds of the sum of these functionals of tensors, row by row."""
        choice = Choice() if choice is None else choice
        pending = dict(functionals)
        first = next(iter(functionals.values()))
        value = error = first.new_zeros(first.shape[:2])
        at_kinks = {}

        def take(name: str, added: Tensor) -> None:
            nonlocal error
            if name in pending:
                pending[name], cost = merged(pending[name], added, self._value(name))
                error = error + cost
            else:
                pending[name] = added

        for link in reversed(self.links):
            for name in link.node.outputs:
                if name in choice.ups:
                    up, down = (t[name].clamp(min=0) for t in (choice.ups, choice.downs))
                    held, cost = pushed(up, down, self.values[name], self.nodes)
                    value, error = value + held, error + cost
                    take(name, (down - up).expand(*first.shape[:2], *up.shape[2:]))
            found = [pending.pop(name, None) for name in link.node.outputs]
            if all(f is None for f in found):
                continue
            output = link.node.outputs[0]
            if link.node.op_type in KINKED and found[0] is not None:
                at_kinks[output] = found[0]
            pulled = link.pull(found, choice.blends.get(output))
            value, error = value + pulled.value, error + pulled.error
            for name, functional in pulled.functionals:
                take(name, functional)
        start = self._value(self.network.input_name)
        at_input = pending.get(self.network.input_name)
        if at_input is None:
            at_input = first.new_zeros(*first.shape[:2], *start.low.shape[1:])
        for name, functional in pending.items():
            last, cost = least(functional, self._value(name), self.nodes)
            value, error = value + last, error + cost
        bound = value - error
        bound = torch.where(torch.isfinite(bound), bound, -math.inf)
        bound = torch.where(self.empty.unsqueeze(1), math.inf, bound)
        return Bound(bound, at_input, at_kinks, choice)

    def _value(self, name: str) -> Interval:
        return self.values[name] if name in self.values else self.constants[name]

    def plain(self, functionals: Mapping[str, Tensor]) -> Tensor:
        """What the ranges of the tensors alone say."""
        parts = [least(f, self._value(name), self.nodes) for name, f in functionals.items()]
        bound = sum((v - e for v, e in parts[1:]), start=parts[0][0] - parts[0][1])
        return torch.where(torch.isfinite(bound), bound, -math.inf)
