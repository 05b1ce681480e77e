"""The minimal l_inf radius of a misclassification as a mixed-integer programme (paper, A.1).

Big-M constants come from bounds valid inside a radius that is known to contain a violation.
"""

from __future__ import annotations

from assay.bounds.relu_milp import INFINITY, MilpResult, Programme, Solver
from assay.bounds.relu_network import Bounds, Floats, ReluNetwork


def minimal_radius(
    network: ReluNetwork,
    centre: Floats,
    label: int,
    rival: int,
    bounds: list[Bounds],
    cutoff: float,
    solver: Solver,
    nodes: int,
) -> MilpResult:
    """Solve for one rival; `bounds` must hold within radius `cutoff` around the centre."""
    model = Programme((centre - cutoff).tolist(), (centre + cutoff).tolist())
    radius = model.column(0.0, cutoff)
    model.cost = {radius: 1.0}
    for i, value in enumerate(centre.tolist()):
        model.rows.append(([i, radius], [1.0, -1.0], -INFINITY, value))
        model.rows.append(([i, radius], [1.0, 1.0], value, INFINITY))
    last = model.add_network(network, bounds)
    pull = network.weights[-1][rival] - network.weights[-1][label]
    kept = [(p, float(w)) for w, p in zip(pull, last, strict=True) if p is not None]
    gap = float(network.biases[-1][label] - network.biases[-1][rival])
    model.rows.append(([p for p, _ in kept], [w for _, w in kept], gap, INFINITY))
    return model.solve(solver, len(centre), nodes)
