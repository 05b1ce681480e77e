"""Branch and bound: is the violation possible anywhere in a box?

A box is robust when, for every disjunct of the violation, some inequality's excess is bounded
above zero on it. Where linear bounds do not show that, the box is split: at the kink of a unit
(its sign then enters the bound with a multiplier) or, for few inputs or networks without kinks,
by halving an input. All bounds are sound for the real function, so `robust` is a proof; `violated`
comes with a witness that certainly violates; everything else is `unknown`.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Literal

from assay.errors import BadInput
from assay.optional_packages import missing_package
from assay.question.network import Network
from assay.question.property import Case

try:
    import torch
    from torch import Tensor
except ImportError:
    raise missing_package("torch") from None

from assay.bounds.ascent import improved
from assay.bounds.backward import RelaxedLink
from assay.bounds.counterexample import Falsifier, Witness
from assay.bounds.domains import Domains, Units, joined, split
from assay.bounds.inequalities import Excesses
from assay.bounds.interval import enclosing_box
from assay.bounds.leaves import is_piecewise_linear, solved
from assay.bounds.linear import LinearNetwork
from assay.bounds.relaxed_network import Bound, RelaxedNetwork
from assay.bounds.rounding import Interval
from assay.bounds.rows import as_rows
from assay.bounds.splitting import best_candidates, input_scores, splittable, unit_scores

Verdict = Literal["robust", "violated", "unknown"]

_FEW_INPUTS = 6
_UNITS_PER_INPUT = 8
"""With few inputs and many open units for each, halving inputs closes a box faster."""
_ROOT_STEPS = 20
_STEPS = 25
_CANDIDATES = 24
_MOST_BOXES_AT_ONCE = 512
_MOST_NUMBERS_AT_ONCE = 2**22
_MOST_UNITS_TIGHTENED = 1000
"""Above this, ranges of hidden units are bounded without optimisation."""
_FOLLOWED, _FOLLOWED_STEPS = 8, 10
"""Minimisers of the lowest linear bounds that are followed down in search of a witness."""


@dataclass(frozen=True)
class Decision:
    """`bound` is a lower bound of the margin on the box; `boxes` counts the parts bounded."""

    verdict: Verdict
    witness: Witness | None
    bound: float
    boxes: int


def decide(
    network: Network,
    case: Case,
    *,
    deadline_s: float = math.inf,
    budget: int = 1_000_000,
    seed: int = 0,
) -> Decision:
    """Decide one case within `deadline_s` seconds from now and `budget` boxes."""
    if case.box.dimension != network.inputs or case.violation.outputs != network.outputs:
        raise BadInput(
            f"{network.place}: the question has {case.box.dimension} inputs and "
            f"{case.violation.outputs} outputs where the network has {network.inputs} and "
            f"{network.outputs}; ask about this network"
        )
    if not case.violation.disjuncts:
        return Decision("robust", None, math.inf, 0)
    end = time.monotonic() + deadline_s
    return Search(network, case, seed, end).run(budget)


class Search:
    """One search; `waiting` is a stack of open domains, the most doubtful on top."""

    def __init__(self, network: Network, case: Case, seed: int, end: float) -> None:
        self.network = network
        self.end = end
        self.engine = LinearNetwork(network)
        self.excesses = Excesses.of(case.violation)
        self.falsifier = Falsifier(network, case, self.excesses, seed)
        self.box = self.engine.intervals.start(*enclosing_box(case.box))
        widest = max(math.prod(shape) for shape in (*network.shapes.values(), (1,)))
        width = self.excesses.thresholds.shape[1]
        room = _MOST_NUMBERS_AT_ONCE // (widest * width * 2 * _CANDIDATES)
        self.at_once = max(1, min(_MOST_BOXES_AT_ONCE, room))
        self.waiting: list[Domains] = []
        self.closed = math.inf
        """The least bound of the parts that are done with."""
        self.boxes = 0
        self.stuck = False
        self.units = Units((), ())
        self.by_input = True
        self.piecewise_linear = False

    def run(self, budget: int) -> Decision:
        witness, lowest = self.falsifier.attack(), -math.inf
        if witness is None:
            witness = self._settle(self._evaluated(self._root(), _ROOT_STEPS))
        while witness is None:
            lowest = self._lowest()
            if not self.waiting or self.boxes >= budget or time.monotonic() >= self.end:
                break
            domains = self._taken()
            children = split(domains, self.units, self._chosen(domains))
            witness = self._settle(self._evaluated(children, _STEPS))
        if witness is not None:
            return Decision("violated", witness, lowest, self.boxes)
        proved = not self.waiting and not self.stuck
        return Decision("robust" if proved else "unknown", None, lowest, self.boxes)

    def _lowest(self) -> float:
        """A lower bound of the margin on the whole box: the least over all its parts."""
        return min([self.closed, *(float(d.bound.min()) for d in self.waiting)])

    def _root(self) -> Domains:
        """The whole box once for each disjunct."""
        sizes = [math.prod(self.network.shapes[name]) for name in self.engine.critical]
        steps = _ROOT_STEPS if sum(sizes) <= _MOST_UNITS_TIGHTENED else 0
        relaxed = self.engine.relaxed(self.box, steps=steps, until=self.end)
        kinks = [link for link in relaxed.links if _kinked(link)]
        names = {link.node.inputs[0] for link in kinks} - {self.network.input_name}
        at_input = any(link.node.inputs[0] == self.network.input_name for link in kinks)
        self.piecewise_linear = is_piecewise_linear(relaxed) and not at_input
        ordered = tuple(sorted(name for name in names if name in relaxed.values))
        ends = {name: relaxed.values[name] for name in ordered}
        self.units = Units(ordered, tuple(x.low[0].numel() for x in ends.values()))
        open_units = sum(int(((x.low < 0) & (x.high > 0)).sum()) for x in ends.values())
        few_inputs = self.network.inputs * _UNITS_PER_INPUT < open_units
        self.by_input = not ordered or (few_inputs and self.network.inputs <= _FEW_INPUTS)
        count = len(self.excesses.thresholds)

        def every(tensor: Tensor) -> Tensor:
            return tensor.expand(count, *tensor.shape[1:]).clone()

        lower, upper = (every(as_rows(x)) for x in (self.box.low, self.box.high))
        blends = {}
        for link in kinks:
            assert isinstance(link, RelaxedLink)
            assert link.relaxation.kink is not None
            preferred = link.relaxation.kink.preferred.unsqueeze(1)
            blends[link.node.outputs[0]] = every(preferred)
        lows = {name: every(x.low) for name, x in ends.items()}
        return Domains(
            lower,
            upper,
            torch.arange(count),
            torch.full((count,), -math.inf, dtype=torch.float64),
            torch.zeros(count, 1, dtype=torch.int64),
            lows,
            {name: every(x.high) for name, x in ends.items()},
            blends,
            {name: torch.zeros_like(low).unsqueeze(1) for name, low in lows.items()},
            {name: torch.zeros_like(low).unsqueeze(1) for name, low in lows.items()},
        )

    def _taken(self) -> Domains:
        """Up to `at_once` domains from the top of the stack."""
        taken = [self.waiting.pop()]
        while self.waiting and sum(map(len, taken)) < self.at_once:
            taken.append(self.waiting.pop())
        domains = joined(taken)
        if len(domains) > self.at_once:
            rest = torch.arange(len(domains) - self.at_once)
            self.waiting.append(domains.at(rest))
            domains = domains.at(torch.arange(len(rest), len(domains)))
        return domains

    def _relaxed(self, domains: Domains) -> RelaxedNetwork:
        shape = self.network.input_shape
        box = Interval(domains.lower.reshape(-1, *shape), domains.upper.reshape(-1, *shape))
        return self.engine.relaxed(box, domains.known, refine=self.by_input, until=self.end)

    def _bounded(self, domains: Domains, steps: int) -> tuple[RelaxedNetwork, Bound, Tensor]:
        """The relaxed network, its bound, and the floor of each domain's excess."""
        relaxed = self._relaxed(domains)
        found = improved(
            relaxed,
            relaxed.on_outputs(self.excesses.coefficients[domains.disjunct]),
            domains.choice,
            steps=steps,
            enough=self.excesses.thresholds[domains.disjunct],
            until=self.end,
        )
        return relaxed, found, self._floors(relaxed, domains, found.bound)

    def _floors(self, relaxed: RelaxedNetwork, domains: Domains, bounds: Tensor) -> Tensor:
        sizes = as_rows(relaxed.values[self.network.output_name].size)
        floors = self.excesses.floors(bounds, domains.disjunct, sizes)
        return torch.maximum(floors, domains.bound)

    def _chosen(self, domains: Domains) -> Tensor:
        """The candidate whose halves together are left with the least to prove."""
        count, candidates = domains.candidates.shape
        if candidates == 1:
            return domains.candidates[:, 0]
        repeated = domains.at(torch.arange(count).repeat_interleave(candidates))
        halves = split(repeated, self.units, domains.candidates.flatten())
        floors = self._bounded(halves, 0)[2].reshape(2, count, candidates)
        best = floors.clamp(max=0).sum(0).argmax(1, keepdim=True)
        return domains.candidates.gather(1, best)[:, 0]

    def _evaluated(self, domains: Domains, steps: int) -> tuple[Domains, Tensor]:
        """The domains with bounds and candidates, and the minimisers of their linear bounds."""
        relaxed, found, floors = self._bounded(domains, steps)
        self.boxes += len(domains)
        number, row = torch.arange(len(domains)), found.bound.argmax(1)
        slope = as_rows(found.at_input, 2)[number, row]
        minimisers = torch.where(slope > 0, domains.lower, domains.upper)
        updated = replace(
            domains,
            bound=floors,
            lows={name: relaxed.values[name].low for name in domains.lows},
            highs={name: relaxed.values[name].high for name in domains.highs},
            blends={**domains.blends, **found.choice.blends},
            ups={**domains.ups, **found.choice.ups},
            downs={**domains.downs, **found.choice.downs},
        )
        at_kinks = {name: f[number, row] for name, f in found.at_kinks.items()}
        by_unit = unit_scores(relaxed, updated, self.units, at_kinks)
        candidates = best_candidates(
            by_unit[:, :0] if self.by_input else by_unit,
            input_scores(updated, slope),
            _CANDIDATES,
        )
        return self._with_leaves(replace(updated, candidates=candidates), minimisers)

    def _with_leaves(self, domains: Domains, points: Tensor) -> tuple[Domains, Tensor]:
        """Where all units are fixed, the best that a linear programme can say."""
        leaves = ((domains.bound <= 0) & (domains.candidates[:, 0] < 0)).nonzero().flatten()
        if self.by_input or not self.piecewise_linear or not len(leaves):
            return domains, points
        parts = domains.at(leaves)
        relaxed = self._relaxed(parts)
        functional = self.excesses.coefficients[parts.disjunct]
        bounds, found = solved(relaxed, self.units, functional, self.end)
        bound, points = domains.bound.clone(), points.clone()
        bound[leaves] = self._floors(relaxed, parts, bounds)
        points[leaves] = found
        return replace(domains, bound=bound), points

    def _settle(self, evaluated: tuple[Domains, Tensor]) -> Witness | None:
        """Close what is proved, keep what is open, and look for a witness at the minimisers."""
        domains, points = evaluated
        proved = domains.bound > 0
        open_ = ~proved & splittable(domains)
        if self.piecewise_linear and not self.by_input:
            # Once all units are fixed the bound is as good as float64 makes it.
            open_ &= domains.candidates[:, 0] >= 0
        self.stuck = self.stuck or bool((~proved & ~open_).any())
        if not bool(open_.all()):
            self.closed = min(self.closed, float(domains.bound[~open_].min()))
        doubtful = (~proved).nonzero().flatten()
        if len(doubtful):
            order = domains.bound[doubtful].argsort()
            lowest = points[doubtful[order[:_FOLLOWED]]]
            witness = self.falsifier.witness(self.falsifier.descended(lowest, _FOLLOWED_STEPS))
            if witness is not None:
                return witness
        kept = open_.nonzero().flatten()
        if len(kept):
            order = domains.bound[kept].argsort(descending=True)
            self.waiting.append(domains.at(kept[order]))
        return None


def _kinked(link: object) -> bool:
    return isinstance(link, RelaxedLink) and link.relaxation.kink is not None
