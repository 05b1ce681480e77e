"""What float32 makes of a network, against the bound that the guard relies on."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import onnxruntime as ort
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from onnx import helper
from small_claims import CONCAVE, SQUARE, Layers, claimed, model, network, outputs, question

from assay.proof.chain import read_chain
from assay.proof.claim import Proof
from assay.proof.guard import output_errors
from assay.proof.interval import Interval
from assay.proof.reader import read
from assay.question.graph import GraphBuilder

F = Fraction
UNIT = 1 << 180
finite = st.floats(-64, 64, width=32).map(float)
POINT = [(1, 1), (1, 1)]


def float32_outputs(layers: Layers, point: list[float], seed: int) -> list[float]:
    """One possible float32 evaluation: terms added in random order, every operation rounded."""
    draw = np.random.default_rng(seed)
    values = np.array(point, np.float32)
    for index, (weight, bias) in enumerate(layers):
        if index:
            values = np.maximum(values, np.float32(0))
        results = []
        for row, offset in zip(weight, bias, strict=True):
            terms = [*(np.array(row, np.float32) * values), np.float32(offset)]
            draw.shuffle(terms)
            total = np.float32(0)
            for term in terms:
                total = np.float32(total + term)
            results.append(total)
        values = np.array(results, np.float32)
    return [float(v) for v in values]


@st.composite
def networks(draw: st.DrawFn) -> Layers:
    sizes = [*draw(st.lists(st.integers(1, 4), min_size=2, max_size=4)), 2]
    return [
        ([[draw(finite) for _ in range(n)] for _ in range(m)], [draw(finite) for _ in range(m)])
        for n, m in pairwise(sizes)
    ]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_float32_evaluation_strays_further(data: st.DataObject) -> None:
    layers = data.draw(networks())
    point = [data.draw(finite) for _ in layers[0][0][0]]
    others = [data.draw(finite) for _ in point]
    pairs = [sorted((F(a), F(b))) for a, b in zip(point, others, strict=True)]
    chain = read_chain(read(network(layers).SerializeToString()))
    box = Interval.of([low for low, _ in pairs], [high for _, high in pairs])
    bounds = [F(e, UNIT) for e in output_errors(chain, box, Proof(Fraction(0)))]
    found = float32_outputs(layers, point, data.draw(st.integers(0, 1000)))
    right = outputs(layers, [F(v) for v in point])
    errors = [abs(F(a) - b) for a, b in zip(found, right, strict=True)]
    assert all(error <= bound for error, bound in zip(errors, bounds, strict=True))
    event(f"some error: {max(errors) > 0}")


def verified(layers: Layers, box: list[tuple[object, object]], **more: object) -> bool:
    outputs = len(layers[-1][1])
    condition = str(more.pop("condition", "(assert (<= Y_0 Y_1))"))
    claim = claimed(network(layers), question(box, outputs, condition), **more)  # type: ignore[arg-type]
    assert claim.stating(guard="real").verdict().status == "verified"
    return claim.stating(guard="float32").verdict().status == "verified"


def test_a_wide_margin_survives_and_a_narrow_one_does_not() -> None:
    assert verified(CONCAVE, SQUARE)
    narrow = [CONCAVE[0], (CONCAVE[1][0], [2 + 2**-20, 0])]
    assert not verified(narrow, SQUARE, margin="1/1048576")


def test_the_box_must_be_in_float32() -> None:
    assert verified(CONCAVE, [("0.5", 1), (0, 1)])
    assert not verified(CONCAVE, [("0.1", 1), (0, 1)])
    assert not verified(CONCAVE, [(0, "0.1"), (0, 1)])


@pytest.mark.parametrize(
    ("condition", "exact"),
    [
        ("(assert (<= Y_0 0))", True),
        ("(assert (>= 0 (+ Y_0 Y_1)))", True),
        ("(assert (<= Y_0 0.5))", False),
        ("(assert (<= (* 2 Y_0) Y_1))", False),
        ("(assert (<= (+ Y_0 Y_1 Y_2) 0))", False),
    ],
)
def test_the_property_must_need_no_arithmetic(condition: str, exact: bool) -> None:
    layers: Layers = [CONCAVE[0], ([[-1, -1], [0, 0], [0, 0]], [5, 0, 0])]
    assert verified(layers, SQUARE, condition=condition) == exact


def test_overflow_is_no_survival() -> None:
    """In reals the first sum is zero; in float32 a partial sum is infinite."""
    huge = 2.0**127
    row = [huge, huge, huge, -huge, -huge, -huge]
    layers: Layers = [([row], [0]), ([[-(2.0**-120)], [0]], [1, 0])]
    ones: list[tuple[object, object]] = [(1, 1)] * 6
    assert not verified(layers, ones)
    session = ort.InferenceSession(
        network(layers).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (found,) = session.run(None, {"x": np.ones((1, 6), np.float32)})
    assert not found[0, 0] > found[0, 1]


def test_overflow_is_no_violation_either() -> None:
    layers: Layers = [
        ([[2.0**100, 0], [0, 2.0**100]], [0, 0]),
        ([[-(2.0**100), 0], [0, 0]], [0, 0]),
    ]
    claim = claimed(network(layers), question(POINT), witness=["1", "1"], margin="-1")
    assert claim.verdict().status == "verified"
    assert claim.stating(guard="float32").verdict().status == "rejected"


def test_a_violation_must_exceed_the_error() -> None:
    layers: Layers = [([[1, 0], [0, 1]], [0, 0]), ([[-1, 0], [0, 0]], [1 - 2**-22, 0])]
    text = question(POINT)
    claim = claimed(network(layers), text, witness=["1", "1"], margin="0")
    assert claim.verdict().status == "verified"
    assert claim.stating(guard="float32").verdict().status == "rejected"
    deeper = [layers[0], (layers[1][0], [0.5, 0])]
    claim = claimed(network(deeper), text, witness=["1", "1"], margin="-1/4", guard="float32")
    assert claim.verdict().status == "verified"


def test_a_witness_outside_float32_is_not_guarded() -> None:
    layers: Layers = [([[1]], [0]), ([[-1], [0]], [0, 0])]
    claim = claimed(network(layers), question([(0, 1)]), witness=["0.7"], margin="-1/2")
    assert claim.verdict().status == "verified"
    assert claim.stating(guard="float32").verdict().status == "rejected"


def test_a_unit_that_stays_shut_carries_no_error() -> None:
    chain = read_chain(
        read(network([([[1024]], [-2048]), ([[1], [0]], [0, 0])]).SerializeToString())
    )
    box = Interval.of([F(0)], [F(1)])
    shut = output_errors(chain, box, Proof(Fraction(0)))
    opened = output_errors(chain, Interval.of([F(0)], [F(3)]), Proof(Fraction(0)))
    assert shut[0] == shut[1] < UNIT >> 120 < opened[0]


def test_a_pool_with_a_bias_is_rounded_once_more_than_its_matrix() -> None:
    """The sum of four numbers, times an inverse that is rounded itself, plus a bias."""
    errors = []
    for pooled in (True, False):
        graph = GraphBuilder((1, 1, 2, 2))
        bias = np.full(1, 0.75, np.float32)
        if pooled:
            graph_output = graph.flatten(graph.average_pool(graph.input, (2, 2)))
            graph_output = graph.add(graph_output, bias)
        else:
            quarters = np.full((1, 4), 0.25, np.float32)
            graph_output = graph.gemm(graph.flatten(graph.input), quarters, bias)
        box = Interval.of([F(0)] * 4, [F(1)] * 4)
        chain = read_chain(read(graph.build(graph_output)))
        errors += output_errors(chain, box, Proof(F(1)))
    unit_roundoffs = [F(error, UNIT) * 2**24 / F(7, 4) for error in errors]
    assert unit_roundoffs[0] > 6 > unit_roundoffs[1] > 5


@pytest.mark.parametrize("sign", [-1, 1], ids=["robust", "violated"])
def test_a_pool_whose_plain_sum_overflows(sign: int) -> None:
    """The average of four numbers near 2^126 is in float32, their sum is not."""
    pooled = model(
        [
            helper.make_node("AveragePool", ["x"], ["p"], kernel_shape=[2, 2]),
            helper.make_node("Relu", ["p"], ["r"]),
            helper.make_node("Flatten", ["r"], ["f"]),
            helper.make_node("Gemm", ["f", "W", "b"], ["y"], transB=1),
        ],
        {"W": [[sign * 2.0**-126]], "b": [-sign * 5.0]},
        (1, 1, 2, 2),
        (1, 1),
    )
    for scale, status in ((1, "rejected"), (8, "verified")):
        low = 2**126 // scale
        asked = question([(low, low + 2**124 // scale)] * 4, 1, "(assert (<= Y_0 0))")
        point = [str(low)] * 4 if sign > 0 else None
        claim = claimed(pooled, asked, margin=str(-3 * sign), guard="float32", witness=point)
        assert claim.stating(guard="real").verdict().status == "verified"
        verdict = claim.verdict()
        assert verdict.status == status
        assert status == "verified" or "overflow" in verdict.reason
