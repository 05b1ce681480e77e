from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from independent import Written, exact, sample, witness
from pydantic import ValidationError

from assay.errors import AssayError, BadInput, CannotCertify, Unsupported
from assay.proof.checker import check
from assay.question.graph import GraphBuilder, mlp
from assay.truth.exact_radius import ExactRadiusKnobs, from_onnx, make
from assay.truth.instance import Instance

FRACTIONS = (0.1, 0.5, 0.9, 0.99, 0.999, 0.99999)
SMALL = ExactRadiusKnobs(inputs=6, classes=3, hidden=(8, 8), fractions=FRACTIONS)
TRAINED = ExactRadiusKnobs(
    inputs=6, classes=4, hidden=(10,), weights="trained", fractions=(0.5, 0.99999)
)


@cache
def made(knobs: ExactRadiusKnobs, seed: int) -> tuple[Instance, ...]:
    return tuple(make(knobs, seed))


def fact(instance: Instance, name: str) -> Fraction:
    return Fraction(instance.truth.facts[name])


def verified(instance: Instance) -> bool:
    truth = instance.truth.to_json().encode()
    verdict = check(instance.onnx, instance.vnnlib, truth, instance.arrays)
    assert verdict.status == "verified", verdict.reason
    return verdict.answer == instance.truth.answer


def test_one_search_serves_all_fractions() -> None:
    instances = made(SMALL, 0)
    assert len({instance.onnx for instance in instances}) == 1
    assert [i.name for i in instances] == [
        f"f{fraction}-{answer}" for fraction in FRACTIONS for answer in ("robust", "violated")
    ]
    shared = {(fact(i, "radius_lower"), fact(i, "radius_upper")) for i in instances}
    assert len(shared) == 1
    robust = [fact(i, "epsilon") for i in instances if i.truth.answer == "robust"]
    violated = [fact(i, "epsilon") for i in instances if i.truth.answer == "violated"]
    assert robust == sorted(set(robust))
    assert violated == sorted(set(violated), reverse=True)
    ((lower, upper),) = shared
    assert robust[-1] <= lower < upper <= violated[-1]
    for fraction, inner, outer in zip(FRACTIONS, robust, violated, strict=True):
        assert float(inner / upper) == pytest.approx(fraction, rel=1e-4)
        assert float(outer / upper) == pytest.approx(2 - fraction, rel=1e-4)


@pytest.mark.parametrize("knobs", [SMALL, TRAINED])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_enclosure_is_tight_and_everything_is_proved(
    knobs: ExactRadiusKnobs, seed: int
) -> None:
    instances = made(knobs, seed)
    for instance in instances:
        lower, upper = fact(instance, "radius_lower"), fact(instance, "radius_upper")
        assert 0 < lower < upper
        assert lower / upper >= Fraction(9999, 10_000)
        assert verified(instance)
        assert (instance.arrays is None) == (instance.truth.answer == "violated")
        box = Written(instance).case.box
        widths = {high - low for low, high in zip(box.lower, box.upper, strict=True)}
        assert widths == {2 * fact(instance, "epsilon")}


def test_the_enclosure_is_tight_whatever_fraction_is_asked() -> None:
    knobs = SMALL.model_copy(update={"fractions": (0.3,)})
    robust, violated = made(knobs, 0)
    assert (robust.name, violated.name) == ("robust", "violated")
    assert fact(robust, "radius_lower") / fact(robust, "radius_upper") >= Fraction(9999, 10_000)
    assert fact(robust, "radius_lower") == fact(made(SMALL, 0)[0], "radius_lower")


@pytest.mark.parametrize("knobs", [SMALL, TRAINED])
def test_exact_margins_obey_the_labels(knobs: ExactRadiusKnobs) -> None:
    for instance in made(knobs, 1):
        written = Written(instance)
        if instance.truth.answer == "robust":
            points = [exact(p) for p in sample(written.case, 40, 0)]
            assert all(written.margin(p) >= instance.truth.margin > 0 for p in points)
        else:
            point = witness(instance)
            assert written.case.box.contains(point)
            assert written.margin(point) <= instance.truth.margin < 0


def test_certified_margins_fall_as_the_box_grows() -> None:
    margins = [i.truth.margin for i in made(SMALL, 2) if i.truth.answer == "robust"]
    assert all(margin > 0 for margin in margins)
    assert margins[0] > margins[-1]
    leaves = [len(i.arrays) for i in made(SMALL, 2) if i.arrays is not None]
    assert leaves == sorted(leaves)


def test_trained_networks_know_their_classes() -> None:
    plain = made(TRAINED.model_copy(update={"weights": "random"}), 0)
    trained = made(TRAINED, 0)
    assert plain[0].onnx != trained[0].onnx
    written = Written(trained[0])
    box = written.case.box
    centre = [(low + high) / 2 for low, high in zip(box.lower, box.upper, strict=True)]
    assert written.margin(centre) > 1
    assert fact(trained[0], "radius_lower") > Fraction(1, 20)


