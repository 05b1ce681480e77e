"""The minimal l_inf radius of a misclassification as a mixed-integer programme (paper, A.1).

Big-M constants come from bounds valid inside a radius that is known to contain a violation.
Only the solver's dual bound is used: it is a lower bound of the radius (up to the solver's
tolerances) even when the solver stops early, which an incumbent is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import highspy
import numpy as np

from assay.bounds.relu_network import Bounds, Floats, ReluNetwork
from assay.errors import BadInput

Solver = Literal["highs", "scip"]
_INFINITY = float("inf")


@dataclass(frozen=True)
class MilpRadius:
    """A lower bound of the radius (infinite if no violation lies within the cut-off)."""

    lower: float
    point: Floats | None


@dataclass
class _Programme:
    """Columns and rows while they are gathered; column `objective` is minimised."""

    low: list[float]
    high: list[float]
    integers: list[int] = field(default_factory=list)
    rows: list[tuple[list[int], list[float], float, float]] = field(default_factory=list)
    objective: int = 0

    def column(self, low: float, high: float) -> int:
        self.low.append(low)
        self.high.append(high)
        return len(self.low) - 1


def minimal_radius(
    network: ReluNetwork,
    centre: Floats,
    label: int,
    rival: int,
    bounds: list[Bounds],
    cutoff: float,
    solver: Solver,
    nodes: int,
) -> MilpRadius:
    """Solve for one rival; `bounds` must hold within radius `cutoff` around the centre."""
    programme = _encode(network, centre, label, rival, bounds, cutoff)
    inputs = len(centre)
    if solver == "highs":
        return _solve_highs(programme, inputs, nodes)
    return _solve_scip(programme, inputs, nodes)


def _encode(
    network: ReluNetwork,
    centre: Floats,
    label: int,
    rival: int,
    bounds: list[Bounds],
    cutoff: float,
) -> _Programme:
    model = _Programme((centre - cutoff).tolist(), (centre + cutoff).tolist())
    model.objective = model.column(0.0, cutoff)
    for i, value in enumerate(centre.tolist()):
        model.rows.append(([i, model.objective], [1.0, -1.0], -_INFINITY, value))
        model.rows.append(([i, model.objective], [1.0, 1.0], value, _INFINITY))
    previous: list[int | None] = list(range(len(centre)))
    for weight, bias, (low, high) in zip(
        network.weights[:-1], network.biases[:-1], bounds, strict=True
    ):
        current: list[int | None] = []
        for row, b, lo, hi in zip(weight, bias.tolist(), low.tolist(), high.tolist(), strict=True):
            if hi <= 0:
                current.append(None)
                continue
            z = model.column(0.0, hi)
            current.append(z)
            columns = [z, *(p for p in previous if p is not None)]
            factors = [1.0, *(-w for w, p in zip(row, previous, strict=True) if p is not None)]
            model.rows.append((columns, factors, b, b if lo >= 0 else _INFINITY))
            if lo < 0:
                a = model.column(0.0, 1.0)
                model.integers.append(a)
                model.rows.append(([z, a], [1.0, -hi], -_INFINITY, 0.0))
                model.rows.append(([*columns, a], [*factors, -lo], -_INFINITY, b - lo))
        previous = current
    pull = network.weights[-1][rival] - network.weights[-1][label]
    kept = [(p, float(w)) for w, p in zip(pull, previous, strict=True) if p is not None]
    gap = float(network.biases[-1][label] - network.biases[-1][rival])
    model.rows.append(([p for p, _ in kept], [w for _, w in kept], gap, _INFINITY))
    return model


def _solve_highs(programme: _Programme, inputs: int, nodes: int) -> MilpRadius:
    highs = highspy.Highs()
    highs.silent()
    for option, value in (
        ("threads", 1),
        ("mip_rel_gap", 0.0),
        ("mip_abs_gap", 1e-9),
        ("mip_feasibility_tolerance", 1e-9),
        ("primal_feasibility_tolerance", 1e-9),
        ("mip_max_nodes", nodes),
    ):
        highs.setOptionValue(option, value)
    highs.addVars(len(programme.low), np.array(programme.low), np.array(programme.high))
    sizes = [len(columns) for columns, *_ in programme.rows]
    highs.addRows(
        len(sizes),
        np.array([low for *_, low, _ in programme.rows]),
        np.array([high for *_, high in programme.rows]),
        sum(sizes),
        np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32),
        np.concatenate([columns for columns, *_ in programme.rows]).astype(np.int32),
        np.concatenate([factors for _, factors, *_ in programme.rows]),
    )
    highs.changeColCost(programme.objective, 1.0)
    count = len(programme.integers)
    kinds = np.array([highspy.HighsVarType.kInteger] * count)
    if count:
        highs.changeColsIntegrality(count, np.array(programme.integers, dtype=np.int32), kinds)
    highs.run()
    if highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
        return MilpRadius(_INFINITY, None)
    information = highs.getInfo()
    found = information.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    point = np.asarray(highs.getSolution().col_value)[:inputs] if found else None
    lower = information.mip_dual_bound if count else information.objective_function_value
    return MilpRadius(float(lower), point)


def _solve_scip(programme: _Programme, inputs: int, nodes: int) -> MilpRadius:
    try:
        import pyscipopt
    except ImportError:
        raise BadInput(
            "solver 'scip' needs the package pyscipopt; install assay-robustness[scip]"
        ) from None
    model: Any = pyscipopt.Model()
    model.hideOutput()
    model.setParam("limits/nodes", nodes)
    model.setParam("limits/gap", 0.0)
    model.setParam("numerics/feastol", 1e-9)
    binary = set(programme.integers)
    columns = [
        model.addVar(lb=low, ub=high, vtype="B" if i in binary else "C")
        for i, (low, high) in enumerate(zip(programme.low, programme.high, strict=True))
    ]
    for places, factors, low, high in programme.rows:
        terms = zip(places, factors, strict=True)
        total = pyscipopt.quicksum(factor * columns[place] for place, factor in terms)
        if low > -_INFINITY:
            model.addCons(total >= low)
        if high < _INFINITY:
            model.addCons(total <= high)
    model.setObjective(columns[programme.objective], "minimize")
    model.optimize()
    if model.getStatus() == "infeasible":
        return MilpRadius(_INFINITY, None)
    point = None
    if model.getNSols():
        point = np.array([model.getVal(column) for column in columns[:inputs]])
    return MilpRadius(float(model.getDualbound()), point)
