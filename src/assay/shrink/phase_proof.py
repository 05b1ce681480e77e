"""A tree of ReLU phases for any box and any violation of single inequalities.

The trees of `assay.bounds.phase_tree` prove that a label beats its rivals. An excess is put in that
form by another last layer: the label scores nothing, rival d minus the excess of disjunct d. The
hidden layers stay, so the certificate is one for the network itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain

import numpy as np

from assay.bounds.phase_tree import (
    BudgetSpent,
    CounterexampleFound,
    LeafUndecided,
    PhaseProof,
    Tree,
    TreeSearch,
    tighten,
)
from assay.bounds.relu_network import Floats, ReluNetwork
from assay.question.property import Violation
from assay.shrink.draft import Draft
from assay.shrink.steps import Elementwise, Flatten, Matrix, Steps

_NODES = 300
_CLOSENESS = 1e-3
"""The part of the margin at the point that every leaf should prove."""


def phase_proof(draft: Draft) -> bytes | None:
    """The arrays of a `relu_tree` certificate; None where there is none, or not in time."""
    case = draft.case
    layers = _layers(draft.steps)
    if layers is None or any(len(disjunct) != 1 for disjunct in case.violation.disjuncts):
        return None
    if len(layers) == 1:
        return _linear_proof(len(case.violation.disjuncts))
    network = _excess_network(layers, case.violation)
    box = _floats(case.box.lower), _floats(case.box.upper)
    rivals = range(1, len(case.violation.disjuncts) + 1)
    try:
        bounds, steps = tighten(network, box, network.interval_bounds(*box))
        search = TreeSearch(network, box, bounds, 0)
        nominal = float(network.margins(_floats(draft.point)[None], 0)[0])
        trees: list[Tree] = []
        for rival in rivals:
            left = _NODES - sum(map(len, trees))
            trees.append(search.prove(rival, _CLOSENESS * max(nominal, 0.0), left))
    except (CounterexampleFound, BudgetSpent, LeafUndecided):
        return None
    return PhaseProof(tuple(steps), tuple(trees)).packed()


def _linear_proof(disjuncts: int) -> bytes:
    """Without hidden layers a tree is one leaf, and there are no multipliers."""
    words = [0, *chain.from_iterable([1, -1, 0] for _ in range(disjuncts))]
    return np.asarray(words, dtype="<i4").tobytes()


def _layers(steps: Steps | None) -> list[Matrix] | None:
    """The matrices of an MLP of ReLUs; None for any other network."""
    if steps is None:
        return None
    items = [step for step in steps.items if not isinstance(step, Flatten)]
    matrices = [step for step in items[::2] if isinstance(step, Matrix)]
    activations = items[1::2]
    plain = all(step == Elementwise("Relu") for step in activations)
    if not plain or len(matrices) != len(activations) + 1:
        return None
    return matrices


def _excess_network(layers: Sequence[Matrix], violation: Violation) -> ReluNetwork:
    last = layers[-1]
    weight = np.zeros((len(violation.disjuncts) + 1, last.weight.shape[1]))
    bias = np.zeros(len(weight))
    for row, (inequality,) in enumerate(violation.disjuncts, 1):
        bias[row] = float(inequality.bound)
        for index, factor in inequality.terms:
            weight[row] -= float(factor) * last.weight[index]
            bias[row] -= float(factor) * float(last.offsets[index])
    hidden = layers[:-1]
    return ReluNetwork(
        (*(layer.weight.astype(np.float64) for layer in hidden), weight),
        (*(layer.offsets.astype(np.float64) for layer in hidden), bias),
    )


def _floats(values: Sequence[Fraction]) -> Floats:
    return np.array([float(v) for v in values])
