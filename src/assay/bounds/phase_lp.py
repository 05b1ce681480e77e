"""The triangle relaxation of a ReLU network as one HiGHS linear programme, re-solved warm.

Columns: the inputs, then for each hidden layer its pre-activations s and its activations z.
Rows for each hidden unit: s - W z = b (whose dual is the unit's multiplier), z - s >= 0, and the
chord above an unstable unit. Fixing a phase only moves bounds, so the simplex basis is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from assay.bounds.multipliers import Objective
from assay.bounds.relu_network import Bounds, Floats, ReluNetwork
from assay.errors import CannotCertify

Phases = dict[int, int]
_INFINITY = float("inf")


@dataclass(frozen=True)
class LpResult:
    """Multipliers worth trying, and the relaxed optimum (None where the phases are infeasible)."""

    multipliers: Floats
    point: Floats | None
    gaps: Floats


class PhaseLp:
    """min of an objective over the relaxation, under phases that can be changed."""

    def __init__(self, network: ReluNetwork, box: Bounds, bounds: list[Bounds], depth: int) -> None:
        self._widths = network.hidden[:depth]
        self._low = np.concatenate([low for low, _ in bounds[:depth]])
        self._high = np.concatenate([high for _, high in bounds[:depth]])
        self._inputs = len(box[0])
        units = len(self._low)
        self._units = units
        offsets = np.cumsum([0, *self._widths])
        flat = np.arange(units)
        layer = np.repeat(np.arange(depth), self._widths)
        start = self._inputs + 2 * offsets[layer]
        self._s = (start + flat - offsets[layer]).astype(np.int32)
        self._z = (self._s + np.asarray(self._widths)[layer]).astype(np.int32)
        self._phases: Phases = {}
        self._highs = highspy.Highs()
        self._highs.silent()
        for option, value in (
            ("threads", 1),
            ("presolve", "off"),
            ("solver", "simplex"),
            ("simplex_strategy", 1),
            ("dual_feasibility_tolerance", 1e-9),
        ):
            self._highs.setOptionValue(option, value)
        self._add_columns(box)
        self._add_rows(network, depth)
        self.unstable = np.flatnonzero((self._low < 0) & (self._high > 0))

    def _add_columns(self, box: Bounds) -> None:
        count = self._inputs + 2 * self._units
        low, high = np.zeros(count), np.zeros(count)
        low[: self._inputs], high[: self._inputs] = box
        low[self._s], high[self._s] = self._low, self._high
        high[self._z] = np.maximum(self._high, 0)
        self._highs.addVars(count, low, high)

    def _add_rows(self, network: ReluNetwork, depth: int) -> None:
        lower: list[float] = []
        upper: list[float] = []
        columns: list[Floats] = []
        values: list[Floats] = []
        previous = np.arange(self._inputs)
        unit = 0
        for level in range(depth):
            for row, bias in zip(network.weights[level], network.biases[level], strict=True):
                columns.append(np.concatenate([[self._s[unit]], previous]))
                values.append(np.concatenate([[1.0], -row]))
                lower.append(float(bias))
                upper.append(float(bias))
                unit += 1
            previous = self._z[unit - self._widths[level] : unit]
        for unit in range(self._units):
            columns.append(np.array([self._z[unit], self._s[unit]]))
            values.append(np.array([1.0, -1.0]))
            lower.append(0.0)
            upper.append(0.0 if self._low[unit] >= 0 else _INFINITY)
        for unit in range(self._units):
            low, high = self._low[unit], self._high[unit]
            slope = high / (high - low) if low < 0 < high else 0.0
            columns.append(np.array([self._z[unit], self._s[unit]]))
            values.append(np.array([1.0, -slope]))
            lower.append(-_INFINITY)
            upper.append(float(-slope * low) if low < 0 < high else _INFINITY)
        sizes = [len(c) for c in columns]
        status = self._highs.addRows(
            len(columns),
            np.array(lower),
            np.array(upper),
            sum(sizes),
            np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32),
            np.concatenate(columns).astype(np.int32),
            np.concatenate(values),
        )
        if status == highspy.HighsStatus.kError:
            raise CannotCertify(
                "the network's weights or biases are too large for a linear programme; scale them"
            )

    def minimise(self, objective: Objective) -> None:
        """Set the objective, which speaks of the last layer of this relaxation."""
        count = self._inputs + 2 * self._units
        cost = np.zeros(count)
        cost[self._z[self._units - self._widths[-1] :]] = objective.coefficients
        self._highs.changeColsCost(count, np.arange(count, dtype=np.int32), cost)

    def assume(self, phases: Phases) -> None:
        """Fix these phases (+1 active, -1 inactive) and free all others."""
        for unit in self._phases.keys() - phases.keys():
            self._set(unit, 0)
        for unit, phase in phases.items():
            if self._phases.get(unit) != phase:
                self._set(unit, phase)
        self._phases = dict(phases)

    def _set(self, unit: int, phase: int) -> None:
        low, high = float(self._low[unit]), float(self._high[unit])
        s, z, row = int(self._s[unit]), int(self._z[unit]), self._units + unit
        self._highs.changeColBounds(
            s, max(low, 0.0) if phase > 0 else low, min(high, 0.0) if phase < 0 else high
        )
        self._highs.changeColBounds(z, 0.0, 0.0 if phase < 0 else max(high, 0.0))
        equal = phase > 0 or low >= 0
        self._highs.changeRowBounds(row, 0.0, 0.0 if equal else _INFINITY)

    def solve(self) -> LpResult:
        self._highs.run()
        status = self._highs.getModelStatus()
        none = np.zeros(self._units)
        if status == highspy.HighsModelStatus.kInfeasible:
            _, found, ray = self._highs.getDualRay()
            multipliers = np.asarray(ray)[: self._units] if found else none
            return LpResult(multipliers, None, none)
        if status != highspy.HighsModelStatus.kOptimal:
            # numerical trouble: no multipliers, so the caller splits further
            self._highs.clearSolver()
            return LpResult(none, None, none)
        solution = self._highs.getSolution()
        duals = np.asarray(solution.row_dual)
        values = np.asarray(solution.col_value)
        s, z = values[self._s], values[self._z]
        chords = np.abs(duals[2 * self._units :])
        gaps = chords * np.maximum(z - np.maximum(s, 0), 0)
        return LpResult(duals[: self._units], values[: self._inputs], gaps)
