"""Convolutions and average pools on balls: filters laid over windows, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

from flint import arb, arb_mat

from assay.proof.arithmetic import Unsupported
from assay.proof.balls import Ball, Balls, ball
from assay.proof.convolution import Geometry, filter_geometry
from assay.proof.pooling import read_pool
from assay.proof.work import charge, fit

if TYPE_CHECKING:
    from assay.proof.ball_operators import Step


def convolution(step: Step) -> Balls:
    geometry, filters = _geometry(step)
    image = step.operands[0].entries
    padded = [*image, arb(0)]
    taps, places = prod(filters.shape[1:]), prod(geometry.positions)
    fit(6 * taps * places, 0)
    windows = arb_mat(taps, places, [padded[i] for i in geometry.windows])
    product = (arb_mat(filters.shape[0], taps, filters.entries) * windows).entries()
    if len(step.operands) == 3:
        bias = step.operands[2]
        if bias.shape != filters.shape[:1]:
            raise Unsupported(f"{step.node.place()} has a bias that is not one constant a filter")
        product = [value + bias.entries[i // places] for i, value in enumerate(product)]
    return Balls((1, filters.shape[0], *geometry.positions), product)


def convolution_back(step: Step, adjoint: Balls) -> list[Balls]:
    geometry, filters = _geometry(step)
    taps, places = prod(filters.shape[1:]), prod(geometry.positions)
    matrix = arb_mat(filters.shape[0], taps, filters.entries).transpose()
    changes = (matrix * arb_mat(filters.shape[0], places, adjoint.entries)).entries()
    shape = step.operands[0].shape
    return [Balls(shape, _gathered(prod(shape), geometry.windows, changes))]


def pool(step: Step) -> Balls:
    matrix, shape = _shares(step)
    column = arb_mat(matrix.ncols(), 1, step.operands[0].entries)
    return Balls(shape, (matrix * column).entries())


def pool_back(step: Step, adjoint: Balls) -> list[Balls]:
    matrix, _ = _shares(step)
    row = arb_mat(1, matrix.nrows(), adjoint.entries)
    return [Balls(step.operands[0].shape, (row * matrix).entries())]


def _geometry(step: Step) -> tuple[Geometry, Balls]:
    image, filters = step.operands[:2]
    if not step.graph.constants.keys() >= {*step.node.inputs[1:]}:
        raise Unsupported(f"{step.node.place()} is not data under plain constant filters")
    return filter_geometry(step.node, image.shape, filters.shape), filters


def _shares(step: Step) -> tuple[arb_mat, tuple[int, ...]]:
    matrix, denominator, shape = read_pool(step.node, step.operands[0].shape)
    # a ball takes six words
    fit(6 * matrix.nrows() * matrix.ncols(), 0)
    charge(30 * matrix.nrows() * matrix.ncols())
    return arb_mat(matrix) * ball(Fraction(1, denominator)), shape


def _gathered(size: int, places: Sequence[int], changes: list[Ball]) -> list[Ball]:
    total = [arb(0)] * size
    for place, change in zip(places, changes, strict=True):
        if place >= 0:
            total[place] += change
    return total
