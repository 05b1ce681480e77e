from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from mixed_networks import MIXED, attention, relu_mlp, residual_cnn, smooth_mlp
from operator_cases import Case as OperatorCase
from small_networks import drawn, least_margin
from specimens import SETTINGS, made

from assay.bounds.branch import Decision, decide
from assay.bounds.inequalities import Excesses
from assay.errors import BadInput, Unsupported
from assay.question import vnnlib
from assay.question.exact import ExactFunction
from assay.question.graph import GraphBuilder, mlp
from assay.question.network import Network, load
from assay.question.property import Case, Inequality, Violation
from assay.question.region import Box
from assay.question.torch_view import torch_view
from assay.truth.families import family
from assay.truth.instance import Instance

SMALL = {
    "radius": ("exact_radius", {"inputs": 5, "classes": 3, "hidden": (8,), "fractions": (0.9,)}),
    "radius-edge": (
        "exact_radius",
        {"inputs": 10, "classes": 4, "hidden": (8, 8), "fractions": (0.99999,)},
    ),
    "radius-deep": (
        "exact_radius",
        {"inputs": 4, "classes": 3, "hidden": (5, 5, 5), "fractions": (0.99,)},
    ),
    "meap": ("meap", {"inputs": 10, "pairs": 3}),
    "meap-fine": ("meap", {"inputs": 4, "classes": 3, "pairs": 2, "gamma": 1e-6}),
    "corners": ("corners", {"inputs": 10, "classes": 3, "hinges": 8, "active": 4}),
    "corners-steep": (
        "corners",
        {"inputs": 6, "classes": 3, "hinges": 6, "active": 3, "hinge_l1": 1e3},
    ),
    "box": (
        "constant_box",
        {"inputs": 30, "depth": 3, "width": 32, "collapse": "hinges", "epsilon": 0.5},
    ),
}


def asked(instance: Instance) -> tuple[Network, Case]:
    (case,) = vnnlib.read(instance.vnnlib.decode(), instance.name).cases
    return load(instance.onnx, instance.name), case


def assert_consistent(network: Network, case: Case, decision: Decision) -> None:
    """A witness violates exactly, and comes with that verdict only."""
    assert (decision.witness is not None) == (decision.verdict == "violated")
    if decision.witness is not None:
        assert case.box.contains(decision.witness)
        margin = case.violation.margin(ExactFunction(network)(decision.witness))
        assert margin <= 0
        assert Fraction(decision.bound) <= margin if math.isfinite(decision.bound) else True
    if decision.verdict == "robust":
        assert decision.bound > 0


@pytest.mark.parametrize("setting", sorted(SMALL))
@pytest.mark.parametrize("seed", [0, 1])
def test_decides_small_instances_of_the_families(setting: str, seed: int) -> None:
    name, values = SMALL[setting]
    constructor = family(name)
    for instance in constructor.make(constructor.knobs.model_validate(values), seed):
        network, case = asked(instance)
        decision = decide(network, case, deadline_s=60)
        assert decision.verdict == instance.truth.answer, instance.name
        assert_consistent(network, case, decision)


@pytest.mark.parametrize("setting", sorted(SETTINGS))
def test_never_contradicts_the_truth(setting: str) -> None:
    """Hard specimens with little effort: unknown is fine, the wrong answer is not."""
    for instance in made(setting)[:4]:
        network, case = asked(instance)
        decision = decide(network, case, budget=20, deadline_s=2)
        assert decision.verdict in ("unknown", instance.truth.answer)
        if instance.truth.answer == "violated":
            assert decision.bound <= float(instance.truth.margin)
        assert_consistent(network, case, decision)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**4), st.sampled_from([0.05, 0.2, 0.6]))
def test_agrees_with_all_activation_patterns(seed: int, radius: float) -> None:
    subject = drawn(seed, (3, 4, 3, 3))
    region = subject.box(Fraction(radius))
    rivals = [k for k in range(3) if k != subject.label]
    least = min(least_margin(subject, k, region) for k in rivals)
    box = Box.around(subject.centre, Fraction(radius))
    case = Case(box, Violation.misclassification(subject.label, 3))
    network = load(mlp(subject.layers), "tiny")
    decision = decide(network, case, deadline_s=60)
    assert_consistent(network, case, decision)
    if abs(least) > 1e-9:
        assert decision.verdict == ("robust" if least > 0 else "violated")
    assert decision.bound <= least + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_never_contradicts_samples_of_mixed_networks(seed: int) -> None:
    for build in MIXED:
        network = build(seed)
        centre = [Fraction(int(v), 16) for v in np.random.default_rng(seed).integers(-8, 9, 99)]
        view = torch_view(network, torch.float64)
        box = Box.around(centre[: network.inputs], Fraction(1, 8))
        low, high = (torch.tensor([float(v) for v in end]) for end in (box.lower, box.upper))
        draw = torch.Generator().manual_seed(seed)
        points = low + (high - low) * torch.rand(500, len(low), generator=draw)
        outputs = view(points.double())[:, 0]
        for bound, possible in (
            (outputs.min().item(), {"violated", "unknown"}),
            (outputs.min().item() - 2.0, {"robust", "unknown", "violated"}),
        ):
            case = Case(box, Violation(network.outputs, ((_at_most(0, bound),),)))
            decision = decide(network, case, budget=30, deadline_s=3)
            assert decision.verdict in possible
            if decision.verdict == "robust":
                assert (outputs > bound).all()


def _at_most(index: int, bound: float | Fraction) -> Inequality:
    return Inequality(((index, Fraction(1)),), Fraction(bound))


def _at_least(index: int, bound: float | Fraction) -> Inequality:
    return Inequality(((index, Fraction(-1)),), -Fraction(bound))


