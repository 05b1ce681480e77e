"""A complete verifier for MLPs: the violation as a mixed-integer programme in HiGHS.

`violated` is said only of an input that violates in exact rationals. `robust` rests on the
solver's dual bound: it is said only when that clears the solver's tolerances ten times over, for
programmes whose numbers are of moderate size. It is no proof, and no label of ours rests on it.
"""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np

from assay.bounds.phase_tree import tighten
from assay.bounds.relu_milp import INFINITY, SOLVER_TOLERANCE, Programme
from assay.bounds.relu_network import Bounds, ReluNetwork
from assay.judge.task import Answer
from assay.question.directed import float_above, float_below
from assay.question.exact import ExactFunction
from assay.question.mlp_layers import mlp_layers
from assay.question.network import Network
from assay.question.property import Case, Inequality, Specification
from assay.question.vnnlib import decimal

TOLERANCE = 1e-6
_TIMES_OVER = 10
_NODES = 10_000_000


def answer(network: Network, specification: Specification, seconds: float) -> Answer:
    deadline = time.monotonic() + 0.9 * seconds
    relu = ReluNetwork.of(mlp_layers(network))
    exact = ExactFunction(network)
    sure = True
    for case in specification.cases:
        box = (
            np.array([float_below(v) for v in case.box.lower]),
            np.array([float_above(v) for v in case.box.upper]),
        )
        if not all(np.isfinite(end).all() for end in box):
            sure = False
            continue
        bounds, _ = tighten(relu, box, relu.interval_bounds(*box))
        for disjunct in case.violation.disjuncts:
            excess, point = _least_excess(relu, box, bounds, disjunct, deadline)
            witness = None if point is None else _inside(case, point)
            if witness is not None and case.violation.margin(exact(witness)) <= 0:
                return Answer("violated", tuple(decimal(v) for v in witness))
            sure = sure and excess > 0
    return Answer("robust" if sure else "unknown")


def _least_excess(
    network: ReluNetwork,
    box: Bounds,
    bounds: list[Bounds],
    disjunct: tuple[Inequality, ...],
    deadline: float,
) -> tuple[float, np.ndarray | None]:
    """How far the first inequality's excess clears the tolerances where all others hold.

    Minus infinity where the solver's numbers cannot be trusted; and the best input found.
    """
    model = Programme(box[0].tolist(), box[1].tolist())
    last = model.add_network(network, bounds)
    constant = 0.0
    for number, inequality in enumerate(disjunct):
        pull = np.zeros(len(network.biases[-1]))
        for index, factor in inequality.terms:
            pull[index] = float(factor)
        slope = pull @ network.weights[-1]
        offset = float(pull @ network.biases[-1]) - float(inequality.bound)
        kept = [(p, float(w)) for w, p in zip(slope, last, strict=True) if p is not None]
        if number == 0:
            model.cost, constant = dict(kept), offset
        else:
            columns, factors = [p for p, _ in kept], [w for _, w in kept]
            # Wider by the tolerance, so that what only just excludes each other is not excluded.
            model.rows.append((columns, factors, -INFINITY, TOLERANCE - offset))
    result = model.solve("highs", len(box[0]), _NODES, max(deadline - time.monotonic(), 0.01))
    # A reduced cost may be off by the solver's tolerance, for every column over its whole range.
    ranges = sum(high - low for low, high in zip(model.low, model.high, strict=True))
    tolerance = TOLERANCE + _TIMES_OVER * SOLVER_TOLERANCE * ranges
    trusted = model.is_well_scaled()
    return (result.lower + constant - tolerance if trusted else -INFINITY), result.point


def _inside(case: Case, point: np.ndarray) -> list[Fraction]:
    """The point moved exactly into the box."""
    ends = zip(case.box.lower, point.tolist(), case.box.upper, strict=True)
    return [min(max(Fraction(value), low), high) for low, value, high in ends]
