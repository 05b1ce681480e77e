"""Margins are positive exactly where the property is kept; ties fail."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.analyse.kept import LabelSet, Unviolated
from assay.errors import BadInput
from assay.question.property import Inequality, Violation

CLASSES = 5
QUARTERS = arrays(np.float64, (3, CLASSES), elements=st.integers(-8, 8).map(lambda n: n / 4))
"""Coarse enough to tie often."""


@given(QUARTERS, st.sets(st.integers(0, CLASSES - 1), min_size=1, max_size=CLASSES - 1))
def test_a_label_set_keeps_what_scores_highest_in_it(scores: np.ndarray, labels: set[int]) -> None:
    margins = LabelSet(tuple(labels)).margins(torch.from_numpy(scores))
    for row, margin in zip(scores, margins.tolist(), strict=True):
        others = [row[k] for k in range(CLASSES) if k not in labels]
        assert margin == max(row[k] for k in labels) - max(others)


def test_a_tie_fails() -> None:
    assert float(LabelSet((1,)).margins(torch.tensor([[2.0, 2.0]]))) == 0


@given(QUARTERS, st.integers(0, CLASSES - 1))
def test_one_label_and_its_misclassification_are_one_property(
    scores: np.ndarray, label: int
) -> None:
    tensor = torch.from_numpy(scores)
    stated = Unviolated(Violation.misclassification(label, CLASSES))
    assert torch.equal(stated.margins(tensor), LabelSet((label,)).margins(tensor))


@given(QUARTERS)
def test_a_violation_has_its_exact_margin(scores: np.ndarray) -> None:
    both = (
        Inequality(((0, Fraction(1)), (1, Fraction(-2))), Fraction(1, 2)),
        Inequality(((3, Fraction(1)),), Fraction(0)),
    )
    violation = Violation(CLASSES, (both, (Inequality(((4, Fraction(-1)),), Fraction(-1)),)))
    margins = Unviolated(violation).margins(torch.from_numpy(scores))
    for row, margin in zip(scores, margins.tolist(), strict=True):
        assert margin == float(violation.margin([Fraction(value) for value in row]))


def test_labels_that_do_not_exist_are_named() -> None:
    with pytest.raises(BadInput, match="label 3 does not exist: the model has classes 0 to 1"):
        LabelSet((0, 3)).margins(torch.zeros(1, 2))
    with pytest.raises(BadInput, match="label -1 does not exist"):
        LabelSet((-1,)).margins(torch.zeros(1, 2))


def test_sets_that_decide_nothing_are_refused() -> None:
    with pytest.raises(BadInput, match="name at least one"):
        LabelSet(())
    with pytest.raises(BadInput, match="leave one out"):
        LabelSet((0, 1)).margins(torch.zeros(1, 2))
    with pytest.raises(BadInput, match="one score an input"):
        LabelSet((0,)).margins(torch.zeros(4, 1))


def test_a_property_of_another_model_is_refused() -> None:
    with pytest.raises(BadInput, match="2 scores where the property has 3"):
        Unviolated(Violation.misclassification(0, 3)).margins(torch.zeros(1, 2))
