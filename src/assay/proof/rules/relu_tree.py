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

from collections.abc import Iterator
from fractions import Fraction

from assay.proof.arithmetic import Rejected, Unsupported, Vector
from assay.proof.claim import Claim, Proof
from assay.proof.interval import Interval, preactivations
from assay.proof.kernel import Multipliers, Objective, Phases, Relaxation
from assay.proof.words import Words, one, take, words_of
from assay.proof.work import charge

_BOUND_BITS = 64
_LARGEST_SHIFT = 120
_DEEPEST_TREE = 1000


def prove(claim: Claim) -> Proof:
    arrays = claim.arrays or b""
    words = words_of(arrays)
    most = len(arrays) // 4
    relaxation = _tightened(claim, words, most)
    units = sum(layer.units for layer in claim.chain.hidden)
    margins: list[Fraction] = []
    for number, objective in enumerate(claim.objectives()):
        tree = take(words, one(words, 1, most))
        for leaf, phases in enumerate(_leaves(tree, units, number)):
            bound = relaxation.lower_bound(objective, _multipliers(words, units), phases)
            if bound is not None and bound <= 0:
                raise Rejected(f"leaf {leaf} of the tree for disjunct {number} is not refuted")
            margins += [] if bound is None else [bound]
    if next(words, None) is not None or not margins:
        raise Rejected("the certificate's arrays hold more than the trees need, or nothing")
    return Proof(min(margins), dict(enumerate(relaxation.bounds)))


def _multipliers(words: Words, count: int) -> Multipliers:
    return Multipliers(one(words, -_LARGEST_SHIFT, _LARGEST_SHIFT), take(words, count))


def _tightened(claim: Claim, words: Words, most: int) -> Relaxation:
    """The network with intervals for all hidden units, improved as the certificate says.

    Bounds are rounded outwards to multiples of 2^-64, to keep later integers short.
    """
    hidden = claim.chain.hidden
    lower, upper = [], []
    for interval in preactivations(claim.chain, claim.box)[:-1]:
        lower.append([_floor(n, interval.denominator) for n in interval.lower.numerators])
        upper.append([-_floor(-n, interval.denominator) for n in interval.upper.numerators])

    def relaxation(layers: int) -> Relaxation:
        ends = zip(lower[:layers], upper[:layers], strict=True)
        bounds = tuple(Interval.over(1 << _BOUND_BITS, low, high) for low, high in ends)
        return Relaxation(hidden[:layers], claim.box, bounds)

    for _ in range(one(words, 0, most)):
        layer = one(words, 1, len(hidden) - 1)
        unit, side = one(words, 0, hidden[layer].units - 1), one(words, 0, 1)
        own, sign = hidden[layer], -1 if side else 1
        objective = Objective(
            Vector(tuple(sign * w for w in own.rows[unit]), own.denominator),
            Fraction(sign * own.bias[unit], own.denominator),
        )
        before = sum(h.units for h in hidden[:layer])
        charge(50 * before)
        multipliers = _multipliers(words, before)
        bound = relaxation(layer).lower_bound(objective, multipliers, {})
        if bound is None:
            raise Rejected("the certificate's intervals contradict each other")
        value = _floor(bound.numerator, bound.denominator)
        if side == 0:
            lower[layer][unit] = max(lower[layer][unit], value)
        else:
            upper[layer][unit] = min(upper[layer][unit], -value)
    return relaxation(len(hidden))


def _floor(numerator: int, denominator: int) -> int:
    return (numerator << _BOUND_BITS) // denominator


def _leaves(tree: list[int], units: int, number: int) -> Iterator[Phases]:
    """The phases of every leaf of a complete preorder tree."""
    pending: list[Phases] = [{}]
    for word in tree:
        charge(10 * units)
        if not pending:
            raise Rejected(f"the tree for disjunct {number} goes on after its last leaf")
        phases = pending.pop()
        if word == -1:
            yield phases
            continue
        if not 0 <= word < units or word in phases:
            raise Rejected(f"the tree for disjunct {number} splits on {word}, no free unit")
        if len(phases) == _DEEPEST_TREE:
            raise Unsupported(f"the tree for disjunct {number} is deeper than {_DEEPEST_TREE}")
        pending.append({**phases, word: -1})
        pending.append({**phases, word: 1})
    if pending:
        raise Rejected(f"the tree for disjunct {number} lacks {len(pending)} subtrees")
