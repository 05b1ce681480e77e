"""Cells on which a network is affine, settled in rationals: ties of positive volume.

Linear bounds know an excess up to rounding, so where it is zero on a whole cell they never tell
which side of zero it is on. On a cell without an open unit the network is affine, and its values
at n + 1 points say in rationals what it is there: the range of every unit in front of its kink,
which must not hold zero inside, and the excess of every inequality. Ties violate.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import torch
from torch import Tensor

from assay.analyse.count.cells import Grid
from assay.analyse.count.shares import Planes, ShareRule
from assay.bounds.inequalities import inequality_rows
from assay.bounds.operators.affine import is_affine
from assay.bounds.operators.relaxation import KINKED
from assay.bounds.rounding import UNIT
from assay.errors import BadInput, Unsupported
from assay.question.exact import EXACT_OPERATORS, ExactFunction
from assay.question.network import Network
from assay.question.operators.call import Call
from assay.question.operators.rational import Rational
from assay.question.property import Case

_NOTHING_KNOWN = (0.0, 1.0)


class ExactCells:
    """Exact looks at the cells of one case; none where the network leaves the rationals."""

    def __init__(self, network: Network, case: Case, grid: Grid) -> None:
        self.network, self.case = network, case
        self.moving = grid.moving.tolist()
        self.rows = inequality_rows(case.violation)
        self.rule = ShareRule(case.violation, len(self.rows[0]))
        self.function = _exact_function(network)

    def share(self, corner: Tensor, size: Tensor) -> tuple[float, float]:
        """Bounds of the share of one cell [n] that violates."""
        points = self._points(corner.tolist(), size.tolist())
        outputs = None if self.function is None else self._affine_outputs(points)
        if outputs is None:
            return _NOTHING_KNOWN
        excesses = [[[i.excess(y) for y in outputs] for i in row] for row in self.rows]
        found = self.rule.shares(_planes(excesses))
        return float(found.must), float(found.may)

    def _points(self, corner: Sequence[float], size: Sequence[float]) -> list[list[Fraction]]:
        """The middle of the cell and, for every input that varies, the middle of one face."""
        lower, upper = self.case.box.lower, self.case.box.upper
        middle = list(lower)
        halves = {}
        for number, start, side in zip(self.moving, corner, size, strict=True):
            width = upper[number] - lower[number]
            halves[number] = width * Fraction(side) / 2
            middle[number] = lower[number] + width * Fraction(start) + halves[number]
        faces = [[*middle] for _ in halves]
        for face, (number, half) in zip(faces, halves.items(), strict=True):
            face[number] += half
        return [middle, *faces]

    def _affine_outputs(self, points: list[list[Fraction]]) -> list[list[Fraction]] | None:
        """The outputs at the points, or None where a unit is open on the cell."""
        assert self.function is not None
        seen: list[list[list[Fraction]]] = []
        outputs = []
        for point in points:
            kinks: list[list[Fraction]] = []

            def watch(call: Call[Rational], kinks: list[list[Fraction]] = kinks) -> None:
                if call.node.op_type in KINKED:
                    kinks.append(call.value(0).fractions())

            try:
                outputs.append(self.function(point, watch))
            except (BadInput, Unsupported):
                return None
            seen.append(kinks)
        for tensors in zip(*seen, strict=True):
            for values in zip(*tensors, strict=True):
                reach = sum(abs(value - values[0]) for value in values[1:])
                if abs(values[0]) < reach:
                    return None
        return outputs


def _exact_function(network: Network) -> ExactFunction | None:
    constants = network.initializers
    for node in network.nodes:
        read = [i for i, name in enumerate(node.inputs) if name and name not in constants]
        kinked = node.op_type in KINKED and read == [0]
        if node.op_type not in EXACT_OPERATORS or not (kinked or is_affine(node.op_type, read)):
            return None
    try:
        return ExactFunction(network)
    except Unsupported:
        return None


def _planes(excesses: list[list[list[Fraction]]]) -> Planes:
    """Exact affine functions from their values at the points; each scaled, then rounded once."""
    weights, offsets, slacks = [], [], []
    for values in (v for row in excesses for v in row):
        slopes = [value - values[0] for value in values[1:]]
        if abs(values[0]) >= sum(map(abs, slopes)):
            # Zero nowhere but in a corner, or everywhere: then it is a tie.
            weights.append([0.0] * len(slopes))
            offsets.append(1.0 if values[0] > 0 else -1.0)
            slacks.append(0.0)
            continue
        unit = max(map(abs, slopes))
        weights.append([float(slope / unit) for slope in slopes])
        offsets.append(float(values[0] / unit))
        slacks.append(8 * UNIT * len(slopes))
    shape = (1, len(excesses), len(excesses[0]))
    plane = torch.tensor(weights, dtype=torch.float64).reshape(*shape, -1)
    offset, slack = (
        torch.tensor(values, dtype=torch.float64).reshape(shape) for values in (offsets, slacks)
    )
    return Planes(plane, offset, plane, offset, slack)
