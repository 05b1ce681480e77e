"""A violation's inequalities as float64 tensors, with what the conversion may have lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor

from assay.bounds.rounding import TINY, below, gamma
from assay.question.directed import float_above, float_below
from assay.question.property import Inequality, Violation


@dataclass(frozen=True, eq=False)
class Excesses:
    """Row k of disjunct d: coefficients [D, K, outputs] times outputs minus thresholds [D, K].

    A disjunct of several inequalities gets their mean as well: where they exclude each other only
    that is positive, and it is never above the largest. Shorter disjuncts repeat their first.
    `residues` bounds what the coefficients lost in float64; thresholds are rounded up, so a
    positive lower bound here is one there.
    """

    coefficients: Tensor
    thresholds: Tensor
    residues: Tensor

    @classmethod
    def of(cls, violation: Violation, device: torch.device | None = None) -> Excesses:
        rows = inequality_rows(violation)
        shape = (len(rows), len(rows[0]), violation.outputs)
        coefficients = torch.zeros(shape, dtype=torch.float64)
        residues = torch.zeros(shape, dtype=torch.float64)
        thresholds = torch.zeros(shape[:2], dtype=torch.float64)
        for d, row in enumerate(rows):
            for k, inequality in enumerate(row):
                _fill(inequality, coefficients[d, k], residues[d, k])
                thresholds[d, k] = float_above(inequality.bound)
        return cls(coefficients.to(device), thresholds.to(device), residues.to(device))

    def at(self, outputs: Tensor) -> Tensor:
        """Roughly the excesses [N, D, K] at outputs [N, outputs]."""
        return torch.einsum("no,dko->ndk", outputs, self.coefficients) - self.thresholds

    def floors(self, bounds: Tensor, disjuncts: Tensor, sizes: Tensor) -> Tensor:
        """Lower bounds [B] of a disjunct's largest excess.

        From lower bounds [B, K] of its rows' linear parts and sizes [B, outputs] of the outputs.
        """
        residues = self.residues[disjuncts]
        lost = (residues @ sizes.unsqueeze(2)).squeeze(2) * (1 + gamma(sizes.shape[1] + 8)) + TINY
        lost = torch.where((residues == 0).all(2), 0.0, lost)
        return below(below(bounds - self.thresholds[disjuncts]) - lost).amax(1)


def inequality_rows(violation: Violation) -> list[list[Inequality]]:
    """The rows of `Excesses`, exactly: K of them for each of D disjuncts."""
    wanted = [
        [*disjunct, *([_mean(disjunct)] if len(disjunct) > 1 else [])]
        for disjunct in violation.disjuncts
    ]
    width = max(map(len, wanted))
    return [[*row, *(row[0] for _ in range(width - len(row)))] for row in wanted]


def _mean(disjunct: Sequence[Inequality]) -> Inequality:
    """What follows when all of them hold."""
    total: dict[int, Fraction] = {}
    for inequality in disjunct:
        for index, factor in inequality.terms:
            total[index] = total.get(index, Fraction(0)) + factor / len(disjunct)
    terms = tuple((index, factor) for index, factor in sorted(total.items()) if factor)
    return Inequality(terms, sum(i.bound for i in disjunct) / Fraction(len(disjunct)))


def _fill(inequality: Inequality, coefficients: Tensor, residues: Tensor) -> None:
    for index, exact in inequality.terms:
        nearest = float_below(exact)
        coefficients[index] = nearest
        if nearest != exact:
            # The exact coefficient lies between two neighbouring floats.
            residues[index] = float_above(abs(exact)) * 2.0**-52 + TINY
