"""Spoiled claims about residual networks: none that is false or unproved may pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import numpy as np
import onnx
import pytest
from mutation_campaign import Outcomes, assert_each_spoils, assert_none_is_empty, in_rounds, tally
from mutation_oracle import EXACT
from mutators import MUTATORS, Mutant, Mutator, signed
from onnx import helper, numpy_helper
from small_claims import Claimed, instances

SMALL = {"classes": 3, "width": 2, "depth": 2, "gamma": 1e-6, "epsilon": 0.1}
KNOBS: dict[str, dict[str, Any]] = {
    "line": {**SMALL, "inputs": 1, "depth": 3},
    "stem": {**SMALL, "inputs": 1, "features": 4, "head": "linear"},
    "dense": {**SMALL, "inputs": 1, "mixing": "dense", "width": 3},
    "plane": {**SMALL, "inputs": 2, "gamma": 0.01, "step": 1.5},
}
ROUNDS = 12


def block_scaled(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    """Both matrices of a block, or one, times a number: blocks may grow, or go uphill."""
    model = onnx.ModelProto.FromString(claim.onnx)
    arrays = {t.name: t for t in model.graph.initializer}
    inner, outer = draw.choice(blocks(model))
    factor = np.float32(draw.choice([-1, 0, 0.5, 0.75, 1 + 2**-12, 1.25, 2, 16]))
    for name in draw.choice([(inner,), (outer,), (inner, outer)]):
        values = numpy_helper.to_array(arrays[name]) * factor
        arrays[name].raw_data = values.astype(np.float32).tobytes()
    return signed(replace(claim, onnx=model.SerializeToString()))


def unit_scaled(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    """One unit's row, or column, times a number: its c becomes another one, or negative."""
    model = onnx.ModelProto.FromString(claim.onnx)
    arrays = {t.name: t for t in model.graph.initializer}
    inner, outer = draw.choice(blocks(model))
    name, axis = draw.choice([(inner, 0), (outer, 1)])
    values = numpy_helper.to_array(arrays[name]).copy()
    unit = draw.randrange(values.shape[axis])
    chosen = (unit,) if axis == 0 else (slice(None), unit)
    values[chosen] *= np.float32(draw.choice([-1, 0, 0.5, 0.75, 1.25, 2]))
    arrays[name].raw_data = values.tobytes()
    return signed(replace(claim, onnx=model.SerializeToString()))


def skip_changed(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    """Other wiring: what an Add adds, and what a block reads."""
    model = onnx.ModelProto.FromString(claim.onnx)
    graph = model.graph
    skips = [n for n in graph.node if n.op_type == "Add"]
    skip, made = draw.choice(skips), [graph.input[0].name, *(n.output[0] for n in graph.node)]
    after = list(graph.node)[list(graph.node).index(skip) + 1]

    def doubled() -> None:
        before, skip.output[0] = skip.output[0], "once"
        twice = helper.make_node("Add", ["once", skip.input[0]], [before])
        graph.node.insert(list(graph.node).index(skip) + 1, twice)

    changes = [
        lambda: skip.input.__setitem__(draw.randrange(2), draw.choice(made)),
        lambda: skip.input.reverse(),
        lambda: setattr(skip, "op_type", draw.choice(["Sub", "Mul", "Max", "Min"])),
        lambda: after.input.__setitem__(0, draw.choice(made)),
        lambda: skip.input.append(draw.choice(made)),
        lambda: skip.input.__setitem__(1, draw.choice([t.name for t in graph.initializer])),
        doubled,
    ]
    draw.choice(changes)()
    data = model.SerializeToString()
    return None if data == claim.onnx else signed(replace(claim, onnx=data))


def blocks(model: onnx.ModelProto) -> list[tuple[str, str]]:
    """The names of the two matrices of every block."""
    nodes = list(model.graph.node)
    places = [i for i, node in enumerate(nodes) if node.op_type == "Relu"]
    return [(nodes[i - 1].input[1], nodes[i + 1].input[1]) for i in places]


OWN: dict[str, Mutator] = {
    "block_scaled": block_scaled,
    "unit_scaled": unit_scaled,
    "skip_changed": skip_changed,
}


@cache
def base(name: str) -> tuple[Claimed, ...]:
    return tuple(Claimed.of(instance) for instance in instances("residual", **KNOBS[name]))


@cache
def outcomes_of(name: str) -> Outcomes:
    donors = (*base(name) * 2, *(claim for other in KNOBS for claim in base(other)))
    spoilers = in_rounds({**MUTATORS, **OWN}, ROUNDS, more=OWN)
    return tally(name, base(name), donors, spoilers, EXACT)


@pytest.mark.parametrize("name", KNOBS)
def test_the_originals_are_verified_and_true(name: str) -> None:
    assert EXACT.accepts_originals(base(name))


@pytest.mark.parametrize("name", KNOBS)
def test_no_wrong_mutant_passes(name: str) -> None:
    outcomes = outcomes_of(name)
    assert_none_is_empty(outcomes, broken=20, false=50, harmless=5)
    assert_each_spoils(outcomes, OWN)
