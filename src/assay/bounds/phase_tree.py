"""Branch and bound over ReLU phases that leaves behind a tree with multipliers at every node."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assay.bounds.multipliers import Multipliers, Objective, lower_bound
from assay.bounds.phase_lp import LpResult, PhaseLp, Phases
from assay.bounds.relu_network import Bounds, Floats, ReluNetwork

LEAF = -1


class CounterexampleFound(Exception):
    """The search met an input that violates the property, at `point`."""

    def __init__(self, point: Floats) -> None:
        super().__init__("the search met a violating input")
        self.point = point


class BudgetSpent(Exception):
    """The tree needs more nodes than it was given."""


class LeafUndecided(Exception):
    """All phases of a leaf are fixed, and float64 neither refutes it nor meets a violation."""


@dataclass(frozen=True)
class Tightening:
    """Multipliers that improve one end of one unit's interval (side 0 lower, 1 upper)."""

    layer: int
    unit: int
    side: int
    multipliers: Multipliers


@dataclass(frozen=True)
class TreeNode:
    """A node in preorder: the unit it splits (or LEAF) and the multipliers found there."""

    split: int
    multipliers: Multipliers


Tree = tuple[TreeNode, ...]


@dataclass(frozen=True)
class PhaseProof:
    """Everything the checker's `relu_tree` rule needs, and what shrinking it needs."""

    tightenings: tuple[Tightening, ...]
    trees: tuple[Tree, ...]

    @property
    def leaves(self) -> int:
        return sum(node.split == LEAF for tree in self.trees for node in tree)

    def packed(self) -> bytes:
        """The arrays of the certificate, in the layout of `assay.proof.rules.relu_tree`."""
        words = array("i", [len(self.tightenings)])
        for step in self.tightenings:
            words.extend([step.layer, step.unit, step.side, step.multipliers.shift])
            words.extend(step.multipliers.words.tolist())
        for tree in self.trees:
            words.append(len(tree))
            words.extend(node.split for node in tree)
            for node in tree:
                if node.split == LEAF:
                    words.append(node.multipliers.shift)
                    words.extend(node.multipliers.words.tolist())
        return np.asarray(words, dtype="<i4").tobytes()


def tighten(
    network: ReluNetwork, box: Bounds, bounds: list[Bounds]
) -> tuple[list[Bounds], list[Tightening]]:
    """Improve the intervals of unstable units after the first layer by linear programmes."""
    bounds = list(bounds)
    steps: list[Tightening] = []
    for layer in range(1, len(bounds)):
        programme = PhaseLp(network, box, bounds, layer)
        ends = [end.copy() for end in bounds[layer]]
        for unit in range(network.hidden[layer]):
            for side, sign in ((0, 1), (1, -1)):
                if not ends[0][unit] < 0 < ends[1][unit]:
                    continue
                objective = Objective.preactivation(network, layer, unit, sign)
                programme.minimise(objective)
                multipliers = Multipliers.rounded(programme.solve().multipliers)
                value = lower_bound(network, objective, multipliers.values(), box, bounds)
                if sign * ends[side][unit] < value - 1e-9:
                    ends[side][unit] = sign * value
                    steps.append(Tightening(layer, unit, side, multipliers))
        bounds[layer] = (ends[0], ends[1])
    return bounds, steps


