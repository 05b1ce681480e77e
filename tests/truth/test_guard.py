"""The guard: what float32 execution says wherever a truth claims that it agrees."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import torch
from attacks import Attack, float32_inside
from float_bounds import error_bounds
from numpy.typing import NDArray
from specimens import SETTINGS, made, of
from tier import sized

from assay.question.convolution import ConvLayer
from assay.question.exact import ExactFunction
from assay.question.floaterror import AnyLayer, output_error, survives_float32
from assay.question.graph import mlp
from assay.question.mlp_layers import chain_layers
from assay.question.network import load
from assay.question.property import Violation
from assay.question.region import Box
from assay.question.runtime import FloatRunner
from assay.truth.instance import Instance

pytestmark = pytest.mark.slow
Points = NDArray[np.float32]
POINTS = sized(20_000, 100_000)


def float32_points(attack: Attack) -> Points:
    """Float32 points of the box: anywhere, corners, ends of attacks, around the worst."""
    with torch.no_grad():
        spread = [attack.uniform(35 * POINTS // 100), attack.corners(POINTS // 4)]
        for points in spread:
            attack.excesses(points)
    starts = torch.cat([attack.points, attack.corners(200), attack.uniform(200)])
    attack.descend(starts, 25, 0.2, targeted=False)
    attack.jump(attack.corners(300), 6)
    around = attack.points[torch.arange(4 * POINTS // 10) % len(attack.points)]
    noise = torch.randn(around.shape, generator=attack.draw, dtype=torch.float64)
    size = 0.5 ** (1 + 24 * torch.rand(len(around), 1, generator=attack.draw).double())
    near = attack.inside(around + noise * size * (attack.high - attack.low))
    everything = torch.cat([*spread, attack.points, near]).numpy()
    return float32_inside(everything, attack.box)


def margins(attack: Attack, outputs: Points) -> NDArray[np.float64]:
    """Differences of float32 numbers in float64; their signs are those of exact comparison."""
    excesses: NDArray[np.float64] = outputs.astype(np.float64) @ attack.signs.numpy().T
    return excesses.min(axis=1)


@pytest.mark.parametrize("setting", SETTINGS)
def test_float32_agrees_with_robust_labels_that_are_guarded(setting: str) -> None:
    for seed, instance in enumerate(of(setting, "robust")):
        if instance.truth.guard != "float32":
            continue
        attack = Attack(instance, seed)
        points = float32_points(attack)
        assert len(points) >= POINTS
        low, high = points.min(axis=0).tolist(), points.max(axis=0).tolist()
        assert attack.box.contains([Fraction(v) for v in low])
        assert attack.box.contains([Fraction(v) for v in high])
        runner = FloatRunner(attack.network)
        found = np.concatenate([runner.run(part) for part in np.array_split(points, 10)])
        worst = margins(attack, found)
        assert (worst > 0).all(), f"{setting} {instance.name}: {worst.min()}"
        lowest = points[worst.argsort()[:50]]
        alone = np.concatenate([runner.run(point[None]) for point in lowest])
        assert (margins(attack, alone) > 0).all()


@pytest.mark.parametrize("setting", SETTINGS)
def test_float32_violates_at_guarded_witnesses(setting: str) -> None:
    for instance in of(setting, "violated"):
        assert instance.truth.witness is not None
        exact = [Fraction(text) for text in instance.truth.witness]
        point = np.array([[float(v) for v in exact]], dtype=np.float32)
        if instance.truth.guard != "float32":
            continue
        assert [Fraction(float(v)) for v in point[0]] == exact
        runner, attack = FloatRunner(load(instance.onnx, instance.name)), Attack(instance, 0)
        for outputs in (runner.run(point), runner.run(np.repeat(point, 3, axis=0))):
            assert (margins(attack, outputs) < 0).all()


def test_both_guards_occur_for_both_answers() -> None:
    kinds = Counter(
        (instance.truth.answer, instance.truth.guard)
        for setting in SETTINGS
        for instance in made(setting)
    )
    assert min(kinds[a, g] for a in ("robust", "violated") for g in ("float32", "real")) >= 2
    knife_edges = [
        instance.truth.guard
        for setting in SETTINGS
        for instance in made(setting)
        if instance.truth.parameters.get("fraction") == 0.99999
    ]
    assert knife_edges
    assert set(knife_edges) == {"real"}


def summed(layers: tuple[AnyLayer, ...], point: Points, order: str, seed: int) -> Points:
    """A float32 evaluation whose sums are taken one by one in the given order."""
    draw = np.random.default_rng(seed)
    values = point
    for position, layer in enumerate(layers):
        # the zeros of a convolution's matrix add nothing, in any order
        weight, bias = layer.dense() if isinstance(layer, ConvLayer) else layer
        if position:
            values = np.maximum(values, np.float32(0))
        terms = np.concatenate([weight * values, bias[:, None]], axis=1)
        if order == "reversed":
            terms = terms[:, ::-1]
        elif order == "shuffled":
            terms = draw.permuted(terms, axis=1)
        elif order == "ascending":
            terms = np.sort(terms, axis=1)
        values = np.add.accumulate(terms, axis=1, dtype=np.float32)[:, -1]
    return values


def deviations(instance: Instance, count: int) -> list[tuple[Fraction, Fraction]]:
    """|float32 - exact| against the bound, for every output, point and way to evaluate."""
    attack = Attack(instance, 7)
    plain = attack.network.operators <= {"Conv", "Flatten", "Gemm", "Relu"}
    runner, function = FloatRunner(attack.network), ExactFunction(attack.network)
    bounds = error_bounds(instance, attack.box)
    drawn = torch.cat([attack.uniform(count), attack.corners(count)]).numpy()
    points = float32_inside(drawn, attack.box)
    batched = runner.run(points)
    pairs = []
    for seed, (point, together) in enumerate(zip(points, batched, strict=True)):
        right = function([Fraction(float(v)) for v in point])
        ways = [together, runner.run(point[None])[0]]
        for order in ("forward", "reversed", "shuffled", "ascending") if plain else ():
            ways.append(summed(chain_layers(attack.network), point, order, seed))
        for way in ways:
            for value, real, bound in zip(way, right, bounds, strict=True):
                pairs.append((abs(Fraction(float(value)) - real), bound))
    return pairs


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_error_bound_covers_every_summation_order(setting: str) -> None:
    for instance in (of(setting, "robust")[-1], of(setting, "violated")[-1]):
        pairs = deviations(instance, 6)
        assert all(error <= bound for error, bound in pairs)


def test_the_error_bound_is_not_absurdly_large() -> None:
    pairs = deviations(of("radius-2x20", "robust")[0], 40)
    assert max(error / bound for error, bound in pairs) > Fraction(1, 1000)


def test_a_network_that_overflows_float32_is_not_guarded() -> None:
    """Real outputs of 1e50 are far apart, but float32 makes both infinite."""
    huge = np.full((2, 2), 1e25, dtype=np.float32)
    zero = np.zeros(2, dtype=np.float32)
    layers = ((huge, zero), (huge * np.array([[1], [2]], dtype=np.float32), zero))
    point = Box((Fraction(1), Fraction(1)), (Fraction(1), Fraction(1)))
    outputs = FloatRunner(load(mlp(layers), "net")).run(np.ones((1, 2), dtype=np.float32))
    assert np.isinf(outputs).all()
    violation = Violation.misclassification(1, 2)
    assert not survives_float32(layers, point, violation, Fraction(10**50))
    with pytest.raises(OverflowError, match="float32"):
        output_error(layers, point)
    partial = ((np.full((1, 2), 3e38, dtype=np.float32) * [1, -1], np.zeros(1, np.float32)),)
    wide = Box((Fraction(2), Fraction(2)), (Fraction(2), Fraction(2)))
    with pytest.raises(OverflowError, match="float32"):
        output_error([(w.astype(np.float32), b) for w, b in partial], wide)
