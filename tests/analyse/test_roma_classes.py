"""Data sets: no input dropped, class means, and the interval of a mean of rates is a theorem."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analyse.binomial import clopper_pearson
from assay.analyse.inputs import Inputs
from assay.analyse.mean_rate import mean_rate_interval
from assay.analyse.model import Model, callable_model
from assay.analyse.roma_classes import Surroundings, assess_inputs, by_class
from assay.analyse.roma_counted import RomaSettings
from assay.errors import BadInput

RATES = st.one_of(
    st.floats(0, 1), st.sampled_from([0.0, 1.0]), st.floats(0, 0.02), st.floats(0.98, 1)
)
QUICK = RomaSettings(samples=300, eps=0.05)


def exact_misses(rates: list[float], confidence: float) -> tuple[float, float]:
    """The exact probabilities that the interval lies below, or above, the mean of the rates."""
    law = np.array([1.0])
    for rate in rates:
        law = np.convolve(law, [1 - rate, rate])
    n, mean = len(rates), float(np.mean(rates))
    ends = [mean_rate_interval(k, n, confidence) for k in range(n + 1)]
    below = sum(p for p, (_, upper) in zip(law, ends, strict=True) if upper < mean - 1e-12)
    above = sum(p for p, (lower, _) in zip(law, ends, strict=True) if lower > mean + 1e-12)
    return float(below), float(above)


@settings(max_examples=400, deadline=None)
@given(st.lists(RATES, min_size=1, max_size=14), st.sampled_from([0.5, 0.8, 0.95, 0.99]))
def test_the_mean_of_any_rates_is_covered(rates: list[float], confidence: float) -> None:
    side = (1 - confidence) / 2
    assert max(exact_misses(rates, confidence)) <= side + 1e-9


@given(st.integers(2, 40), st.floats(0.5, 0.999), st.floats(0, 1))
def test_also_where_one_trial_alone_is_not_certain(n: int, confidence: float, p: float) -> None:
    side = (1 - confidence) / 2
    assert max(exact_misses([*[1.0] * (n - 1), p], confidence)) <= side + 1e-9
    assert max(exact_misses([*[0.0] * (n - 1), p], confidence)) <= side + 1e-9


def test_clopper_pearson_alone_would_miss_there() -> None:
    n, side = 12, 0.25
    failing = n * (1 - (1 - side) ** (1 / n)) - 1e-6
    _, upper = clopper_pearson(n - 1, n, 1 - 2 * side)
    assert 1 - failing / n > upper
    assert failing > side


def test_low_confidences_are_refused() -> None:
    with pytest.raises(BadInput, match="confidence"):
        mean_rate_interval(1, 10, 0.4)


def three_classes() -> Model:
    """Classes 0 and 1 by the sign of x_0, with linear scores; class 2 never wins."""

    def scores(x: np.ndarray) -> np.ndarray:
        wide = x.sum(1)
        return np.stack([wide, -wide, np.full(len(x), -99.0)], 1)

    return callable_model(scores, (20,))


def data() -> Inputs:
    points = np.repeat(np.array([[0.5], [0.5], [0.06], [-0.5], [0.5]]), 20, 1)
    labels = np.array([0, 0, 0, 1, 1])
    return Inputs(points, labels, tuple("abcde"))


def found_in(keeping: str, **more: object):  # type: ignore[no-untyped-def]
    surroundings = Surroundings(1.0, "inf", keeping=keeping)  # type: ignore[arg-type]
    chosen = RomaSettings(300, **{"eps": 0.05, **more})  # type: ignore[arg-type]
    return list(assess_inputs(three_classes(), data(), surroundings, chosen))


def test_every_input_counts_in_its_class_and_in_all() -> None:
    results = found_in("prediction")
    assert [r.predicted for r in results] == [0, 0, 0, 1, 0]
    classes = by_class(results, 0.99)
    assert [(c.label, c.inputs, c.misclassified) for c in classes] == [
        (0, 3, 0),
        (1, 2, 1),
        (None, 5, 1),
    ]
    for c, members in zip(classes, (results[:3], results[3:], results), strict=True):
        assert c.counted.trials == 300 * len(members)
        assert c.counted.failures == sum(r.result.counted.failures for r in members)
        mean = np.mean([r.result.failure_rate for r in members])
        assert c.roma_failure_rate == pytest.approx(mean)
        assert c.accepted == sum(r.result.extrapolation.accepted for r in members)
        assert c.counted.lower <= c.counted.rate <= c.counted.upper


def test_the_label_may_be_what_is_kept() -> None:
    by_label = found_in("label")
    assert by_label[4].result.counted.rate > 0.95
    assert found_in("prediction")[4].result.counted.rate < 0.05


def test_equal_inputs_have_random_numbers_of_their_own() -> None:
    first, second, *_ = found_in("prediction")
    assert first.result.moments.mean != second.result.moments.mean


def test_inputs_that_are_not_normal_stay_in_the_mean() -> None:
    """Leaving them out would make the class look perfect."""

    def scores(x: np.ndarray) -> np.ndarray:
        jump = np.where((x[:, 0] > 0.5) & (x[:, 0] < 3), -1.0, 1.0)
        return np.stack([np.where(x[:, 0] > 5, 20 + x.sum(1), jump), np.zeros(len(x))], 1)

    points = np.zeros((2, 20))
    points[1, 0] = 10
    stack = Inputs(points, np.zeros(2, np.int64), ("jump", "smooth"))
    model = callable_model(scores, (20,))
    results = list(assess_inputs(model, stack, Surroundings(1.0, "inf"), RomaSettings()))
    assert [r.result.extrapolation.accepted for r in results] == [False, True]
    (found, _) = by_class(results, 0.99)
    assert found.accepted == 1
    assert found.roma_failure_rate == pytest.approx(results[0].result.counted.rate / 2, abs=1e-6)
    assert found.counted.rate == pytest.approx(0.125, abs=0.03)


def test_a_label_that_does_not_exist_is_named() -> None:
    wrong = Inputs(data().points, np.array([0, 1, 7, 1, 1]), tuple("abcde"))
    with pytest.raises(BadInput, match="c: label 7 does not exist"):
        next(assess_inputs(three_classes(), wrong, Surroundings(1.0, "inf"), QUICK))


def test_an_input_outside_the_range_is_named() -> None:
    surroundings = Surroundings(0.1, "inf", (0.0, 1.0))
    with pytest.raises(BadInput, match=r"^d: number 0 of the input"):
        list(assess_inputs(three_classes(), data(), surroundings, QUICK))