@pytest.mark.parametrize("seed", [0, 3])
def test_solvers_share_the_network_and_agree_on_the_radius(seed: int) -> None:
    found = {
        solver: made(SMALL.model_copy(update={"solver": solver, "fractions": (0.9,)}), seed)[0]
        for solver in ("branch", "highs", "scip")
    }
    assert len({instance.onnx for instance in found.values()}) == 1
    lowers = [fact(instance, "radius_lower") for instance in found.values()]
    uppers = [fact(instance, "radius_upper") for instance in found.values()]
    assert max(lowers) < min(uppers)
    assert float(max(lowers) / min(lowers)) == pytest.approx(1, abs=1e-5)
    for instance in found.values():
        assert verified(instance)


def test_same_seed_same_bytes_and_seeds_differ() -> None:
    again = make(SMALL, 0)
    assert tuple(again) == made(SMALL, 0)
    networks = {made(SMALL, seed)[0].onnx for seed in range(3)}
    assert len(networks) == 3
    other = SMALL.model_copy(update={"hidden": (8, 9), "fractions": (0.9,)})
    assert made(other, 0)[0].onnx not in networks


@pytest.mark.parametrize("seed", [70262, 212303, 633159])
def test_thin_wedges_of_violations_get_a_witness(seed: int) -> None:
    """Straight away from the centre these leave the violating region at once."""
    settings = {
        70262: ExactRadiusKnobs(inputs=7, classes=5, hidden=(6, 3)),
        212303: ExactRadiusKnobs(inputs=8, classes=4, hidden=(11, 5)),
        633159: ExactRadiusKnobs(inputs=7, classes=2, hidden=(4, 7)),
    }
    robust, violated = make(settings[seed], seed)
    assert verified(robust)
    assert verified(violated)


def test_refusals_name_the_remedy() -> None:
    with pytest.raises(CannotCertify, match="raise nodes"):
        make(SMALL.model_copy(update={"nodes": 1}), 0)
    for solver in ("highs", "scip"):
        with pytest.raises(CannotCertify, match="raise nodes"):
            make(
                ExactRadiusKnobs(inputs=10, hidden=(20, 20), solver=solver, nodes=1),
                0,
            )
    with pytest.raises(CannotCertify, match="no violation was found"):
        make(SMALL.model_copy(update={"hidden": (8, 8, 2)}), 0)
    with pytest.raises(BadInput, match="raise it"):
        make(SMALL.model_copy(update={"fractions": (1e-12,)}), 0)
    with pytest.raises(ValidationError, match="fractions"):
        ExactRadiusKnobs(fractions=(1.0,))
    with pytest.raises(ValidationError, match="twice"):
        ExactRadiusKnobs(fractions=(0.5, 0.9, 0.5))
    with pytest.raises(ValidationError, match="hiden"):
        ExactRadiusKnobs(hiden=(5,))  # type: ignore[call-arg]


def test_close_fractions_get_names_of_their_own() -> None:
    knobs = SMALL.model_copy(update={"fractions": (0.999998, 0.9999984)})
    assert len({instance.name for instance in made(knobs, 0)}) == 4


