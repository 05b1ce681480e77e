"""Mixed-integer programmes over ReLU networks, and their solution by HiGHS or SCIP.

Each unstable unit gets a binary phase and big-M constraints from its interval (paper, A.1). Only
the solver's dual bound is meant to be used as a bound: it holds (up to the solver's tolerances)
even when the solver stops early, which an incumbent does not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import highspy
import numpy as np

from assay.bounds.relu_network import Bounds, Floats, ReluNetwork
from assay.optional_packages import missing_package

Solver = Literal["highs", "scip"]
INFINITY = float("inf")
SOLVER_TOLERANCE = 1e-9
SMALLEST_FACTOR = 1e-7
"""HiGHS takes smaller than 1e-9 for zero."""


@dataclass(frozen=True)
class MilpResult:
    """A lower bound of the minimum (infinite if infeasible), and the best input found."""

    lower: float
    point: Floats | None


@dataclass
class Programme:
    """Columns, rows and costs while they are gathered; the inputs are the first columns."""

    low: list[float]
    high: list[float]
    integers: list[int] = field(default_factory=list)
    rows: list[tuple[list[int], list[float], float, float]] = field(default_factory=list)
    cost: dict[int, float] = field(default_factory=dict)

    def column(self, low: float, high: float) -> int:
        self.low.append(low)
        self.high.append(high)
        return len(self.low) - 1

    def add_network(self, network: ReluNetwork, bounds: list[Bounds]) -> list[int | None]:
        """Encode all hidden layers; the columns of the last one, None for dead units."""
        previous: list[int | None] = list(range(network.weights[0].shape[1]))
        for weight, bias, (low, high) in zip(
            network.weights[:-1], network.biases[:-1], bounds, strict=True
        ):
            previous = [
                self._add_unit(row, b, lo, hi, previous)
                for row, b, lo, hi in zip(
                    weight, bias.tolist(), low.tolist(), high.tolist(), strict=True
                )
            ]
        return previous

    def _add_unit(
        self, row: Floats, bias: float, low: float, high: float, previous: list[int | None]
    ) -> int | None:
        if high <= 0:
            return None
        z = self.column(0.0, high)
        columns = [z, *(p for p in previous if p is not None)]
        factors = [1.0, *(-w for w, p in zip(row, previous, strict=True) if p is not None)]
        self.rows.append((columns, factors, bias, bias if low >= 0 else INFINITY))
        if low < 0:
            a = self.column(0.0, 1.0)
            self.integers.append(a)
            self.rows.append(([z, a], [1.0, -high], -INFINITY, 0.0))
            self.rows.append(([*columns, a], [*factors, -low], -INFINITY, bias - low))
        return z

    def is_well_scaled(self) -> bool:
        """Whether no number is so small or large that a solver drops it or loses it."""
        factors = [abs(f) for _, row, *_ in self.rows for f in row if f]
        factors += [abs(f) for f in self.cost.values() if f]
        sides = [abs(b) for *_, low, high in self.rows for b in (low, high) if abs(b) < INFINITY]
        largest = max([*factors, *sides, *map(abs, self.low), *map(abs, self.high)], default=0.0)
        return largest <= 1 / SMALLEST_FACTOR and min(factors, default=1.0) >= SMALLEST_FACTOR

    def solve(
        self, solver: Solver, inputs: int, nodes: int, seconds: float = INFINITY
    ) -> MilpResult:
        """Minimise the cost; stop after so many branch-and-bound nodes or seconds."""
        run = _solve_highs if solver == "highs" else _solve_scip
        return run(self, inputs, nodes, seconds)


def _solve_highs(programme: Programme, inputs: int, nodes: int, seconds: float) -> MilpResult:
    highs = highspy.Highs()
    highs.silent()
    for option, value in (
        ("threads", 1),
        ("mip_rel_gap", 0.0),
        ("mip_abs_gap", 1e-9),
        ("mip_feasibility_tolerance", SOLVER_TOLERANCE),
        ("primal_feasibility_tolerance", SOLVER_TOLERANCE),
        ("dual_feasibility_tolerance", SOLVER_TOLERANCE),
        ("mip_max_nodes", nodes),
        ("time_limit", seconds),
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
    for place, value in programme.cost.items():
        highs.changeColCost(place, value)
    count = len(programme.integers)
    kinds = np.array([highspy.HighsVarType.kInteger] * count)
    if count:
        highs.changeColsIntegrality(count, np.array(programme.integers, dtype=np.int32), kinds)
    highs.run()
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return MilpResult(INFINITY, None)
    information = highs.getInfo()
    found = information.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    point = np.asarray(highs.getSolution().col_value)[:inputs] if found else None
    if count:
        return MilpResult(float(information.mip_dual_bound), point)
    solved = status == highspy.HighsModelStatus.kOptimal
    return MilpResult(float(information.objective_function_value) if solved else -INFINITY, point)


def _solve_scip(programme: Programme, inputs: int, nodes: int, seconds: float) -> MilpResult:
    try:
        import pyscipopt
    except ImportError:
        raise missing_package("pyscipopt", "the solver 'scip'") from None
    model: Any = pyscipopt.Model()
    model.hideOutput()
    model.setParam("limits/nodes", nodes)
    model.setParam("limits/time", min(seconds, 1e20))
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
        if low > -INFINITY:
            model.addCons(total >= low)
        if high < INFINITY:
            model.addCons(total <= high)
    costs = (factor * columns[place] for place, factor in programme.cost.items())
    model.setObjective(pyscipopt.quicksum(costs), "minimize")
    model.optimize()
    if model.getStatus() == "infeasible":
        return MilpResult(INFINITY, None)
    point = None
    if model.getNSols():
        point = np.array([model.getVal(column) for column in columns[:inputs]])
    return MilpResult(float(model.getDualbound()), point)
