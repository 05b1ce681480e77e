"""Networks that only ONNX Runtime runs: attacked without gradients, and what is found is told."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from assay.attack.battery import NO_GRADIENTS, Budget, Result, run
from assay.question.model_file import ModelFile
from assay.question.network import Network, load
from assay.question.property import Case, Inequality, Specification, Violation
from assay.question.region import Box
from assay.question.runnable import Runnable

ATTACKS = ("corners", "pgd-margin", "random")


def normed(scale: float) -> onnx.ModelProto:
    """LayerNormalization of two numbers is nearly the sign of their difference."""
    nodes = [helper.make_node("LayerNormalization", ["x", "scale"], ["y"], axis=-1)]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])],
        [numpy_helper.from_array(np.array([scale, scale], np.float32), "scale")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def as_network(scale: float) -> Network:
    return load(normed(scale).SerializeToString(), "net.onnx")


def as_runnable(scale: float) -> Runnable:
    made = normed(scale)
    return Runnable(ModelFile(made, made.SerializeToString(), "net.onnx"), (2,))


def question(low: str, high: str) -> Specification:
    """Violated where Y_0 >= Y_1; X_0 in [low, high], X_1 in [0, 1/8]."""
    box = Box((Fraction(low), Fraction(0)), (Fraction(high), Fraction(1, 8)))
    wrong = Inequality(((0, Fraction(-1)), (1, Fraction(1))), Fraction(0))
    return Specification((Case(box, Violation(2, ((wrong,),))),))


def attacked(network: Network | Runnable, asked: Specification) -> dict[str, Result]:
    return {r.attack: r for r in run(network, asked, Budget(attacks=ATTACKS), "cpu")}


@pytest.mark.parametrize("made", [as_network, as_runnable], ids=["read", "only run"])
def test_violations_are_seen_and_not_called_exact(made: object) -> None:
    assert callable(made)
    found = attacked(made(1.0), question("-1", "1"))
    for name in ("corners", "random"):
        assert found[name].margin <= 0
        assert found[name].found is None
        assert "in float32, as ONNX Runtime computes it" in found[name].undecided
        assert found[name].queries < 50_000
    assert found["pgd-margin"].note.startswith(NO_GRADIENTS)
    assert found["pgd-margin"].queries == 0


@pytest.mark.parametrize("made", [as_network, as_runnable], ids=["read", "only run"])
def test_nothing_is_seen_where_nothing_is(made: object) -> None:
    assert callable(made)
    found = attacked(made(1.0), question("-1", "-1/2"))
    for name in ("corners", "random"):
        assert found[name].margin > 0
        assert not found[name].undecided
        assert not found[name].in_vain


def test_the_reason_is_that_assay_lacks_the_operator() -> None:
    found = attacked(as_network(1.0), question("-1", "1"))
    assert "Assay has no torch view for operator LayerNormalization yet" in found["pgd-margin"].note
    assert "where ONNX Runtime runs it, the sampling commands still work" in (
        found["pgd-margin"].note
    )
