"""Spoiled claims about polynomial networks: none that is false or unproved may pass."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutation_campaign import Oracle, assert_none_is_empty, in_rounds, spoiled_again, tally
from mutators import MUTATORS, SHARED, Mutant, Mutator, signed
from onnx import helper, numpy_helper
from polynomial_oracle import holds, margin_of
from small_claims import Claimed

from assay.question.network import load
from assay.question.runtime import FloatRunner
from assay.truth.families import family

SPLIT = {"push": 0.25, "delta": 0.01, "bias": 0.5, "draw": "plain", "leaves": 64}
KNOBS: dict[str, tuple[dict[str, Any], int]] = {
    "line": ({"inputs": 1, "hidden": 4, "degree": 3}, 0),
    "line-even": ({"inputs": 1, "hidden": 6, "degree": 6, "delta": 1e-4}, 0),
    "line-products": ({"inputs": 1, "hidden": 5, "degree": 5, "operator": "mul"}, 0),
    "line-tree": ({"inputs": 1, "hidden": 4, "degree": 5, **SPLIT}, 8),
    "line-tree-even": ({"inputs": 1, "hidden": 4, "degree": 4, **SPLIT}, 0),
    "plane": ({"inputs": 2, "hidden": 8, "degree": 3, "delta": 1e-6, "overlap": 0}, 0),
}
ROUNDS = 15


def power_changed(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    """Another exponent, another operator, or other factors."""
    model = onnx.ModelProto.FromString(claim.onnx)
    graph = model.graph
    nodes = [n for n in graph.node if n.op_type in ("Pow", "Mul")]
    node = draw.choice(nodes)
    made = [graph.input[0].name, *(n.output[0] for n in graph.node)]

    def exponent() -> None:
        (constant,) = (t for t in graph.initializer if t.name == nodes[0].input[1])
        value = draw.choice([0, 1, -1, 2, 3, 4, 5, 2.5, np.nan, 1000])
        constant.CopyFrom(numpy_helper.from_array(np.array(value, np.float32), constant.name))

    def rewired() -> None:
        node.input[draw.randrange(2)] = draw.choice(made)

    def operator() -> None:
        node.op_type = draw.choice(["Pow", "Mul", "Add", "Sub", "Div", "Relu", "Max"])

    def squared() -> None:
        last = graph.node[len(graph.node) - 1]
        before, last.input[0] = last.input[0], "squared"
        graph.node.insert(
            len(graph.node) - 1, helper.make_node("Mul", [before, before], ["squared"])
        )

    draw.choice([exponent, rewired, operator, squared])()
    data = model.SerializeToString()
    return None if data == claim.onnx else signed(replace(claim, onnx=data))


def words_changed(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    """Other multipliers and splits: the proof may still hold, and then the claim is true."""
    if claim.arrays is None:
        return signed(replace(claim, arrays=struct.pack("<i", draw.choice([-1, 0, 1]))))
    words = list(struct.unpack(f"<{len(claim.arrays) // 4}i", claim.arrays))
    at = draw.choice([draw.randrange(len(words)), draw.randrange(1, 1 + words[0])])
    words[at] = draw.choice(
        [-1, 0, 1, 2, words[at] + 1, words[at] - 1, -words[at] - 1, 2**31 - 1, -(2**31)]
    )
    return signed(replace(claim, arrays=struct.pack(f"<{len(words)}i", *words)))


def tree_cut(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    """A tree that does not cover the box, or words that are missing or left over."""
    if claim.arrays is None:
        return None
    words = list(struct.unpack(f"<{len(claim.arrays) // 4}i", claim.arrays))
    size, tree = words[0], words[1 : 1 + words[0]]
    leaves = words[1 + size :]
    own = len(leaves) // tree.count(-1)
    changed = draw.choice(
        [
            [size, *tree, *leaves[:-own]],
            [size - 1, *tree[:-1], *leaves[:-own]],
            [size - 1, *tree[1:], *leaves],
            [size + 1, *tree, -1, *leaves, *leaves[-own:]],
            [*words, 0],
            words[:-1],
            [],
        ]
    )
    return Mutant(
        replace(claim, arrays=struct.pack(f"<{len(changed)}i", *changed)).signed(), broken=True
    )


OWN: dict[str, Mutator] = {
    "power_changed": power_changed,
    "words_changed": words_changed,
    "tree_cut": tree_cut,
}


@cache
def base(name: str) -> tuple[Claimed, ...]:
    knobs, seed = KNOBS[name]
    constructor = family("polynomial")
    made = constructor.make(constructor.knobs.model_validate(knobs), seed)
    return tuple(map(Claimed.of, made))


@cache
def donors() -> tuple[Claimed, ...]:
    return tuple(claim for name in KNOBS for claim in base(name))


def float32_agrees(claim: Claimed) -> bool:
    asked = margin_of(claim)
    assert asked is not None
    case = asked[0]
    low, high = (np.array([float(v) for v in s]) for s in (case.box.lower, case.box.upper))
    if claim.truth["answer"] == "robust":
        shares = np.linspace(0, 1, 101)[:, None]
        points = low + shares * (high - low)
    else:
        points = np.array([[float(text) for text in claim.truth["witness"]]])
    outputs = FloatRunner(load(claim.onnx, "mutant")).run(points.astype(np.float32))
    wrong = [case.violation.margin([Fraction(float(v)) for v in row]) <= 0 for row in outputs]
    return not any(wrong) if claim.truth["answer"] == "robust" else all(wrong)


POLYNOMIALS = Oracle(holds, float32_agrees)
SPOILERS = {**{kind: MUTATORS[kind] for kind in SHARED}, **OWN}


@pytest.mark.parametrize("name", KNOBS)
def test_the_originals_are_verified_and_true(name: str) -> None:
    assert POLYNOMIALS.accepts_originals(base(name))
    assert (base(name)[0].arrays is not None) == ("tree" in name)


@pytest.mark.parametrize("name", KNOBS)
def test_no_wrong_mutant_passes(name: str) -> None:
    found = tally(name, base(name), donors(), in_rounds(SPOILERS, ROUNDS), POLYNOMIALS)
    assert_none_is_empty(found, broken=30, false=60, harmless=5)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(KNOBS)),
    st.lists(st.sampled_from((*SHARED, *OWN)), min_size=1, max_size=2),
    st.integers(0, 2**32),
    st.booleans(),
)
def test_generated_mutants_and_mutants_of_mutants(
    name: str, kinds: list[str], seed: int, last: bool
) -> None:
    claim = base(name)[-1 if last else 0]
    POLYNOMIALS.judge(spoiled_again(claim, kinds, SPOILERS, Random(seed), donors()))
