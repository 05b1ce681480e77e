"""The account of work and memory that every check has."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import ctx
from hostile_builders import attention_model, same_kernel, same_layer
from onnx import helper
from small_claims import CONCAVE, SQUARE, Claimed, claimed, model, network, question

from assay.proof import work
from assay.proof.arithmetic import Unsupported, Vector
from assay.proof.ball_network import BallNetwork
from assay.proof.balls import BITS, over_box
from assay.proof.chain import read_chain
from assay.proof.checker import proven_margin
from assay.proof.reader import read
from assay.proof.vnnlib import Inequality
from assay.proof.work import charge, charge_product, fit, keep, limited


def test_nobody_pays_outside_of_a_check() -> None:
    charge(work.MOST_WORK + 1)
    keep(work.MOST_KEPT + 1, 0)


def test_every_check_has_an_account_of_its_own() -> None:
    for _ in range(3):
        with limited():
            charge(work.MOST_WORK)
            with pytest.raises(Unsupported, match="more work"):
                charge(1)
    with limited():
        keep(work.MOST_KEPT // 2, 64)
        with pytest.raises(Unsupported, match="more weights"):
            keep(1, 0)


def test_long_numbers_count_more() -> None:
    fit(work.MOST_WORDS, 63)
    with pytest.raises(Unsupported, match="longer than the checker holds"):
        fit(work.MOST_WORDS // 2, 128)
    with limited(), pytest.raises(Unsupported, match="more work"):
        charge_product(1000, 1000, 10, 64 * 100, 64 * 100)
    with limited():
        charge_product(1000, 1000, 10, 64, 64)


def test_a_box_of_constant_boxes_fits() -> None:
    """150 layers of 256 units: four CPU seconds, and a quarter of a gigabyte."""
    with limited():
        keep(150 * 256 * 256, 40)


def test_attention_of_32_tokens_and_50_classes_is_within_the_account() -> None:
    """Seven CPU seconds: the values over nine boxes, and 49 gradients over eight of them."""
    tokens = width = 32
    proto = attention_model(tokens, width, outputs=50)
    size = tokens * width
    with limited(), ctx.workprec(BITS):
        network = BallNetwork(read(proto.SerializeToString()))
        centre = [Fraction(1, 4)] * size
        values = network.values(over_box(centre, centre, (1, tokens, width)))
        forward = spent()
        network.gradient(values, Inequality(((0, Fraction(1)), (1, Fraction(-1))), Fraction(0)))
        backward = spent() - forward
    assert 9 * forward + 8 * 49 * backward < work.MOST_WORK // 2


def spent() -> int:
    account = work._ACCOUNT.get()
    assert account is not None
    return account[0]


def test_a_claim_that_passes_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = claimed(network(CONCAVE), question(SQUARE), margin="3")
    assert claim.verdict().status == "verified"
    assert proven_margin(claim.onnx, claim.vnnlib, "corners", None) == 3
    monkeypatch.setattr(work, "MOST_WORK", 100)
    verdict = claim.verdict()
    assert (verdict.status, "more work" in verdict.reason) == ("unsupported", True)
    with pytest.raises(Unsupported, match="more work"):
        proven_margin(claim.onnx, claim.vnnlib, "corners", None)


@pytest.mark.parametrize(
    "claim",
    [same_layer(3, 20, "contractive_cnn"), same_kernel(3, 20, 4, "contractive_cnn")],
    ids=["Gemm", "Conv"],
)
def test_nodes_that_share_their_weights_share_a_layer(claim: Claimed) -> None:
    layers = read_chain(read(claim.onnx)).below
    assert len(layers) == 20
    assert len(set(layers)) == 1


def test_nodes_that_differ_share_nothing_else() -> None:
    """The same weights turned around, with another bias, after another shape."""
    weight = np.array([[1, 2], [3, 4]], np.float32)
    node = helper.make_node
    nodes, name = [], "x"
    for i, (bias, turned) in enumerate([("b", 0), ("b", 1), ("c", 0), ("c", 1), (None, 0)] * 2):
        operands = [name, "W"] if bias is None else [name, "W", bias]
        nodes.append(node("Gemm", operands, [f"s{i}"], transB=turned))
        nodes.append(node("Relu", [f"s{i}"], [f"z{i}"]))
        name = f"z{i}"
    for i, bias in enumerate(("b", "c", "b")):
        nodes.append(node("MatMul", [name, "W"], [f"m{i}"]))
        nodes.append(node("Add", [f"m{i}", bias], [f"a{i}"]))
        nodes.append(node("Relu", [f"a{i}"], [f"r{i}"]))
        name = f"r{i}"
    nodes.append(node("Gemm", [name, "W"], ["y"]))
    constants = {"W": weight, "b": [1, -60], "c": [-50, 5]}
    chain = read_chain(read(model(nodes, constants, (1, 2), (1, 2)).SerializeToString()))
    assert len(set(chain.below)) == 7
    values = [Fraction(1, 3), Fraction(-2, 7)]
    exact = [[Fraction(int(w)) for w in row] for row in weight]
    turned_round = [list(column) for column in zip(*exact, strict=True)]
    zero, b, c = [0, 0], [1, -60], [-50, 5]

    def affine(rows: list[list[Fraction]], bias: list[int]) -> list[Fraction]:
        sums = (sum(w * v for w, v in zip(row, values, strict=True)) for row in rows)
        return [total + own for total, own in zip(sums, bias, strict=True)]

    plan = [(turned_round, b), (exact, b), (turned_round, c), (exact, c), (turned_round, zero)] * 2
    for rows, bias in [*plan, (turned_round, b), (turned_round, c), (turned_round, b)]:
        values = [max(v, Fraction(0)) for v in affine(rows, bias)]
    point = Vector.of([Fraction(1, 3), Fraction(-2, 7)])
    assert chain.outputs(point).fractions() == affine(turned_round, zero)
