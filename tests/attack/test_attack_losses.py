"""Cross-entropy and DLR through disjuncts are what they are for classifiers."""

from __future__ import annotations

import pytest
import torch
from small_questions import affine, asked, box

from assay.attack.losses import cross_entropy, logit_ratio, margin, scores, three_scores
from assay.attack.target import Target
from assay.difficulty.margin import MarginFunction
from assay.question.property import Violation


def target(classes: int, label: int) -> Target:
    network = affine([[float(i)] for i in range(classes)], [0.0] * classes)
    specification = asked((box(1), Violation.misclassification(label, classes)))
    return Target(MarginFunction(network, specification.cases), 0, 0, "test")


@pytest.mark.parametrize("label", [0, 2, 3])
def test_the_losses_of_a_classifier(label: int) -> None:
    outputs = torch.randn(20, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = target(4, label)
    labels = torch.full((20,), label)
    expected = torch.nn.functional.cross_entropy(outputs, labels, reduction="none")
    torch.testing.assert_close(cross_entropy(found, outputs), expected)
    others = outputs.clone()
    others[:, label] = -torch.inf
    lead = others.amax(1) - outputs[:, label]
    torch.testing.assert_close(margin(found, outputs), lead)
    best = outputs.sort(dim=1, descending=True).values
    torch.testing.assert_close(logit_ratio(found, outputs), lead / (best[:, 0] - best[:, 2]))
    assert scores(found, outputs).shape == three_scores(found, outputs).shape == (20, 4)


def test_two_classes_get_a_bystander_that_never_wins() -> None:
    outputs = torch.tensor([[1.0, -3.0], [2.0, 2.5]], dtype=torch.float64)
    found = target(2, 0)
    all_three = three_scores(found, outputs)
    assert all_three.tolist() == [[0, -4, -4], [0, 0.5, -3.5]]
    torch.testing.assert_close(
        logit_ratio(found, outputs), torch.tensor([-1.0, 0.125], dtype=torch.float64)
    )
