"""Networks in balls: values, gradients and drops contain what floats and samples find."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import onnx as onnx_format
import pytest
import torch
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper
from small_claims import model

from assay.proof import reader
from assay.proof import vnnlib as proof_vnnlib
from assay.proof.arithmetic import Rejected, Unsupported, Vector
from assay.proof.ball_network import (
    BallNetwork,
    BoxAnalysis,
    Operation,
    excess,
    highest_margin,
)
from assay.proof.balls import BITS, ceiling, floor, over_box, positions
from assay.proof.softmax_head import Head
from assay.question import vnnlib
from assay.question.graph import GraphBuilder
from assay.question.network import load
from assay.question.property import Violation
from assay.question.region import Box
from assay.question.torch_view import torch_view

TOKENS, WIDTH = 3, 2
Body = Callable[[GraphBuilder, Callable[..., np.ndarray]], str]


def single_head(graph: GraphBuilder, draw: Callable[..., np.ndarray]) -> str:
    x = graph.input
    keys = graph.transpose(graph.matmul(x, draw(WIDTH, 2)), (0, 2, 1))
    shares = graph.softmax(graph.matmul(graph.matmul(x, draw(WIDTH, 2)), keys))
    return graph.matmul(shares, graph.matmul(x, draw(WIDTH, WIDTH)))


def unfused_head(graph: GraphBuilder, draw: Callable[..., np.ndarray]) -> str:
    """The same with reshapes that do nothing in between, so that no head is recognised."""
    x = graph.input
    keys = graph.transpose(graph.matmul(x, draw(WIDTH, 2)), (0, 2, 1))
    scores = graph.matmul(graph.matmul(x, draw(WIDTH, 2)), keys)
    shares = graph.softmax(graph.reshape(scores, (1, TOKENS, TOKENS)))
    return graph.matmul(shares, graph.matmul(x, draw(WIDTH, WIDTH)))


def two_heads(graph: GraphBuilder, draw: Callable[..., np.ndarray]) -> str:
    """Each head times a matrix of its own; the second is used twice, once without it."""
    first, second = single_head(graph, draw), single_head(graph, draw)
    mixed = graph.add(graph.matmul(first, draw(WIDTH, 2)), graph.matmul(second, draw(WIDTH, 2)))
    return graph.add(mixed, second)


def transformer(graph: GraphBuilder, draw: Callable[..., np.ndarray]) -> str:
    rows = graph.add(graph.input, single_head(graph, draw))
    hidden = graph.relu(graph.add(graph.matmul(rows, draw(WIDTH, 4)), draw(4)))
    return graph.add(rows, graph.matmul(hidden, draw(4, WIDTH)))


def linear(graph: GraphBuilder, draw: Callable[..., np.ndarray]) -> str:
    def feature() -> str:
        active = graph.relu(graph.add(graph.matmul(graph.input, draw(WIDTH, 3)), draw(3)))
        return graph.add(graph.mul(active, active), 0.5)

    weights = graph.matmul(feature(), graph.transpose(feature(), (0, 2, 1)))
    mixed = graph.matmul(weights, graph.matmul(graph.input, draw(WIDTH, WIDTH)))
    return graph.div(mixed, graph.reduce_sum(weights, (-1,)))


def curves(graph: GraphBuilder, draw: Callable[..., np.ndarray]) -> str:
    first = graph.tanh(graph.add(graph.matmul(graph.input, 4 * draw(WIDTH, 4)), draw(4)))
    return graph.sigmoid(graph.matmul(first, 4 * draw(4, WIDTH)))


BODIES = {
    f.__name__: f for f in (single_head, unfused_head, two_heads, transformer, linear, curves)
}


def network(name: str, seed: int = 0, outputs: int = 3) -> bytes:
    random = np.random.default_rng(seed)

    def draw(*shape: int) -> np.ndarray:
        return (random.integers(-32, 33, size=shape) / 32).astype(np.float32)

    graph = GraphBuilder((1, TOKENS, WIDTH))
    body = BODIES[name](graph, draw)
    flat = graph.sub(graph.flatten(body), draw(1, TOKENS * WIDTH))
    return graph.build(graph.gemm(flat, draw(outputs, TOKENS * WIDTH), draw(outputs)))


def asked(radius: Fraction, seed: int, outputs: int = 3) -> tuple[Box, proof_vnnlib.Question]:
    random = np.random.default_rng(seed + 100)
    centre = [Fraction(int(v), 64) for v in random.integers(-64, 65, size=TOKENS * WIDTH)]
    box = Box.around(centre, radius)
    text = vnnlib.write(box, Violation.misclassification(0, outputs))
    return box, proof_vnnlib.read(text.encode())


def points(box: Box, count: int, seed: int) -> list[list[Fraction]]:
    random = np.random.default_rng(seed)
    shares = random.integers(0, 65, size=(count, box.dimension))
    shares[: count // 2] = random.integers(0, 2, size=(count // 2, box.dimension)) * 64
    return [
        [
            a + (b - a) * Fraction(int(s), 64)
            for a, b, s in zip(box.lower, box.upper, row, strict=True)
        ]
        for row in shares
    ]


def slopes(onnx: bytes, point: list[Fraction], rival: int) -> np.ndarray:
    torch.set_num_threads(1)
    x = torch.tensor([[float(v) for v in point]], dtype=torch.float64, requires_grad=True)
    outputs = torch_view(load(onnx, "net"), torch.float64)(x)
    (found,) = torch.autograd.grad(outputs[0, 0] - outputs[0, rival], x)
    return found.numpy().ravel()


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_at_a_point_is_torchs(name: str, seed: int) -> None:
    onnx = network(name, seed)
    box, question = asked(Fraction(1, 16), seed)
    balls = BallNetwork(reader.read(onnx))
    with ctx.workprec(BITS):
        for point in points(box, 3, seed):
            values = balls.values(over_box(point, point, (1, TOKENS, WIDTH)))
            for rival, ((inequality,)) in enumerate(question.disjuncts, 1):
                gradient = balls.gradient(values, inequality)
                right = slopes(onnx, point, rival)
                assert np.allclose([float(g.mid()) for g in gradient], right, atol=1e-9)


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("radius", [Fraction(1, 256), Fraction(1, 16), Fraction(1, 4)])
def test_values_gradients_and_drops_hold_over_the_whole_box(name: str, radius: Fraction) -> None:
    for seed in range(4):
        onnx = network(name, seed)
        box, question = asked(radius, seed)
        with ctx.workprec(BITS):
            analysis = BoxAnalysis(reader.read(onnx), question)
            balls, whole = analysis.network, analysis.shells[-1]
            bounds = [analysis.first_order(inequality) for (inequality,) in question.disjuncts]
            for point in points(box, 12, seed):
                values = balls.values(over_box(point, point, (1, TOKENS, WIDTH)))
                for wide, exact in zip(balls.outputs(whole), balls.outputs(values), strict=True):
                    assert wide.overlaps(exact)
                for rival, ((inequality,)) in enumerate(question.disjuncts, 1):
                    value = excess(inequality, balls.outputs(values))
                    if bounds[rival - 1].least.is_finite():
                        assert floor(bounds[rival - 1].least) <= ceiling(value)
                    gradient = balls.gradient(whole, inequality)
                    for ball, slope in zip(gradient, slopes(onnx, point, rival), strict=True):
                        assert not ball.is_finite() or (ball + arb(0, 1e-9)).contains(arb(slope))


@pytest.mark.parametrize("operator", ["Sigmoid", "Tanh"])
@pytest.mark.parametrize("middle", [0, 3, -40, 10**6])
def test_curves_are_taken_at_the_ends(operator: str, middle: int) -> None:
    """Over an interval a rising function loses no more than the rounding of its ends."""
    nodes = [helper.make_node(operator, ["x"], ["y"])]
    graph = reader.read(model(nodes, {}, (1, 1), (1, 1)).SerializeToString())
    ends = [Fraction(middle) - 5, Fraction(middle) + 5]
    with ctx.workprec(BITS):
        network = BallNetwork(graph)
        (wide,) = network.outputs(network.values(over_box(ends[:1], ends[1:], (1, 1))))
        exact = [network.outputs(network.values(over_box([e], [e], (1, 1))))[0] for e in ends]
        lengths = [ceiling(wide) - floor(wide), ceiling(exact[1]) - floor(exact[0])]
    assert 0 <= lengths[0] - lengths[1] < Fraction(1, 10**8)
    bend = torch.sigmoid if operator == "Sigmoid" else torch.tanh
    for end, value in zip(ends, exact, strict=True):
        assert abs(float(value.mid()) - float(bend(torch.tensor(float(end)).double()))) < 1e-15


def test_a_head_is_recognised_and_sharper_than_its_nodes() -> None:
    with ctx.workprec(BITS):
        for seed in range(3):
            _, question = asked(Fraction(1, 64), seed)
            drops = []
            for name in ("single_head", "unfused_head"):
                graph = reader.read(network(name, seed))
                fused = [step for step in BallNetwork(graph).steps if isinstance(step, Head)]
                assert len(fused) == (name == "single_head")
                analysis = BoxAnalysis(graph, question)
                drops.append([analysis.first_order(i) for (i,) in question.disjuncts])
            for fused, plain in zip(*drops, strict=True):
                assert fused.nominal.overlaps(plain.nominal)
                assert fused.drop < plain.drop


def test_a_head_takes_the_matrix_after_it_along() -> None:
    graph = reader.read(network("two_heads"))
    with ctx.workprec(BITS):
        steps = BallNetwork(graph).steps
    heads = [step for step in steps if isinstance(step, Head)]
    # the first head is only there with its matrix, the second one both ways
    assert len(heads) == 3
    operators = [step.node.operator for step in steps if isinstance(step, Operation)]
    assert operators == ["Add", "Add", "Flatten", "Sub", "Gemm"]


def test_nested_boxes_do_not_cost_anything_on_an_affine_network() -> None:
    graph = GraphBuilder((1, TOKENS, WIDTH))
    weight = np.arange(18, dtype=np.float32).reshape(3, 6) - 8
    onnx = graph.build(graph.gemm(graph.flatten(graph.input), weight, np.zeros(3, np.float32)))
    _, question = asked(Fraction(1, 8), 0)
    with ctx.workprec(BITS):
        analysis = BoxAnalysis(reader.read(onnx), question)
        for rival, ((inequality,)) in enumerate(question.disjuncts, 1):
            drop = analysis.first_order(inequality).drop
            exact = Fraction(1, 8) * int(np.abs(weight[0] - weight[rival]).sum())
            assert exact <= ceiling(drop) < exact * (1 + Fraction(1, 10**6))


@given(
    st.lists(st.integers(1, 3), max_size=3),
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
)
def test_broadcasting_is_numpys(shape: list[int], target: list[int]) -> None:
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    try:
        expected = np.broadcast_to(numbers, target).ravel().tolist()
    except ValueError:
        expected = None
    assert positions(tuple(shape), tuple(target)) == expected


def spoiled(name: str, change: Callable[..., None]) -> bytes:
    proto = onnx_format.ModelProto.FromString(network(name))
    change(proto.graph)
    return bytes(proto.SerializeToString())


def first(graph: onnx_format.GraphProto, operator: str) -> onnx_format.NodeProto:
    return next(node for node in graph.node if node.op_type == operator)


def evaluate(onnx: bytes) -> Fraction:
    box, question = asked(Fraction(1, 16), 0)
    return highest_margin(reader.read(onnx), question, Vector.of(box.lower))


@pytest.mark.parametrize(
    ("name", "operator", "change"),
    [
        ("single_head", "Softmax", lambda n: setattr(n.attribute[0], "i", 1)),
        ("single_head", "Softmax", lambda n: n.ClearField("attribute")),
        ("single_head", "Softmax", lambda n: setattr(n, "op_type", "LogSoftmax")),
        ("single_head", "Transpose", lambda n: n.attribute[0].ints.__setitem__(0, 1)),
        ("single_head", "Transpose", lambda n: n.ClearField("attribute")),
        ("linear", "ReduceSum", lambda n: setattr(n.attribute[0], "i", 0)),
        ("linear", "ReduceSum", lambda n: n.input.pop()),
        ("transformer", "Relu", lambda n: setattr(n, "op_type", "Erf")),
        ("curves", "Tanh", lambda n: setattr(n, "op_type", "Softplus")),
        ("curves", "Sigmoid", lambda n: setattr(n, "op_type", "HardSigmoid")),
        ("curves", "Tanh", lambda n: n.attribute.append(helper.make_attribute("axis", 1))),
        ("transformer", "MatMul", lambda n: n.attribute.append(helper.make_attribute("x", 1))),
    ],
)
def test_operations_with_another_meaning_are_not_followed(
    name: str, operator: str, change: Callable[[object], None]
) -> None:
    onnx = spoiled(name, lambda graph: change(first(graph, operator)))
    with pytest.raises((Unsupported, Rejected)):
        evaluate(onnx)


def test_division_by_a_ball_with_zero_is_rejected() -> None:
    nodes = [helper.make_node("Div", ["x", "x"], ["y"])]
    graph = reader.read(model(nodes, {}, (1, 2), (1, 2)).SerializeToString())
    text = vnnlib.write(
        Box.around([Fraction(0), Fraction(1)], Fraction(1, 2)), Violation.misclassification(0, 2)
    )
    question = proof_vnnlib.read(text.encode())
    with ctx.workprec(BITS), pytest.raises(Rejected, match="not finite"):
        floor(BoxAnalysis(graph, question).first_order(question.disjuncts[0][0]).least)
    with pytest.raises(Rejected, match="not finite"):
        highest_margin(graph, question, Vector.of([Fraction(0), Fraction(1)]))


def test_a_division_by_zero_does_not_hide_behind_a_zero_weight() -> None:
    nodes = [
        helper.make_node("Div", ["x", "x"], ["ratio"]),
        helper.make_node("Mul", ["ratio", "zero"], ["nothing"]),
        helper.make_node("Add", ["nothing", "level"], ["y"]),
    ]
    constants = {"zero": [[0, 0]], "level": [[1, 0]]}
    graph = reader.read(model(nodes, constants, (1, 2), (1, 2)).SerializeToString())
    box = Box.around([Fraction(0), Fraction(1)], Fraction(1, 2))
    text = vnnlib.write(box, Violation.misclassification(0, 2))
    with ctx.workprec(BITS), pytest.raises(Rejected, match="not finite"):
        BoxAnalysis(graph, proof_vnnlib.read(text.encode()))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**16), st.integers(1, 1000))
def test_the_margin_at_a_point_is_the_float_one(seed: int, place: int) -> None:
    onnx = network("transformer", seed % 50)
    box, question = asked(Fraction(1, 16), seed % 50)
    (point,) = points(box, 1, place)
    found = highest_margin(reader.read(onnx), question, Vector.of(point))
    row = torch.tensor([[float(v) for v in point]], dtype=torch.float64)
    outputs = torch_view(load(onnx, "net"), torch.float64)(row)[0]
    assert abs(float(found) - float((outputs[0] - outputs[1:]).min())) < 1e-9
