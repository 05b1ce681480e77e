"""The kernel's bound never exceeds the objective at a point that its phases allow."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from hypothesis import event, given, settings
from hypothesis import strategies as st
from small_claims import Layers, network, outputs, question

from assay.proof.chain import relu
from assay.proof.claim import Claim
from assay.proof.interval import preactivations
from assay.proof.kernel import Multipliers, Objective, Relaxation
from assay.proof.reader import read
from assay.proof.vnnlib import read as read_question

F = Fraction
small = st.integers(-16, 16).map(lambda n: n / 4)
ends = st.tuples(st.integers(-8, 8), st.integers(-8, 8)).map(sorted)


@st.composite
def networks(draw: st.DrawFn, most_hidden: int = 3) -> Layers:
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=most_hidden + 1))
    sizes = [*sizes, 2]
    return [
        (
            [[draw(small) for _ in range(fan_in)] for _ in range(units)],
            [draw(small) for _ in range(units)],
        )
        for fan_in, units in pairwise(sizes)
    ]


@st.composite
def claims(draw: st.DrawFn) -> tuple[Layers, list[list[int]], Claim]:
    layers = draw(networks())
    box = [draw(ends) for _ in layers[0][0][0]]
    text = question([(F(a), F(b)) for a, b in box], condition="(assert (<= Y_0 (* 2 Y_1)))")
    graph = read(network(layers).SerializeToString())
    return layers, box, Claim(read_question(text.encode()), graph, None)


def inside(draw: st.DrawFn, box: list[list[int]]) -> list[Fraction]:
    share = st.fractions(0, 1, max_denominator=8)
    return [a + (b - a) * draw(share) for a, b in box]


words = st.one_of(st.integers(-64, 64), st.integers(-(2**31), 2**31 - 1))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_multipliers_bound_the_objective_from_below(data: st.DataObject) -> None:
    layers, box, claim = data.draw(claims())
    hidden = claim.chain.hidden
    bounds = preactivations(claim.chain, claim.box)
    relaxation = Relaxation(hidden, claim.box, tuple(bounds[:-1]))
    count = sum(layer.units for layer in hidden)
    # small shifts meet sensible multipliers more often; large ones must not be wrong either
    shift = data.draw(st.one_of(st.integers(-3, 8), st.integers(-120, 120)))
    multipliers = Multipliers(shift, [data.draw(words) for _ in range(count)])
    split = data.draw(st.sets(st.integers(0, count - 1))) if count else set()
    (objective,) = claim.objectives()
    point = inside(data.draw, box)
    # the phases of the point itself, so that it lies in the leaf
    values, signs, vector = [], [], [F(v) for v in point]
    for layer, (weight, bias) in zip(hidden, layers, strict=False):
        values = [
            sum((F(w) * v for w, v in zip(row, vector, strict=True)), F(b))
            for row, b in zip(weight, bias, strict=True)
        ]
        signs += [
            1 if v > 0 else -1 if v < 0 else data.draw(st.sampled_from((1, -1))) for v in values
        ]
        vector = [max(v, F(0)) for v in values]
        assert len(values) == layer.units
    bound = relaxation.lower_bound(objective, multipliers, {u: signs[u] for u in split})
    first, second = outputs(layers, point)
    assert bound is not None
    assert bound <= first - 2 * second
    event(f"tight: {bound == first - 2 * second}")


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_intervals_hold_everywhere(data: st.DataObject) -> None:
    layers, box, claim = data.draw(claims())
    point = inside(data.draw, box)
    for depth, interval in enumerate(preactivations(claim.chain, claim.box), 1):
        found = outputs(layers[:depth], point)
        assert interval.lower.denominator == interval.upper.denominator
        lower, upper = interval.lower.fractions(), interval.upper.fractions()
        assert all(a <= v <= b for a, v, b in zip(lower, found, upper, strict=True))


def relaxed(low: int, high: int) -> tuple[Relaxation, Objective]:
    """y = 2 - relu(x) on [low, high]."""
    graph = read(network([([[1]], [0]), ([[-1], [0]], [2, 0])]).SerializeToString())
    claim = Claim(read_question(question([(low, high)]).encode()), graph, None)
    (objective,) = claim.objectives()
    bounds = preactivations(claim.chain, claim.box)
    return Relaxation(claim.chain.hidden, claim.box, tuple(bounds[:-1])), objective


def test_the_triangle_relaxation_is_reached() -> None:
    relaxation, objective = relaxed(-1, 1)
    # minus relu(x) is at least -(x + 1) / 2 on the triangle: the best slope is -1/2
    values = {w: relaxation.lower_bound(objective, Multipliers(2, [w]), {}) for w in range(-8, 9)}
    assert max(v for v in values.values() if v is not None) == values[-2] == 1
    assert relaxation.lower_bound(objective, Multipliers(-1, [0]), {}) == 1


def test_phases_sharpen_and_exclude() -> None:
    relaxation, objective = relaxed(-1, 1)
    assert relaxation.lower_bound(objective, Multipliers(0, [0]), {0: -1}) == 2
    assert relaxation.lower_bound(objective, Multipliers(0, [-1]), {0: 1}) == 1
    dead, objective = relaxed(-3, -1)
    assert dead.lower_bound(objective, Multipliers(0, [0]), {0: 1}) is None
    assert dead.lower_bound(objective, Multipliers(0, [0]), {0: -1}) == 2
    live, objective = relaxed(1, 3)
    assert live.lower_bound(objective, Multipliers(0, [0]), {0: -1}) is None
    assert live.lower_bound(objective, Multipliers(0, [-1]), {0: 1}) == -1
    edge, objective = relaxed(0, 2)
    assert edge.lower_bound(objective, Multipliers(0, [0]), {0: -1}) == 2


def test_relu_of_a_vector() -> None:
    relaxation, _ = relaxed(-1, 1)
    assert relu(relaxation.box.lower).fractions() == [0]