def weight(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


CENTRE = (Fraction(1, 10), Fraction(-1, 5), Fraction(0))


def gemms() -> bytes:
    return mlp([(weight(0, 5, 3), weight(1, 5)), (weight(2, 3, 5), weight(3, 3))])


def matmuls() -> bytes:
    """The same network as MatMul and Add, with its bias as a row, from a flattened image."""
    graph = GraphBuilder((1, 1, 3, 1))
    hidden = graph.add(graph.matmul(graph.flatten(graph.input), weight(0, 5, 3).T), weight(1, 1, 5))
    outputs = graph.add(weight(3, 3), graph.matmul(graph.relu(hidden), weight(2, 3, 5).T))
    return graph.build(outputs)


def test_a_brought_network_is_certified_as_it_is() -> None:
    for onnx in (gemms(), matmuls()):
        instances = from_onnx(onnx, "mine.onnx", CENTRE, fractions=(0.5, 0.99999))
        assert len(instances) == 4
        for instance in instances:
            assert instance.onnx == onnx
            assert instance.truth.parameters["weights"] == "brought"
            assert verified(instance)
        box = Written(instances[0]).case.box
        for low, high, asked in zip(box.lower, box.upper, CENTRE, strict=True):
            assert abs((low + high) / 2 - asked) <= Fraction(1, 2**21)


def test_a_brought_network_always_gets_the_closest_enclosure() -> None:
    for fractions in ((), (0.5,)):
        instances = from_onnx(gemms(), "mine.onnx", CENTRE, fractions=fractions)
        robust = [i for i in instances if i.truth.answer == "robust"]
        assert len(robust) == len(fractions) + 1
        assert max(fact(i, "epsilon") for i in robust) == fact(robust[0], "radius_lower")


def test_both_forms_of_a_network_have_the_same_radius() -> None:
    radii = {
        (fact(i, "radius_lower"), fact(i, "radius_upper"))
        for onnx in (gemms(), matmuls())
        for i in from_onnx(onnx, "mine.onnx", CENTRE)
    }
    assert len(radii) == 1
    assert from_onnx(gemms(), "a", CENTRE) == from_onnx(gemms(), "b", CENTRE)


def test_a_far_centre_still_gives_float32_bounds() -> None:
    moved = mlp([(weight(0, 5, 3), weight(1, 5) - 100 * weight(0, 5, 3).sum(axis=1))])
    first = Written(Instance("x", moved, made(SMALL, 0)[0].vnnlib, made(SMALL, 0)[0].truth))
    onnx = mlp([(first.floats[0][0], first.floats[0][1]), (weight(2, 3, 5), weight(3, 3))])
    centre = [100 + value for value in CENTRE]
    for instance in from_onnx(onnx, "far.onnx", centre):
        assert verified(instance)
        box = Written(instance).case.box
        for value in (*box.lower, *box.upper):
            assert Fraction(float(np.float32(float(value)))) == value


def convolution() -> bytes:
    graph = GraphBuilder((1, 1, 4, 4))
    hidden = graph.relu(graph.conv(graph.input, weight(0, 2, 1, 3, 3), None))
    return graph.build(graph.gemm(graph.flatten(hidden), weight(1, 3, 8), weight(2, 3)))


def sigmoid() -> bytes:
    graph = GraphBuilder((1, 3))
    hidden = graph.sigmoid(graph.gemm(graph.input, weight(0, 4, 3), weight(1, 4)))
    return graph.build(graph.gemm(hidden, weight(2, 3, 4), weight(3, 3)))


def two_rows() -> bytes:
    graph = GraphBuilder((2, 3))
    hidden = graph.relu(graph.gemm(graph.input, weight(0, 4, 3), weight(1, 4)))
    return graph.build(graph.gemm(hidden, weight(2, 3, 4), weight(3, 3)))


def column_bias() -> bytes:
    graph = GraphBuilder((1, 3))
    hidden = graph.relu(graph.add(graph.matmul(graph.input, weight(0, 3, 4)), weight(1, 4, 1)))
    return graph.build(graph.matmul(hidden, weight(2, 4, 3)))


def squeezed() -> bytes:
    graph = GraphBuilder((1, 3, 1))
    hidden = graph.relu(graph.gemm(graph.squeeze(graph.input, [2]), weight(0, 4, 3), weight(1, 4)))
    return graph.build(graph.gemm(hidden, weight(2, 3, 4), weight(3, 3)))


def skipping() -> bytes:
    graph = GraphBuilder((1, 3))
    first = graph.gemm(graph.input, weight(0, 3, 3), weight(1, 3))
    return graph.build(graph.gemm(graph.add(graph.relu(first), first), weight(2, 3, 3)))


def linear() -> bytes:
    return mlp([(weight(0, 3, 3), weight(1, 3))])


@pytest.mark.parametrize(
    "network", [convolution, sigmoid, two_rows, column_bias, squeezed, skipping, linear]
)
def test_what_is_not_an_mlp_is_refused_naming_the_file(network: Callable[[], bytes]) -> None:
    onnx = network()
    size = 16 if network is convolution else 3
    with pytest.raises(Unsupported, match=r"mine\.onnx"):
        from_onnx(onnx, "mine.onnx", [Fraction(0)] * size)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"fractions": (1.0,)}, "fractions"),
        ({"fractions": (0.5, 0.5)}, "twice"),
        ({"solver": "gurobi"}, "solver"),
        ({"nodes": 0}, "nodes"),
    ],
)
def test_bad_options_are_one_sentence(options: dict[str, object], reason: str) -> None:
    with pytest.raises(BadInput, match=reason) as caught:
        from_onnx(gemms(), "mine.onnx", CENTRE, **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_brought_networks_that_cannot_be_asked_about() -> None:
    zeros = np.zeros(3, dtype=np.float32)
    with pytest.raises(BadInput, match="3 inputs"):
        from_onnx(gemms(), "mine.onnx", [Fraction(0)] * 4)
    one = mlp([(weight(0, 5, 3), weight(1, 5)), (weight(2, 1, 5), weight(3, 1))])
    tied = mlp([(weight(0, 5, 3), weight(1, 5)), (weight(2, 3, 5) * 0, zeros)])
    constant = mlp([(weight(0, 5, 3), weight(1, 5)), (weight(2, 3, 5) * 0, weight(3, 3))])
    huge = mlp(
        [(weight(0, 5, 3) * np.float32(1e19), weight(1, 5)), (weight(2, 3, 5), weight(3, 3))]
    )
    for onnx in (one, tied, constant, huge):
        with pytest.raises(AssayError) as caught:
            from_onnx(onnx, "mine.onnx", CENTRE)
        assert "\n" not in str(caught.value)
