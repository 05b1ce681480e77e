"""Examples: where counterexamples lie, boxes that do not meet, labels, the grid."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import BadInput
from assay.truth.training.architectures import ARCHITECTURES, input_shape, size
from assay.truth.training.examples import GRID, drawn
from assay.truth.training.settings import Schedule, Setting


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**63 - 1),
    architecture=st.sampled_from(sorted(ARCHITECTURES)),
    channels=st.integers(1, 3),
    classes=st.integers(2, 10),
    examples=st.integers(1, 6),
    epsilon=st.floats(0.01, 0.3),
    shell=st.floats(0, 1),
)
def test_counterexamples_lie_in_the_shell_of_boxes_that_do_not_meet(
    seed: int,
    architecture: str,
    channels: int,
    classes: int,
    examples: int,
    epsilon: float,
    shell: float,
) -> None:
    schedule = Schedule(architecture, channels, classes, examples)
    made = drawn(schedule, Setting(seed, epsilon, shell=shell))
    inputs = size(input_shape(ARCHITECTURES[architecture], channels))
    assert made.centres.shape == (2 * examples, inputs)
    assert made.counterexamples.shape == (examples, inputs)
    centres = made.centres.astype(np.float64)
    assert np.abs(centres).max() <= 1
    away = np.abs(made.counterexamples.astype(np.float64) - centres[:examples])
    assert away.max() <= made.epsilon
    assert away.min() >= min(shell, 1) * made.epsilon - GRID * 1e-6
    for one, other in combinations(centres, 2):
        assert np.abs(one - other).max() > 2 * made.epsilon
    assert made.labels.shape == (2 * examples,)
    assert set(made.labels) | set(made.targets) <= set(range(classes))
    assert (made.targets != made.labels[:examples]).all()
    for value in (made.epsilon, *made.centres.flat, *made.counterexamples.flat):
        assert (Fraction(float(value)) / Fraction(GRID)).denominator == 1


def test_both_signs_all_labels_and_all_targets_occur() -> None:
    made = drawn(Schedule("cnn_1_conv", 3, 10, 50), Setting(epsilon=0.05))
    away = made.counterexamples - made.centres[:50]
    assert abs(np.sign(away).mean()) < 0.1
    assert set(made.labels) == set(made.targets) == set(range(10))
    # not at corners only, as in the released code
    assert (
        (np.abs(made.counterexamples - made.centres[:50]) < made.epsilon * 0.999).any(axis=1).all()
    )


def test_a_seed_decides_all_and_another_seed_draws_anew() -> None:
    one, again, other = (drawn(Schedule(), Setting(seed)) for seed in (4, 4, 5))
    assert np.array_equal(one.centres, again.centres)
    assert np.array_equal(one.counterexamples, again.counterexamples)
    assert not np.isin(one.centres, other.centres).any()


def test_boxes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(BadInput, match=r"no 40 boxes of radius 0\.5 .* lower epsilon or examples"):
        drawn(Schedule("tiny_mlp", examples=20), Setting(epsilon=0.5))


def test_a_radius_below_the_grid_is_refused() -> None:
    with pytest.raises(BadInput, match="epsilon 1e-09 is below"):
        drawn(Schedule(), Setting(epsilon=1e-9))
