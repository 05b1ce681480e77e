"""The share of a box that violates: exact against areas in the plane; locks against trickery."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutation_oracle import asked
from onnx import ModelProto, NodeProto, helper
from plane_oracle import analysed
from small_claims import Claimed, claimed

from assay.proof import reader, vnnlib
from assay.proof.arithmetic import Rejected, Unsupported
from assay.proof.claim import Claim
from assay.proof.rules import planted
from assay.proof.violating_share import violating_share
from assay.question import vnnlib as question_vnnlib
from assay.question.exact import evaluate
from assay.question.graph import GraphBuilder, chain
from assay.question.network import load
from assay.question.property import Violation
from assay.question.region import Box

Rows = Sequence[Sequence[float]]
eighths = st.integers(-16, 16).map(lambda n: n / 8)
positive = st.integers(1, 16).map(lambda n: n / 8)


def bump(rows: Rows, biases: Sequence[float], charges: Sequence[float], top: float) -> Claimed:
    """f_0 - f_1 = 1 - 2 relu(top - charges · relu(rows x + biases)) on the box [-1, 1]^2."""
    hidden = np.array(rows, np.float32), np.array(biases, np.float32)
    unit = -np.array([charges], np.float32), np.array([top], np.float32)
    last = np.array([[0], [2]], np.float32), np.array([1, 0], np.float32)
    side = (Fraction(1),) * len(rows[0])
    box = Box(tuple(-v for v in side), side)
    text = question_vnnlib.write(box, Violation.misclassification(0, 2))
    return claimed(chain([hidden, unit, last]), text)


def share(claim: Claimed) -> tuple[Fraction, Fraction]:
    return violating_share(Claim(vnnlib.read(claim.vnnlib), reader.read(claim.onnx), None))


def agrees_with_the_area(claim: Claimed) -> None:
    question = asked(claim)
    assert question is not None
    least, violating = analysed(question)
    try:
        assert share(claim) == (violating, violating)
    except Unsupported:
        assert least > 0 or violating == 1


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([(1, 0), (-1, 0), (0, 1), (0, -1)]), eighths, eighths),
        min_size=1,
        max_size=6,
    ),
    st.integers(-8, 40),
)
def test_any_functions_of_single_inputs(
    hinges: list[tuple[tuple[int, int], float, float]], top: int
) -> None:
    """Cut by faces or not, rising or falling, with flat parts at any height."""
    rows, biases, charges = zip(*hinges, strict=True)
    agrees_with_the_area(bump(rows, biases, charges, top / 16))


def dense(claim: Claimed) -> bool:
    """Whether the checker measures it; then the share must be the area."""
    question = asked(claim)
    assert question is not None
    try:
        found = share(claim)
    except Unsupported:
        return False
    assert found == (analysed(question)[1],) * 2
    return True


@settings(max_examples=150, deadline=None)
@given(
    st.tuples(eighths, eighths, eighths, eighths).filter(lambda m: m[0] * m[3] != m[1] * m[2]),
    st.tuples(eighths, eighths),
    st.lists(positive, min_size=4, max_size=4),
    st.integers(1, 8),
)
def test_rotated_boxes(
    matrix: tuple[float, ...], middle: tuple[float, float], charges: list[float], level: int
) -> None:
    rows = [matrix[:2], matrix[2:]]
    offsets = [-(row[0] * middle[0] + row[1] * middle[1]) / 4 for row in rows]
    opposite = [[-w for w in row] for row in rows]
    biases = [*(o - 0.125 for o in offsets), *(-o - 0.25 for o in offsets)]
    dense(bump([*rows, *opposite], biases, charges, 0.5 + level / 64))


@settings(max_examples=150, deadline=None)
@given(
    st.tuples(eighths, eighths, eighths, eighths).filter(lambda m: m[0] * m[3] != m[1] * m[2]),
    st.lists(st.integers(-2, 6).map(lambda n: -n / 16), min_size=3, max_size=3),
    st.lists(st.sampled_from([0.5, 1, 2]), min_size=3, max_size=3),
    st.integers(1, 8),
    st.booleans(),
)
def test_simplices(
    matrix: tuple[float, ...], biases: list[float], scales: list[float], level: int, closed: bool
) -> None:
    last = [-matrix[0] - matrix[2], -matrix[1] - matrix[3] + (0 if closed else 0.125)]
    rows = [
        [w * s for w in row] for row, s in zip((matrix[:2], matrix[2:], last), scales, strict=True)
    ]
    offsets = [b * s for b, s in zip(biases, scales, strict=True)]
    measured = dense(bump(rows, offsets, [1 / s for s in scales], 0.5 + level / 64))
    # rows that read one input each are functions of single inputs, which are measured as such
    separable = all(0 in row for row in rows)
    assert closed or separable or not measured


def test_known_sets_are_measured() -> None:
    corner = [(1, 1), (-1, 1), (-1, -1), (1, -1)]
    assert dense(bump(corner, [-0.25] * 4, [1, 2, 1, 2], 0.75))
    assert dense(bump([(2, 1), (-1, 1), (-1, -2)], [-0.25] * 3, [1, 1, 1], 0.75))
    assert not dense(bump(corner, [-1.5] * 4, [1, 1, 1, 1], 0.75)), "cut by the faces"


CROSS = [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)]
TRIANGLE_ROWS = [(2.0, 1.0), (-1.0, 1.0), (-1.0, -2.0)]


def capped(
    rows: Rows, caps: Sequence[float], *, weight: float = 1, turned: float = 0, scale: float = 1
) -> Claimed:
    """Hinges from 1/4 on, at a level of 1/4; caps read the rows, `turned` and scaled."""
    count = len(rows)
    later = [((a + turned) * scale, b * scale) for a, b in rows]
    biases = [-0.25] * count + [(-0.25 - cap) * scale for cap in caps]
    charges = [1.0] * count + [-weight / scale] * count
    return bump([*rows, *later], biases, charges, 0.75)


@pytest.mark.parametrize("rows", [CROSS, TRIANGLE_ROWS])
def test_hinges_capped_above_the_level_are_measured(rows: Rows) -> None:
    plain = share(bump(rows, [-0.25] * len(rows), [1.0] * len(rows), 0.75))
    for caps in ([0.375] * len(rows), [0.2500001, 1.5, *[0.5] * (len(rows) - 2)]):
        for scale in (1, 0.25, 4):
            claim = capped(rows, caps, scale=scale)
            assert dense(claim)
            assert share(claim) == plain


@pytest.mark.parametrize("rows", [CROSS, TRIANGLE_ROWS])
def test_spoiled_caps_are_not_measured(rows: Rows) -> None:
    rest = [0.5] * (len(rows) - 1)
    for low in (0.25, 0.125, 2.0**-20, -0.0625):
        assert not dense(capped(rows, [low, *rest])), "a cap that is no higher than the level"
    assert not dense(capped(rows, [0.5, *rest], weight=1 + 2.0**-20)), "falls again"
    assert not dense(capped(rows, [0.5, *rest], weight=1 - 2.0**-20)), "rises on"
    assert not dense(capped(rows, [0.5, *rest], turned=2.0**-20)), "another row"
    for extra in (1.0, -1.0):
        biases = [-0.25] * len(rows) + [-0.75, -1.0]
        claim = bump([*rows, rows[0], rows[0]], biases, [1.0] * len(rows) + [-1.0, extra], 0.75)
        assert not dense(claim), "a third unit of the row"


@settings(max_examples=150, deadline=None)
@given(
    st.tuples(eighths, eighths).filter(all),
    st.lists(st.tuples(eighths, eighths.filter(bool)), min_size=1, max_size=5),
)
def test_units_of_one_row_are_bounded_exactly(
    row: tuple[float, float], units: list[tuple[float, float]]
) -> None:
    """Whatever their weights: what they sum up to is a function of one number."""
    hidden = np.array([row] * len(units), np.float32), np.array([b for b, _ in units], np.float32)
    last = np.zeros((2, len(units)), np.float32), np.array([1, 0], np.float32)
    last[0][0] = [w for _, w in units]
    side = (Fraction(1),) * 2
    box = Box(tuple(-v for v in side), side)
    text = question_vnnlib.write(box, Violation.misclassification(0, 2))
    claim = claimed(chain([hidden, last]), text)
    question = asked(claim)
    assert question is not None
    read = Claim(vnnlib.read(claim.vnnlib), reader.read(claim.onnx), None)
    always = [w for b, w in units if b >= sum(map(abs, row))]
    bound, least = planted.prove(read).margin, analysed(question)[0]
    # a unit that is never zero is no unit of a row, but a part of the inputs
    assert bound <= least if always else bound == least


# A lock whose parities contradict each other, and that half-way bits satisfy.

TRIANGLE = [((0, 1, 3), 1), ((1, 2, 4), 0), ((0, 2, 5), 0), ((3, 4, 5), 0)]


def lock(parities: Sequence[tuple[tuple[int, ...], int]], charge: float) -> Claimed:
    """Bits of six inputs on [0, 4]: ramps from 1 to 2."""
    count = 6
    ramps = np.repeat(np.eye(count), 3, axis=0)
    starts = -np.tile([1, 1.5, 2], count)
    rows, biases, weights = [], [], []
    constant, slopes = 0.75, np.zeros(count)
    for bits, odd in parities:
        row = np.zeros(3 * count)
        for b in bits:
            row[[3 * b, 3 * b + 2]] = (1, -1)
        sign = -1 if odd else 1
        rows += [row, row]
        biases += [-1, -2]
        weights += [2 * sign, -2 * sign]
        slopes[list(bits)] -= sign
        constant -= odd
    for b in range(count):
        row = np.zeros(3 * count)
        row[3 * b : 3 * b + 3] = (slopes[b] - charge, 2 * charge, -slopes[b] - charge)
        rows.append(row)
        biases.append(20)
        weights.append(1)
        constant -= 20
    layers = [
        (ramps, starts),
        (np.array(rows), np.array(biases)),
        (np.array([weights]), np.array([constant])),
        (np.array([[0.0], [2.0]]), np.array([1.0, 0.0])),
    ]
    box = Box((Fraction(0),) * count, (Fraction(4),) * count)
    text = question_vnnlib.write(box, Violation.misclassification(0, 2))
    floats = [(w.astype(np.float32), b.astype(np.float32)) for w, b in layers]
    return claimed(chain(floats), text, kind="planted", margin="1")


def test_half_way_bits_satisfy_parities_that_contradict_each_other() -> None:
    free = lock(TRIANGLE, 0.0)
    half_way = [Fraction(3, 2)] * 3 + [Fraction(0), Fraction(3), Fraction(3)]
    outputs = evaluate(load(free.onnx, "lock"), half_way)
    assert outputs[0] - outputs[1] == Fraction(1) - 2 * Fraction(3, 4) < 0
    assert free.verdict().status == "rejected"


@pytest.mark.parametrize(("charge", "status"), [(1.9375, "rejected"), (2.0, "verified")])
def test_enough_charge_makes_the_contradiction_a_proof(charge: float, status: str) -> None:
    claim = lock(TRIANGLE, charge)
    assert claim.verdict().status == status
    with pytest.raises((Unsupported, Rejected)):
        share(claim)


def test_a_system_with_a_solution_is_never_robust() -> None:
    for flips in product((0, 1), repeat=4):
        parities = [(bits, flip) for (bits, _), flip in zip(TRIANGLE, flips, strict=True)]
        claim = lock(parities, 2.0)
        solvable = sum(flips) % 2 == 0
        assert (claim.verdict().status == "verified") != solvable
        if not solvable:
            continue
        low, high = share(claim)
        # eight solutions, each with bits of share 1/4 (zero) and 1/2 (one)
        ones = [
            sum(bits)
            for bits in product((0, 1), repeat=6)
            if all(sum(bits[b] for b in p) % 2 == odd for p, odd in parities)
        ]
        assert len(ones) == 8
        settled = sum((Fraction(1, 2**n * 4 ** (6 - n)) for n in ones), Fraction(0))
        assert settled < low < high < 3 * settled


def test_smooth_units_count_by_their_range_only() -> None:
    """Label and rival read a smooth unit alike, or lose its range times the difference."""
    box = Box((Fraction(-1), Fraction(-1)), (Fraction(1), Fraction(1)))
    text = question_vnnlib.write(box, Violation.misclassification(0, 2)).encode()
    for weights in ((3.0, 3.0), (3.0, 2.5), (2.5, 3.25)):
        graph = GraphBuilder((1, 2))
        one = np.array([[1.0, -1.0]], np.float32)
        bent = graph.tanh(graph.gemm(graph.input, one, np.zeros(1, np.float32)))
        smooth = graph.gemm(bent, np.array([[w] for w in weights], np.float32), np.zeros(2))
        plain = graph.gemm(
            graph.relu(graph.gemm(graph.input, one, np.zeros(1))), [[0.0], [0.0]], [1.0, 0.0]
        )
        data = graph.build(graph.add(smooth, plain))
        proof = planted.prove(Claim(vnnlib.read(text), reader.read(data), None))
        least = 1 - abs(weights[0] - weights[1]) * np.tanh(2)
        assert abs(proof.margin - Fraction(float(least))) < Fraction(1, 10**12)


def curved(curve: str, width: float, top: float, shift: float = 0.0, inputs: int = 2) -> Claim:
    """f_0 - f_1 = 1 - 2 relu(top - hinges) of curves of each input outside of [-width, width]."""
    graph = GraphBuilder((1, inputs))
    one = np.eye(inputs, dtype=np.float32)
    both = np.concatenate([one, -one])
    response = graph.gemm(graph.input, both, np.full(2 * inputs, shift, np.float32))
    bent = graph.sigmoid(response) if curve == "sigmoid" else graph.tanh(response)
    start = np.float32(bend(curve, np.array(width)))
    units = graph.gemm(bent, np.eye(2 * inputs, dtype=np.float32), [-start] * (2 * inputs))
    bumped = graph.gemm(graph.relu(units), -np.ones((1, 2 * inputs)), [np.float32(top)])
    last = graph.gemm(graph.relu(bumped), [[0.0], [2.0]], [1.0, 0.0])
    side = (Fraction(1),) * inputs
    box = Box(tuple(-v for v in side), side)
    text = question_vnnlib.write(box, Violation.misclassification(0, 2))
    return Claim(vnnlib.read(text.encode()), reader.read(graph.build(last)), None)


def bend(curve: str, z: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-z)) if curve == "sigmoid" else np.tanh(z))


@pytest.mark.parametrize("curve", ["sigmoid", "tanh"])
@pytest.mark.parametrize(("inputs", "steps", "close"), [(1, 20_001, 1e-3), (2, 2001, 2e-3)])
def test_curved_boxes_are_enclosed(curve: str, inputs: int, steps: int, close: float) -> None:
    """Against midpoint sums on a fine grid."""
    low, high = violating_share(curved(curve, 0.25, 0.53, inputs=inputs))
    assert 0 < low < high < low * Fraction(1002, 1000)
    x = (np.arange(steps) + 0.5) / steps * 2 - 1
    start = float(np.float32(bend(curve, np.array(0.25))))
    charge = sum(np.maximum(bend(curve, s * x) - start, 0) for s in (1, -1))
    total = sum(np.meshgrid(*[charge] * inputs))
    seen = float((total <= float(np.float32(0.53)) - 0.5).mean())
    assert abs(seen / float(low) - 1) < close


@pytest.mark.parametrize(
    ("width", "top", "shift"),
    [(0.9, 0.6, 0.0), (-0.1, 0.6, 0.0), (0.25, 0.4, 0.0), (0.2, 0.6, 9.0)],
)
def test_curved_boxes_that_are_not_measured(width: float, top: float, shift: float) -> None:
    """Cut by a face; hinges that overlap; no violation; a curve that is never so low."""
    with pytest.raises((Unsupported, Rejected)):
        violating_share(curved("sigmoid", width, top, shift))


def test_curved_boxes_of_many_inputs_take_seconds() -> None:
    """Sums over many inputs are of short numbers; of too many, none are made."""
    low, high = violating_share(curved("tanh", 0.25, 0.53, inputs=64))
    assert 0 < low < high < low * Fraction(101, 100)
    assert low.denominator.bit_length() < 1 << 13
    with pytest.raises(Unsupported, match="of few inputs"):
        violating_share(curved("tanh", 0.25, 0.53, inputs=130))


Spoiler = Callable[[NodeProto], None]


def pooled(spoiled: Spoiler) -> Claim:
    graph = GraphBuilder((1, 1, 2, 2))
    pool = graph.average_pool(graph.input, (2, 2), pads=(1, 1, 0, 0))
    flat = graph.flatten(graph.relu(pool))
    model = ModelProto.FromString(graph.build(graph.gemm(flat, np.ones((2, 4)), [1.0, 0.0])))
    spoiled(next(node for node in model.graph.node if node.op_type == "AveragePool"))
    box = Box((Fraction(0),) * 4, (Fraction(1),) * 4)
    text = question_vnnlib.write(box, Violation.misclassification(0, 2))
    return Claim(vnnlib.read(text.encode()), reader.read(model.SerializeToString()), None)


def set_to(name: str, value: Any) -> Spoiler:
    def spoil(node: NodeProto) -> None:
        kept = [a for a in node.attribute if a.name != name]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute(name, value)])

    return spoil


@pytest.mark.parametrize("counted", [0, 1])
def test_a_pool_is_its_matrix(counted: int) -> None:
    (pool,) = pooled(set_to("count_include_pad", counted)).chain.hidden
    sizes = (4, 4, 4, 4) if counted else (1, 2, 2, 4)
    covered = ([0], [0, 1], [0, 2], [0, 1, 2, 3])
    for row, size, window in zip(pool.rows, sizes, covered, strict=True):
        shares = [Fraction(int(i in window), size) for i in range(4)]
        assert [Fraction(w, pool.denominator) for w in row] == shares


@pytest.mark.parametrize(
    "spoiled",
    [
        set_to("ceil_mode", 1),
        set_to("auto_pad", "SAME_UPPER"),
        set_to("count_include_pad", 2),
        set_to("dilations", [2, 2]),
        set_to("kernel_shape", [2]),
        set_to("kernel_shape", [10**9, 10**9]),
        set_to("kernel_shape", [0, 2]),
        set_to("strides", [0, 1]),
        set_to("pads", [-1, 0, 0, 0]),
        set_to("pads", [2, 2, 0, 0]),
        set_to("axes", [0, 1]),
    ],
)
def test_pools_that_are_not_plain_are_refused(spoiled: Spoiler) -> None:
    with pytest.raises((Unsupported, Rejected)):
        assert pooled(spoiled).chain


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(eighths, eighths), min_size=2, max_size=3), st.booleans())
def test_several_bumps_add_up_or_are_refused(
    places: list[tuple[float, float]], dense: bool
) -> None:
    """Bumps of two disjuncts, along the axes or across, that meet or not, against the area."""
    rows = [[1, 1], [-1, -1], [1, -1], [-1, 1]] if dense else [[1, 0], [-1, 0], [0, 1], [0, -1]]
    biases = [-np.array(rows) @ np.array(place) / 2 - 1 / 16 for place in places]
    weights = np.zeros((3, len(places)), np.float32)
    for number in range(len(places)):
        weights[1 + number % 2, number] = 8
    layers = [
        (np.array(rows * len(places), np.float32), np.concatenate(biases).astype(np.float32)),
        (
            -np.kron(np.eye(len(places)), np.ones((1, 4))).astype(np.float32),
            np.full(len(places), 0.25, np.float32),
        ),
        (weights, np.array([1, 0, 0], np.float32)),
    ]
    side = (Fraction(1),) * 2
    box = Box(tuple(-v for v in side), side)
    claim = claimed(chain(layers), question_vnnlib.write(box, Violation.misclassification(0, 3)))
    question = asked(claim)
    assert question is not None
    least, violating = analysed(question)
    read = Claim(vnnlib.read(claim.vnnlib), reader.read(claim.onnx), None)
    assert planted.prove(read).margin <= least
    with contextlib.suppress(Unsupported):
        assert share(claim) == (violating, violating)
