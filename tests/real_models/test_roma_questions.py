"""What the questions of RoMA's Table 1 ask."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from real_models.roma_networks import TABLE_1, at_most_zero, highest, table_1_questions

from assay.errors import BadInput
from assay.question.asked import read_question
from assay.question.graph import mlp


def test_the_violations_hold_where_the_paper_counts_them() -> None:
    random = np.random.default_rng(0)
    for scores in random.integers(-2, 3, (200, 5)).tolist():
        exact = [Fraction(score) for score in scores]
        assert (highest(0, 5).margin(exact) <= 0) == (int(np.argmax(scores)) == 0)
        assert (at_most_zero().margin(exact[:1]) <= 0) == (not scores[0] > 0)


def test_every_row_becomes_a_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_STUDIES", str(tmp_path / "cache"))
    for row in TABLE_1:
        path = tmp_path / "clone" / "validate-RoMA-with-exact-count" / row.file
        path.parent.mkdir(parents=True, exist_ok=True)
        inputs, outputs = (5, 5) if "ACAS" in row.name else (int(row.name.split("_")[1]), 1)
        layer = (np.ones((outputs, inputs), np.float32), np.zeros(outputs, np.float32))
        path.write_bytes(mlp([layer]))
    questions = table_1_questions(tmp_path / "clone")
    assert len(questions) == 12
    for question in questions:
        network, specification = read_question(question.onnx, question.vnnlib)
        (case,) = specification.cases
        assert case.box.dimension == network.inputs


def test_a_missing_clone_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="name a clone of adielashrov/trust-ai-roma-for-llm"):
        table_1_questions(tmp_path)
