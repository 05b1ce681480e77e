"""Search for a tree of halved hidden ranges that proves a polynomial positive on a box.

`assay.proof.rules.polynomial` states the bound of a leaf. Good multipliers are the slopes of the
units' convex envelopes at the point where the sum of envelopes is least: that point is sought by
projected gradients in floats, ranges are kept by a penalty. What counts is the exact bound.
"""

from __future__ import annotations

import struct
from math import frexp

import numpy as np
from numpy.typing import NDArray

from assay.proof.monotone import RANGE_BITS, Ends, Separation
from assay.proof.rules.polynomial import halves, leaf_bound

_STEPS = 300
_PENALTY = 4.0
_DEEPEST = 150

_Floats = NDArray[np.float64]


def range_tree(faces: list[Separation], most: int) -> bytes | None:
    """The arrays of a certificate with at most so many leaves, or None if none was found."""
    words: list[int] = []
    for left in faces:
        found = _Search(left).tree(most)
        if found is None:
            return None
        tree, leaves = found
        words += [len(tree), *tree, *leaves]
    return struct.pack(f"<{len(words)}i", *words)


class _Search:
    """The polynomial in floats, on the box that the monotone reduction left."""

    def __init__(self, left: Separation) -> None:
        self.left = left
        box, scale, free = left.box, left.first.denominator, left.free
        low, high = box.lower.fractions(), box.upper.fractions()
        # frozen coordinates are part of the offset
        start = left.first.at(box.lower).fractions()
        self.weights = np.array([[row[i] / scale for i in free] for row in left.first.rows])
        self.offset = np.array([float(v) for v in start])
        self.widths = np.array([float(high[i] - low[i]) for i in free])
        coefficients = left.objective.coefficients
        self.factors = np.array([c / coefficients.denominator for c in coefficients.numerators])

    def tree(self, most: int) -> tuple[list[int], list[int]] | None:
        """The words of a complete tree and of its leaves."""
        tree: list[int] = []
        leaves: list[int] = []
        pending, count = [(self.left.ranges, 0)], 1
        while pending:
            ranges, depth = pending.pop()
            multipliers, widest = self._multipliers(ranges)
            shift = min(max(30 - frexp(float(np.abs(multipliers).max()))[1], -120), 120)
            words = [int(w) for w in np.rint(np.ldexp(multipliers, shift))]
            if leaf_bound(self.left, ranges, shift, words) > 0:
                tree.append(-1)
                leaves += [shift, *words]
                continue
            count += 1
            if count > most or depth == _DEEPEST:
                return None
            tree.append(widest)
            for half in reversed(halves(ranges[widest])):
                pending.append(([*ranges[:widest], half, *ranges[widest + 1 :]], depth + 1))
        return tree, leaves

    def _multipliers(self, ranges: list[Ends]) -> tuple[_Floats, int]:
        """Slopes of the envelopes at their least sum, and the unit that is farthest above."""
        low, high = np.ldexp(np.array(ranges, dtype=np.float64), -RANGE_BITS).T
        degree, c = self.left.degree, self.factors
        side = np.ones_like(c) if degree % 2 == 0 else np.sign(low + high)
        bent = (c * side > 0) & ((degree % 2 == 0) | (low * high >= 0))
        width = np.maximum(high - low, 1e-300)
        chord = c * (high**degree - low**degree) / width
        steep = np.maximum(np.abs(low), np.abs(high)) ** (degree - 2)
        curve = np.abs(c) * degree * (degree - 1) * steep
        penalty = _PENALTY * (np.abs(chord) / width + curve)

        def slopes(z: _Floats) -> _Floats:
            inside = np.clip(z, low, high)
            plain = np.where(bent, c * degree * inside ** (degree - 1), chord)
            result: _Floats = plain + penalty * (z - inside)
            return result

        # each step is scaled by a bound of the curvature in its own coordinate
        sizes = np.abs(self.weights)
        bound = _times(sizes.T, (np.where(bent, curve, 0) + penalty) * sizes.sum(axis=1))
        x = best = self.widths * 0
        momentum = 1.0
        for _ in range(_STEPS):
            z = self.offset + _times(self.weights, best)
            after = np.clip(best - _times(self.weights.T, slopes(z)) / bound, 0, self.widths)
            grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            best, x, momentum = after + (momentum - 1) / grown * (after - x), after, grown
        z = self.offset + _times(self.weights, x)
        inside = np.clip(z, low, high)
        envelope = np.where(bent, c * inside**degree, c * low**degree + chord * (inside - low))
        gap = np.where(low * high < 0, width * np.abs(chord), 0) * (degree % 2)
        gap = gap + np.abs(c * inside**degree - envelope)
        return slopes(z), int(gap.argmax())


def _times(matrix: _Floats, vector: _Floats) -> _Floats:
    """A product whose bits do not depend on the number of threads, as those of `@` do."""
    product: _Floats = np.einsum("ij,j->i", matrix, vector)
    return product