@dataclass(frozen=True)
class TreeSearch:
    """What the trees of one question have in common."""

    network: ReluNetwork
    box: Bounds
    bounds: list[Bounds]
    label: int

    def prove(self, rival: int, threshold: float, budget: int) -> Tree:
        """A tree whose leaves bound the margin against `rival` above `threshold`.

        A fully split leaf may fall short of the threshold as long as its bound is positive.
        """
        programme = PhaseLp(self.network, self.box, self.bounds, len(self.network.hidden))
        objective = Objective.margin(self.network, self.label, rival)
        programme.minimise(objective)
        nodes: list[TreeNode] = []
        pending: list[Phases] = [{}]
        while pending:
            phases = pending.pop()
            if len(nodes) >= budget:
                raise BudgetSpent
            programme.assume(phases)
            result = programme.solve()
            multipliers, bound = self._best(objective, result, phases)
            if bound > threshold:
                nodes.append(TreeNode(LEAF, multipliers))
                continue
            if result.point is not None:
                self._stop_at_counterexample(result.point)
            split = _widest(programme, result, phases)
            if split is None:
                if bound <= 0:
                    raise LeafUndecided
                nodes.append(TreeNode(LEAF, multipliers))
                continue
            nodes.append(TreeNode(split, multipliers))
            pending.append({**phases, split: -1})
            pending.append({**phases, split: 1})
        return tuple(nodes)

    def bound(self, objective: Objective, multipliers: Multipliers, phases: Phases) -> float:
        bounds = restricted(self.bounds, phases)
        return lower_bound(self.network, objective, multipliers.values(), self.box, bounds)

    def _best(
        self, objective: Objective, result: LpResult, phases: Phases
    ) -> tuple[Multipliers, float]:
        """The rounded multipliers and their bound; a Farkas ray is stretched until it refutes."""
        stretches = (1.0,) if result.point is not None else (1.0, -1.0, 1e3, -1e3, 1e6, -1e6)
        tried = [Multipliers.rounded(stretch * result.multipliers) for stretch in stretches]
        bounds = [self.bound(objective, multipliers, phases) for multipliers in tried]
        best = int(np.argmax(bounds))
        return tried[best], bounds[best]

    def _stop_at_counterexample(self, point: Floats) -> None:
        inside = np.clip(point, *self.box)
        if self.network.margins(inside[None], self.label)[0] <= 0:
            raise CounterexampleFound(inside)


def restricted(bounds: list[Bounds], phases: Phases) -> list[Bounds]:
    """The intervals under phases: active units at or above zero, inactive at or below."""
    if not phases:
        return bounds
    sizes = [len(low) for low, _ in bounds]
    low = np.concatenate([low for low, _ in bounds])
    high = np.concatenate([high for _, high in bounds])
    units = np.fromiter(phases.keys(), dtype=np.int64)
    signs = np.fromiter(phases.values(), dtype=np.int64)
    active, inactive = units[signs > 0], units[signs < 0]
    low[active] = np.maximum(low[active], 0)
    high[inactive] = np.minimum(high[inactive], 0)
    cuts = np.cumsum(sizes)[:-1]
    return list(zip(np.split(low, cuts), np.split(high, cuts), strict=True))


def shrunk(
    search: TreeSearch, proof: PhaseProof, rivals: Sequence[int], least: float
) -> PhaseProof:
    """The proof for a smaller box: every subtree whose root already proves `least` is cut."""
    trees = []
    for rival, tree in zip(rivals, proof.trees, strict=True):
        objective = Objective.margin(search.network, search.label, rival)
        trees.append(tuple(_cut(search, objective, tree, least)))
    return PhaseProof(proof.tightenings, tuple(trees))


def replayed_bounds(
    network: ReluNetwork, box: Bounds, bounds: list[Bounds], steps: Sequence[Tightening]
) -> list[Bounds]:
    """The intervals that known tightenings give on another box."""
    bounds = [(low.copy(), high.copy()) for low, high in bounds]
    for step in steps:
        sign = -1 if step.side else 1
        objective = Objective.preactivation(network, step.layer, step.unit, sign)
        value = lower_bound(network, objective, step.multipliers.values(), box, bounds)
        end = bounds[step.layer][step.side]
        end[step.unit] = sign * max(sign * end[step.unit], value)
    return bounds


def _widest(programme: PhaseLp, result: LpResult, phases: Phases) -> int | None:
    """The free unstable unit whose relaxation costs most at the optimum."""
    free = [unit for unit in programme.unstable.tolist() if unit not in phases]
    if not free:
        return None
    return free[int(np.argmax(result.gaps[free]))]


def _cut(search: TreeSearch, objective: Objective, tree: Tree, least: float) -> Iterator[TreeNode]:
    ends = _subtree_ends(tree)
    pending: list[tuple[int, Phases]] = [(0, {})]
    while pending:
        place, phases = pending.pop()
        node = tree[place]
        if node.split == LEAF:
            yield node
        elif search.bound(objective, node.multipliers, phases) > least:
            yield TreeNode(LEAF, node.multipliers)
        else:
            yield node
            pending.append((ends[place + 1], {**phases, node.split: -1}))
            pending.append((place + 1, {**phases, node.split: 1}))


def _subtree_ends(tree: Tree) -> list[int]:
    """For every node in preorder, the place just after its subtree."""
    ends = [0] * len(tree)
    for place in range(len(tree) - 1, -1, -1):
        leaf = tree[place].split == LEAF
        ends[place] = place + 1 if leaf else ends[ends[place + 1]]
    return ends
