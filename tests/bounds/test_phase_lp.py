from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from small_networks import box, drawn, least_margin

from assay.bounds.multipliers import Multipliers, Objective, lower_bound
from assay.bounds.phase_lp import PhaseLp, Phases
from assay.bounds.phase_tree import restricted, tighten
from assay.bounds.relu_network import Bounds, ReluNetwork
from assay.errors import CannotCertify

TINY = st.lists(st.integers(1, 4), min_size=1, max_size=3)


def triangle_optimum(
    network: ReluNetwork, region: Bounds, bounds: list[Bounds], objective: Objective
) -> float | None:
    """The relaxation written down a second time, for scipy; None where it is infeasible."""
    inputs, hidden = len(region[0]), network.hidden
    count = inputs + 2 * sum(hidden)
    limits = [*zip(*region, strict=True)]
    equal, right, left, most = [], [], [], []
    start, before = inputs, list(range(inputs))
    for weight, bias, (low, high) in zip(network.weights, network.biases, bounds, strict=False):
        units = len(bias)
        limits += [*zip(low, high, strict=True)]
        limits += [(0, max(h, 0)) for h in high]
        for j in range(units):
            s, z = start + j, start + units + j
            row = np.zeros(count)
            row[s], row[before] = 1, -weight[j]
            equal.append(row)
            right.append(bias[j])
            above = np.zeros(count)
            above[s], above[z] = 1, -1
            left.append(above)
            most.append(0.0)
            if low[j] >= 0:
                left.append(-above)
                most.append(0.0)
            elif high[j] > 0:
                slope = high[j] / (high[j] - low[j])
                chord = np.zeros(count)
                chord[s], chord[z] = -slope, 1
                left.append(chord)
                most.append(-slope * low[j])
        before = list(range(start + units, start + 2 * units))
        start += 2 * units
    cost = np.zeros(count)
    cost[before] = objective.coefficients
    found = linprog(cost, left, most, equal, right, bounds=limits, method="highs")
    return None if found.status == 2 else float(found.fun) + objective.constant


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    hidden=TINY,
    radius=st.sampled_from([0.02, 0.2, 1.0]),
    data=st.data(),
)
def test_multipliers_attain_the_optimum_of_the_relaxation(
    seed: int, hidden: list[int], radius: float, data: st.DataObject
) -> None:
    subject = drawn(seed, (3, *hidden, 2))
    network, region = subject.network(), box(subject, radius)
    bounds = network.interval_bounds(*region)
    objective = Objective.margin(network, subject.label, 1 - subject.label)
    programme = PhaseLp(network, region, bounds, len(hidden))
    programme.minimise(objective)
    phases: Phases = {
        unit: data.draw(st.sampled_from([-1, 1]))
        for unit in programme.unstable.tolist()
        if data.draw(st.booleans())
    }
    programme.assume(phases)
    result = programme.solve()
    within = restricted(bounds, phases)
    optimum = triangle_optimum(network, region, within, objective)
    if result.point is None:
        assert optimum is None
        return
    assert optimum is not None
    multipliers = Multipliers.rounded(result.multipliers).values()
    bound = lower_bound(network, objective, multipliers, region, within)
    assert bound == pytest.approx(optimum, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), hidden=TINY, radius=st.sampled_from([0.05, 0.5]))
def test_any_multipliers_bound_the_margin_from_below(
    seed: int, hidden: list[int], radius: float
) -> None:
    subject = drawn(seed, (3, *hidden, 3))
    network, region = subject.network(), box(subject, radius)
    bounds = network.interval_bounds(*region)
    draw = np.random.default_rng(seed)
    points = draw.uniform(*region, size=(300, 3))
    outputs = network.preactivations(points)[-1]
    for rival in subject.rivals:
        objective = Objective.margin(network, subject.label, rival)
        lowest = (outputs[:, subject.label] - outputs[:, rival]).min()
        for scale in (0.0, 0.3, 3.0):
            multipliers = scale * draw.normal(size=sum(hidden))
            bound = lower_bound(network, objective, multipliers, region, bounds)
            assert bound <= lowest + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_all_phases_fixed_is_the_minimum_by_brute_force(seed: int) -> None:
    """The least relaxed optimum over all patterns is the true least margin."""
    subject = drawn(seed, (2, 3, 2, 2))
    network, region = subject.network(), box(subject, 0.5)
    bounds = network.interval_bounds(*region)
    rival = 1 - subject.label
    objective = Objective.margin(network, subject.label, rival)
    programme = PhaseLp(network, region, bounds, 2)
    programme.minimise(objective)
    units = programme.unstable.tolist()
    lows = []
    for pattern in range(2 ** len(units)):
        phases = {unit: 1 if pattern >> i & 1 else -1 for i, unit in enumerate(units)}
        programme.assume(phases)
        result = programme.solve()
        if result.point is not None:
            within = restricted(bounds, phases)
            lows.append(lower_bound(network, objective, result.multipliers, region, within))
    truth = least_margin(subject, rival, region)
    assert min(lows) == pytest.approx(truth, abs=1e-7)
    programme.assume({})
    relaxed = programme.solve()
    free = lower_bound(network, objective, relaxed.multipliers, region, bounds)
    assert free <= truth + 1e-9


def test_freed_phases_leave_nothing_behind() -> None:
    subject = drawn(1, (3, 4, 4, 2))
    network, region = subject.network(), box(subject, 0.5)
    bounds = network.interval_bounds(*region)
    objective = Objective.margin(network, subject.label, 1 - subject.label)
    programme = PhaseLp(network, region, bounds, 2)
    programme.minimise(objective)
    first = programme.solve()
    for unit in programme.unstable.tolist():
        for phase in (1, -1):
            programme.assume({unit: phase})
            programme.solve()
    programme.assume({})
    again = programme.solve()
    values = [
        lower_bound(network, objective, result.multipliers, region, bounds)
        for result in (first, again)
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), radius=st.sampled_from([0.05, 0.4]))
def test_tightened_bounds_contain_samples_and_only_improve(seed: int, radius: float) -> None:
    subject = drawn(seed, (3, 5, 5, 4, 2))
    network, region = subject.network(), box(subject, radius)
    loose = network.interval_bounds(*region)
    tight, steps = tighten(network, region, loose)
    values = network.preactivations(np.random.default_rng(seed).uniform(*region, size=(500, 3)))
    for (a, b), (low, high), value in zip(loose, tight, values, strict=False):
        assert (a <= low).all()
        assert (high <= b).all()
        assert (low <= value + 1e-9).all()
        assert (value <= high + 1e-9).all()
    assert all(step.layer > 0 for step in steps)


def test_weights_beyond_the_solver_are_refused_with_a_sentence() -> None:
    subject = drawn(0, (3, 4, 2))
    network = subject.network()
    huge = ReluNetwork(tuple(w * 1e19 for w in network.weights), network.biases)
    region = box(subject, 0.5)
    with pytest.raises(CannotCertify, match="too large"):
        PhaseLp(huge, region, huge.interval_bounds(*region), 1)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8),
    st.sampled_from([1e-40, 1e-12, 1.0, 1e12]),
)
def test_rounded_multipliers_keep_thirty_bits_of_the_largest(
    numbers: list[float], scale: float
) -> None:
    values = np.array(numbers) * scale
    kept = Multipliers.rounded(values)
    largest = np.abs(values).max()
    assert np.abs(kept.values() - values).max() <= max(largest * 2.0**-29, 2.0**-100)
    assert np.abs(kept.words.astype(np.int64)).max(initial=0) <= 2**30
