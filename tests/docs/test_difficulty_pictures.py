"""The pictures of docs/difficulty.md are what their script draws, and the pieces are exact."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from difficulty_pictures import IMAGES, pictures
from difficulty_toy import SPECIFICATION, area, kept, margin_pieces, network

from assay.difficulty.components import NAMES
from assay.difficulty.margin import MarginFunction

_MOST_BYTES = 60_000


def test_the_script_draws_the_committed_files() -> None:
    drawn = pictures()
    assert tuple(drawn) == NAMES
    assert sorted(path.stem for path in IMAGES.iterdir()) == sorted(NAMES)
    for name, text in drawn.items():
        assert (IMAGES / f"{name}.svg").read_text() == text, "run docs/difficulty_pictures.py"
        assert len(text.encode()) < _MOST_BYTES


def test_the_pieces_fill_the_box_and_have_the_networks_margin_and_gradient() -> None:
    function = MarginFunction(network(), SPECIFICATION.cases)
    pieces = margin_pieces()
    assert sum(area(piece.corners) for piece in pieces) == pytest.approx(4)
    centres = torch.tensor(np.array([piece.centre for piece in pieces]))
    cases = torch.zeros(len(pieces), dtype=torch.int64)
    margins, gradients = function.with_gradients(centres, cases)
    for piece, margin, gradient in zip(pieces, margins, gradients, strict=True):
        assert piece.at(piece.centre) == pytest.approx([float(margin)])
        assert piece.weights[0] == pytest.approx(gradient.numpy())
        corners = torch.tensor(piece.corners)
        reached = function.values(corners, torch.zeros(len(corners), dtype=torch.int64))
        assert piece.at(piece.corners)[:, 0] == pytest.approx(reached.numpy())


def test_a_polygon_is_cut_where_it_should() -> None:
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    assert area(kept(square, np.array([1, 1]), -1)) == pytest.approx(0.5)
    assert area(kept(square, np.array([1, 0]), -0.25)) == pytest.approx(0.75)
    assert len(kept(square, np.array([1, 0]), -2)) == 0
    assert area(kept(square, np.array([1, 0]), 2)) == pytest.approx(1)
