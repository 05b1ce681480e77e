"""Robust by exhaustion of ReLU phases: a binary tree whose leaves carry multipliers.

Layout of the arrays, 32-bit little-endian signed words, read once from front to back:

  T, then T tightenings: layer, unit, side (0 lower, 1 upper), shift, one multiplier for each
     hidden unit before that layer;
  for each disjunct: N, then N words of its tree in preorder (-1 a leaf, otherwise the flat index
     of the unit whose phase is split, the subtree with s >= 0 first), then for each leaf in the
     same order: shift, one multiplier for each hidden unit.

Why it proves: the first layer's intervals and plain interval arithmetic bound every unit; a
tightening improves one bound by `kernel`, from bounds already proved. A split covers the box
because every pre-activation is >= 0 or <= 0, so the leaves of a complete binary tree cover it
whatever the splits are. At each leaf `kernel` bounds the excess below by a positive number.
"""

from __future__ import annotations

from array import array
from dataclasses import replace
from fractions import Fraction
from sys import byteorder

from assay.proof.arithmetic import Rejected, Vector, floor_dyadic
from assay.proof.claim import Claim, Proof
from assay.proof.interval import Interval, preactivations
from assay.proof.kernel import Multipliers, Objective, Phases, Relaxation

_BATCH = 2048
_BOUND_BITS = 64
_LARGEST_SHIFT = 120


class _Words:
    """The arrays as a stream of words that must be used up exactly."""

    def __init__(self, data: bytes) -> None:
        if len(data) % 4:
            raise Rejected("the certificate's arrays are not whole words")
        self._words = array("i")
        self._words.frombytes(data)
        if byteorder == "big":
            self._words.byteswap()
        self._next = 0

    def take(self, count: int) -> array[int]:
        if not 0 <= count <= len(self._words) - self._next:
            raise Rejected("the certificate's arrays end too early")
        self._next += count
        return self._words[self._next - count : self._next]

    def one(self) -> int:
        return self.take(1)[0]

    def multipliers(self, count: int) -> Multipliers:
        shift = self.one()
        if abs(shift) > _LARGEST_SHIFT:
            raise Rejected("a multiplier's shift in the certificate is out of range")
        return Multipliers(shift, self.take(count).tolist())

    def finished(self) -> bool:
        return self._next == len(self._words)


def prove(claim: Claim) -> Proof:
    if claim.arrays is None:
        raise Rejected("a relu_tree certificate needs its arrays")
    words = _Words(claim.arrays)
    hidden = claim.chain.hidden
    units = sum(layer.units for layer in hidden)
    relaxation = _tightened(claim, words)
    margin: Fraction | None = None
    for number, objective in enumerate(claim.objectives()):
        tree = words.take(words.one())
        leaves = _leaves(tree.tolist(), units, number)
        for start in range(0, len(leaves), _BATCH):
            batch = [
                (words.multipliers(units), phases) for phases in leaves[start : start + _BATCH]
            ]
            for leaf, bound in enumerate(relaxation.lower_bounds(objective, batch), start):
                if bound is None:
                    continue
                if bound <= 0:
                    raise Rejected(f"leaf {leaf} of the tree for disjunct {number} is not refuted")
                margin = bound if margin is None else min(margin, bound)
    if not words.finished():
        raise Rejected("the certificate's arrays hold more than the trees need")
    if margin is None:
        raise Rejected("no leaf of the certificate speaks of any input")
    return Proof(margin, dict(enumerate(relaxation.bounds)))


def _tightened(claim: Claim, words: _Words) -> Relaxation:
    hidden = claim.chain.hidden
    bounds = _short(preactivations(claim.chain, claim.box)[:-1])
    for step in range(words.one()):
        layer, unit, side = words.take(3)
        if not (0 < layer < len(hidden) and 0 <= unit < hidden[layer].units and side in (0, 1)):
            raise Rejected(f"tightening {step} of the certificate names no unit of a later layer")
        below = Relaxation(hidden[:layer], claim.box, tuple(bounds[:layer]))
        sign = -1 if side else 1
        row, own = hidden[layer].rows[unit], hidden[layer]
        objective = Objective(
            Vector(tuple(sign * w for w in row), own.denominator),
            Fraction(sign * own.bias[unit], own.denominator),
        )
        multipliers = words.multipliers(sum(h.units for h in hidden[:layer]))
        (bound,) = below.lower_bounds(objective, [(multipliers, {})])
        if bound is not None:
            bounds[layer] = _improved(bounds[layer], unit, side, bound)
    return Relaxation(hidden, claim.box, tuple(bounds))


def _short(bounds: list[Interval]) -> list[Interval]:
    """The same bounds rounded outwards to multiples of 2^-64, to keep later integers short."""
    rounded = []
    for interval in bounds:
        lower = [floor_dyadic(value, _BOUND_BITS) for value in interval.lower.fractions()]
        upper = [-floor_dyadic(-value, _BOUND_BITS) for value in interval.upper.fractions()]
        one = 1 << _BOUND_BITS
        rounded.append(
            Interval(
                Vector(tuple(int(v * one) for v in lower), one),
                Vector(tuple(int(v * one) for v in upper), one),
            )
        )
    return rounded


def _improved(interval: Interval, unit: int, side: int, bound: Fraction) -> Interval:
    """The interval with one end moved inwards to `bound`, which is -bound for an upper end."""
    value = floor_dyadic(bound, _BOUND_BITS) * interval.denominator
    lower, upper = list(interval.lower.numerators), list(interval.upper.numerators)
    if side == 0:
        lower[unit] = max(lower[unit], int(value))
    else:
        upper[unit] = min(upper[unit], -int(value))
    return replace(
        interval,
        lower=Vector(tuple(lower), interval.denominator),
        upper=Vector(tuple(upper), interval.denominator),
    )


def _leaves(tree: list[int], units: int, number: int) -> list[Phases]:
    """The phases of every leaf of a complete preorder tree."""
    leaves: list[Phases] = []
    pending: list[Phases] = [{}]
    for word in tree:
        if not pending:
            raise Rejected(f"the tree for disjunct {number} goes on after its last leaf")
        phases = pending.pop()
        if word == -1:
            leaves.append(phases)
            continue
        if not 0 <= word < units or word in phases:
            raise Rejected(
                f"the tree for disjunct {number} splits on {word}, which is no free unit"
            )
        pending.append({**phases, word: -1})
        pending.append({**phases, word: 1})
    if pending:
        raise Rejected(f"the tree for disjunct {number} lacks {len(pending)} subtrees")
    return leaves
