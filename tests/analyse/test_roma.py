"""RoMA: right where its law is right, silent or labelled where it is not, and never the verdict.

The four errors of its known implementations (FINDINGS section 3) have a test each.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import betainc
from scipy.stats import norm

from assay.analyse.asked import Asked, around
from assay.analyse.decision import Verdict
from assay.analyse.kept import LabelSet
from assay.analyse.model import Model, callable_model
from assay.analyse.regions import Ball
from assay.analyse.roma import extrapolated
from assay.analyse.roma_counted import RateInterval, RomaSettings, assess
from assay.analyse.roma_scores import scored
from assay.errors import BadInput

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=1000)


def margin_model(margin, inputs: int) -> Model:  # type: ignore[no-untyped-def]
    def scores(points: np.ndarray) -> np.ndarray:
        found = margin(points.astype(np.float64))
        return np.stack([found, np.zeros(len(points))], 1)

    return callable_model(scores, (inputs,))


def pocket(points: np.ndarray) -> np.ndarray:
    """30 inputs in [-1, 1]: fails exactly where the first two are above .98, a share of 1e-4."""
    inside = (points[:, 0] > 0.98) & (points[:, 1] > 0.98)
    return np.where(inside, -1.0, 31 + points.sum(1))


def around_zero(model: Model, norm_name: str = "inf") -> Asked:
    return Asked(model, LabelSet((0,)), Ball(np.zeros(model.inputs), 1.0, norm_name))  # type: ignore[arg-type]


def test_a_threshold_below_the_mean_gives_a_plr_below_one_half() -> None:
    """cdf(abs(z)) would make it at least .5."""
    found = extrapolated(NORMAL + 2, 0.0)
    assert found.basis == "normal"
    assert found.failure_rate == pytest.approx(norm.cdf(2), abs=0.02)


def test_the_threshold_is_transformed_like_the_data() -> None:
    data, threshold = np.exp(0.5 * NORMAL - 2), 0.3
    found = extrapolated(data, threshold, floor=0.0)
    assert found.basis == "box-cox"
    assert found.transform is not None
    assert found.transformed is not None
    wanted = norm.sf((np.log(threshold) + 2) / 0.5)
    assert found.failure_rate == pytest.approx(wanted, rel=0.35)
    untransformed = norm.sf((threshold - found.transformed.mean) / found.transformed.deviation)
    assert untransformed > 3 * wanted


def test_the_same_after_a_shift_of_data_and_threshold() -> None:
    data = np.random.default_rng(1).gamma(6, size=1000)
    found = [extrapolated(data + shift, 15 + shift) for shift in (0.0, -40.0, 1e3)]
    assert [f.basis for f in found] == ["box-cox"] * 3
    rates = [f.failure_rate for f in found]
    assert rates[1:] == pytest.approx(rates[:1] * 2, rel=1e-3)
    assert rates[0] == pytest.approx(0.0028, rel=0.5)


def test_the_score_is_the_highest_incorrect_one_not_the_second_highest() -> None:
    """The second highest probability is at most .5, so that nothing would ever fail."""
    model = callable_model(lambda x: np.stack([0 * x[:, 0], 2 * x[:, 0]], 1), (1,))
    found = scored(around_zero(model), "confidence", 500, 0, "")
    assert found.scores.max() > 0.8
    assert found.reached == found.failures
    assert found.failures / 500 == pytest.approx(0.5, abs=0.1)


def test_three_classes_below_one_half_is_not_the_class_unchanged() -> None:
    def scores(x: np.ndarray) -> np.ndarray:
        level = np.ones(len(x))
        return np.stack([level, level + 0.3 * x[:, 0], level], 1)

    asked = around_zero(callable_model(scores, (1,)))
    found = assess(asked, RomaSettings(samples=400, score="confidence"))
    assert found.softmax
    assert found.reached == 0
    assert found.counted.failures == 400  # class 2 ties with class 0, and ties fail
    assert found.counted.rate > 0.9
    margin = assess(asked, RomaSettings(samples=400))
    assert margin.reached == margin.counted.failures == 400


def test_outputs_that_are_probabilities_have_no_second_softmax() -> None:
    def chances(x: np.ndarray) -> np.ndarray:
        p = (0.7 + 0.2 * x[:, 0]).astype(np.float32)
        return np.stack([p, 1 - p], 1)

    found = scored(around_zero(callable_model(chances, (1,))), "confidence", 200, 0, "")
    assert not found.softmax
    assert 0.1 <= found.scores.min() < found.scores.max() <= 0.5


def test_a_label_set_leaves_the_highest_outside() -> None:
    def scores(x: np.ndarray) -> np.ndarray:
        return np.stack([np.full(len(x), v) for v in (3.0, 2.0, 1.0)], 1)

    model = callable_model(scores, (1,))
    asked = around(model, np.zeros(1), (0, 1), 1.0, "inf")
    found = scored(asked, "confidence", 10, 0, "")
    assert found.scores == pytest.approx(np.exp(1) / np.exp([1, 2, 3]).sum())
    assert scored(asked, "margin", 10, 0, "").scores == pytest.approx(-2)


@pytest.mark.parametrize("wanted", [0.3, 0.01, 1e-4])
def test_where_margins_are_normal_the_rate_is_close_to_the_exact_one(wanted: float) -> None:
    """A linear margin on a ball of l2: 2 P(x_1 > t) = I_{1 - t^2}((d + 1) / 2, 1 / 2)."""
    d = 400
    grid = np.linspace(0, 0.9, 200_001)
    tails = betainc((d + 1) / 2, 0.5, 1 - grid**2) / 2
    offset = float(grid[np.abs(tails - wanted).argmin()])
    asked = around_zero(margin_model(lambda x: x[:, 7] + offset, d), "2")
    found = [assess(asked, RomaSettings(seed=s)) for s in range(12)]
    accepted = [f for f in found if f.extrapolation.basis == "normal"]
    assert len(accepted) >= 9
    # The normal law itself is off by a little: the marginal of a ball has lighter tails.
    law = norm.sf(offset * np.sqrt(d + 2))
    assert law == pytest.approx(wanted, rel=0.2)
    mean = np.mean([f.failure_rate for f in accepted])
    assert mean == pytest.approx(wanted, rel=0.25)
    ranges = [f.extrapolation.if_normal(0.999) for f in accepted]
    assert all(r is not None and r[0] <= law <= r[1] for r in ranges)


def test_a_pocket_of_failures_fools_roma_and_not_the_verdict() -> None:
    """The rate is 1e-4 exactly; RoMA claims less than 1e-15, mostly with normality accepted."""
    asked = around_zero(margin_model(pocket, 30))
    found = [assess(asked, RomaSettings(seed=s)) for s in range(60)]
    accepted = [f for f in found if f.extrapolation.accepted]
    assert len(accepted) >= 50
    unseen = [f for f in accepted if f.counted.failures == 0]
    assert len(unseen) >= 45
    assert all(f.failure_rate < 1e-15 and f.unconfirmed for f in unseen)
    assert sum(not f.counted.covers(1e-4) for f in found) <= 4  # one in a hundred may
    assert all(f.counted.verdict(1e-6) is not Verdict.ROBUST for f in found)
    assert all(f.disagrees for f in accepted if f.counted.failures)


def test_more_samples_reveal_the_pocket() -> None:
    asked = around_zero(margin_model(pocket, 30))
    found = assess(asked, RomaSettings(samples=200_000))
    assert 5 <= found.counted.failures <= 45  # 20 in the mean
    assert found.counted.verdict(1e-6) is Verdict.NOT_ROBUST
    assert found.counted.verdict(1e-3) is Verdict.ROBUST
    assert found.disagrees or not found.extrapolation.accepted


def test_intervals_cover_the_exact_rate_as_often_as_they_say() -> None:
    asked = around_zero(margin_model(lambda x: x[:, 0] + 0.9, 1))  # rate .05
    found = [assess(asked, RomaSettings(100, confidence=0.9, seed=s)).counted for s in range(400)]
    missed = sum(not c.lower <= 0.05 <= c.upper for c in found)
    assert missed <= 40 + 4 * 6  # at most a tenth, and four deviations


@pytest.mark.parametrize(
    ("scores", "word"),
    [
        (NORMAL[:7], "too few"),
        (np.zeros(100), "the same number"),
        (1 + np.spacing(1.0) * (np.arange(100) == 7), "the same number"),
        (np.append(NORMAL, np.inf), "infinite"),
        (np.sign(NORMAL), "rejected, before and after"),
    ],
)
def test_where_no_law_fits_it_says_why_and_claims_nothing(scores: np.ndarray, word: str) -> None:
    found = extrapolated(scores, 1.0)
    assert found.basis == "counting"
    assert word in found.reason
    assert found.failure_rate is None
    assert found.if_normal(0.99) is None


def test_the_count_stands_in_where_normality_is_rejected() -> None:
    asked = around_zero(margin_model(lambda x: np.where(x[:, 0] > 0.5, -1.0, 1.0), 1))
    found = assess(asked, RomaSettings())
    assert not found.extrapolation.accepted
    assert found.failure_rate == found.counted.rate == found.counted.failures / 1000
    assert not found.disagrees


def test_results_do_not_depend_on_batches_and_grow_with_samples() -> None:
    model = margin_model(pocket, 30)
    asked = around_zero(model)
    first = assess(asked, RomaSettings(samples=5000))
    model.rows = 7
    model._most = 7
    assert assess(asked, RomaSettings(samples=5000)) == first
    assert assess(asked, RomaSettings(samples=5000, seed=1)) != first
    long = scored(asked, "margin", 9000, 3, "x").scores
    assert (scored(asked, "margin", 100, 3, "x").scores == long[:100]).all()


def test_verdicts_come_from_the_ends_of_the_interval() -> None:
    count = RateInterval(3, 10, 0.1, 0.6)
    assert count.verdict(0.61) is Verdict.ROBUST
    assert count.verdict(0.6) is None
    assert count.verdict(0.11) is None
    assert count.verdict(0.1) is Verdict.NOT_ROBUST


@pytest.mark.parametrize(
    "wrong",
    [
        {"samples": 0},
        {"confidence": 1.0},
        {"confidence": 0.4},
        {"significance": 0.0},
        {"eps": 0.0},
        {"eps": 1.0},
        {"eps": float("nan")},
        {"confidence": float("nan")},
    ],
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(BadInput, match=r"--\w+ .*; (give|try) "):
        RomaSettings(**wrong)  # type: ignore[arg-type]


def test_infinite_scores_have_no_softmax() -> None:
    def scores(x: np.ndarray) -> torch.Tensor:
        return torch.stack([torch.full((len(x),), torch.inf), torch.zeros(len(x))], 1)

    asked = around_zero(callable_model(lambda x: scores(x).numpy(), (1,)))
    with pytest.raises(BadInput, match="softmax"):
        assess(asked, RomaSettings(score="confidence"))
    found = assess(asked, RomaSettings())
    assert found.extrapolation.reason == "some scores are infinite"
    assert found.counted.failures == 0