@pytest.mark.parametrize("build", [smooth_mlp, residual_cnn, attention])
def test_decides_without_kinks_alone(build: object) -> None:
    """Smooth networks are decided by halving inputs, their witnesses by intervals."""
    network: Network = build(1)  # type: ignore[operator]
    centre = [Fraction(1, 4)] * network.inputs
    box = Box.around(centre, Fraction(1, 1024))
    value = torch_view(network, torch.float64)(torch.full((1, network.inputs), 0.25).double())
    here = Fraction(float(value[0, 0]))
    beyond = Case(box, Violation(network.outputs, ((_at_most(0, here - 1),),)))
    within = Case(box, Violation(network.outputs, ((_at_most(0, here),),)))
    assert decide(network, beyond, deadline_s=30).verdict == "robust"
    assert decide(network, within, deadline_s=30).verdict == "violated"


def test_halves_inputs_of_a_smooth_network() -> None:
    graph = GraphBuilder((1, 2))
    x = graph.tanh(graph.gemm(graph.input, np.array([[3, 2], [-2, 3]], np.float32)))
    weight = np.array([[1, -1], [1, 1]], np.float32)
    network = load(graph.build(graph.gemm(x, weight)), "waves")
    box = Box.around([Fraction(0), Fraction(0)], Fraction(1))
    # Both outputs are tanh a -+ tanh b, above -1.999 on the box.
    case = Case(box, Violation(2, ((_at_most(0, -2),), (_at_least(1, 2),))))
    decision = decide(network, case, deadline_s=60)
    assert decision.verdict == "robust"
    low = Case(box, Violation(2, ((_at_most(0, Fraction(-7, 4)),),)))
    assert decide(network, low, deadline_s=60).verdict == "violated"


def test_conjunctions_disjunctions_and_thirds() -> None:
    """y = (x, -x) on [0, 1]: x <= 1/3 and x >= 1/3 meet in a point that is no float."""
    weight = np.array([[1], [-1]], np.float32)
    network = load(mlp([(weight, np.zeros(2, np.float32))]), "line")
    box = Box((Fraction(0),), (Fraction(1),))
    third = Fraction(1, 3)

    def verdict(*disjuncts: tuple[Inequality, ...]) -> str:
        return decide(network, Case(box, Violation(2, disjuncts)), budget=3000).verdict

    assert verdict((_at_most(0, third), _at_least(0, Fraction(1, 2)))) == "robust"
    assert verdict((_at_most(0, third), _at_least(0, Fraction(1, 4)))) == "violated"
    assert verdict((_at_least(0, 2),), (_at_most(0, -1),)) == "robust"
    assert verdict((_at_least(0, 2),), (_at_most(1, -third), _at_most(0, 1))) == "violated"
    scaled = Inequality(((0, Fraction(1, 3)), (1, Fraction(-1, 7))), Fraction(-1, 10**6))
    assert verdict((scaled,)) == "robust"
    # The two meet at 1/3 only: a float64 search cannot know, and must not guess.
    assert verdict((_at_most(0, third), _at_least(0, third))) in ("unknown", "violated")


def test_a_tie_violates_and_a_hair_does_not() -> None:
    network = load(mlp([(np.array([[1], [1]], np.float32), np.zeros(2, np.float32))]), "tie")
    box = Box((Fraction(0),), (Fraction(1),))
    assert decide(network, Case(box, Violation.misclassification(0, 2))).verdict == "violated"
    hair = np.array([2.0**-20, 0], np.float32)
    apart = load(mlp([(np.array([[1], [1]], np.float32), hair)]), "apart")
    assert decide(apart, Case(box, Violation.misclassification(0, 2))).verdict == "robust"


def test_excesses_are_rounded_towards_doubt() -> None:
    tenth = Fraction(1, 10)
    violation = Violation(2, ((Inequality(((0, tenth), (1, -tenth)), tenth),),))
    excesses = Excesses.of(violation)
    assert Fraction(excesses.thresholds.item()) > tenth
    bounds = torch.tensor([[0.5]], dtype=torch.float64)
    floor = excesses.floors(bounds, torch.tensor([0]), torch.ones(1, 2, dtype=torch.float64))
    lost = sum(
        abs(tenth * s - Fraction(c))
        for s, c in zip((1, -1), excesses.coefficients.flatten().tolist(), strict=True)
    )
    assert Fraction(floor.item()) <= Fraction(1, 2) - lost - tenth


def test_limits_end_the_search_with_unknown() -> None:
    (instance, *_) = [i for i in made("meap-many") if i.truth.answer == "robust"]
    network, case = asked(instance)
    start = time.monotonic()
    decision = decide(network, case, deadline_s=1.0)
    assert decision.verdict == "unknown"
    assert time.monotonic() - start < 10
    few = decide(network, case, budget=1)
    assert few.verdict == "unknown"
    assert few.bound < 0


def test_the_same_seed_gives_the_same_answer() -> None:
    (instance, *_) = [i for i in made("radius-2x10") if i.truth.answer == "robust"]
    network, case = asked(instance)
    assert decide(network, case, seed=3) == decide(network, case, seed=3)


def test_refusals_and_the_empty_violation() -> None:
    network = relu_mlp(0)
    box = Box.around([Fraction(0)] * 6, Fraction(1))
    assert decide(network, Case(box, Violation(4, ()))).verdict == "robust"
    with pytest.raises(BadInput, match="6 inputs and 5 outputs where the network has 6 and 4"):
        decide(network, Case(box, Violation.misclassification(0, 5)))
    unknown = load(OperatorCase("HardSwish", (1, 6), opset=14).onnx(), "net")
    with pytest.raises(Unsupported, match="HardSwish"):
        decide(unknown, Case(box, Violation.misclassification(0, 6)))
