"""Convolutions and average pools in balls: exact at points, enclosing over boxes, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper
from small_claims import model

from assay.proof import reader
from assay.proof.arithmetic import Rejected, Unsupported
from assay.proof.ball_network import BallNetwork, Operation
from assay.proof.balls import BITS, Balls, ball, ceiling, floor, over_box
from assay.proof.reader import Graph

Image = tuple[int, int, int]


@dataclass(frozen=True)
class Window:
    """One Conv or AveragePool node over one image, as its attributes say."""

    image: Image
    sides: tuple[int, int]
    strides: tuple[int, int]
    pads: tuple[int, int, int, int]
    kernel: np.ndarray | None = None
    """Of a convolution."""
    bias: np.ndarray | None = None
    counts_padding: bool = False

    @property
    def positions(self) -> tuple[int, int]:
        rows, columns = (
            (self.image[i + 1] + self.pads[i] + self.pads[i + 2] - self.sides[i]) // self.strides[i]
            + 1
            for i in (0, 1)
        )
        return rows, columns

    @property
    def channels(self) -> int:
        return self.image[0] if self.kernel is None else len(self.kernel)

    def node(self) -> tuple[Any, dict[str, np.ndarray]]:
        lists = {"kernel_shape": self.sides, "strides": self.strides, "pads": self.pads}
        if self.kernel is None:
            counted = int(self.counts_padding)
            made = helper.make_node("AveragePool", ["x"], ["y"], count_include_pad=counted, **lists)
            return made, {}
        constants = {"K": self.kernel}
        if self.bias is not None:
            constants["b"] = self.bias
        return helper.make_node("Conv", ["x", *constants], ["y"], **lists), constants

    def graph(self) -> Graph:
        node, constants = self.node()
        shape = (1, self.channels, *self.positions)
        return reader.read(model([node], constants, (1, *self.image), shape).SerializeToString())

    def matrix(self) -> tuple[list[list[Fraction]], list[Fraction]]:
        """Naively, one output and one tap after another: y = M x + c."""
        channels, height, width = self.image
        rows, constants = [], []
        for out, y, x in product(range(self.channels), *map(range, self.positions)):
            row = [Fraction(0)] * (channels * height * width)
            covered = 0
            for read, u, v in product(range(channels), *map(range, self.sides)):
                down = y * self.strides[0] - self.pads[0] + u
                right = x * self.strides[1] - self.pads[1] + v
                if not (0 <= down < height and 0 <= right < width):
                    continue
                place = (read * height + down) * width + right
                if self.kernel is not None:
                    row[place] += Fraction(float(self.kernel[out, read, u, v]))
                elif read == out:
                    row[place] += 1
                    covered += 1
            if self.kernel is None:
                size = self.sides[0] * self.sides[1] if self.counts_padding else covered
                row = [value / size for value in row]
            rows.append(row)
            constants.append(Fraction(0 if self.bias is None else float(self.bias[out])))
        return rows, constants


@st.composite
def windows(draw: st.DrawFn, convolves: bool) -> Window:
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    image = (draw(st.integers(1, 3)), draw(st.integers(3, 5)), draw(st.integers(3, 5)))
    sides = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    strides = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    # a window of a pool must cover some of the image
    most = (2, 2) if convolves else (sides[0] - 1, sides[1] - 1)
    pads = tuple(draw(st.integers(0, most[i % 2])) for i in range(4))
    four = (pads[0], pads[1], pads[2], pads[3])
    if not convolves:
        return Window(image, sides, strides, four, counts_padding=draw(st.booleans()))
    kernel = random.integers(-9, 10, (draw(st.integers(1, 3)), image[0], *sides)) / 8
    bias = random.integers(-9, 10, len(kernel)) / 4 if draw(st.booleans()) else None
    return Window(
        image,
        sides,
        strides,
        four,
        kernel.astype(np.float32),
        None if bias is None else bias.astype(np.float32),
    )


ANY = st.one_of(windows(convolves=True), windows(convolves=False))


def drawn(size: int, seed: int) -> list[Fraction]:
    return [Fraction(int(v), 16) for v in np.random.default_rng(seed).integers(-40, 41, size)]


def applied(rows: Sequence[Sequence[Fraction]], point: Sequence[Fraction]) -> list[Fraction]:
    return [sum((w * v for w, v in zip(row, point, strict=True)), Fraction(0)) for row in rows]


def contains(found: arb, value: Fraction, width: Fraction = Fraction(1, 10**25)) -> bool:
    low, high = floor(found), ceiling(found)
    return bool(low <= value <= high and high - low <= width)


@settings(max_examples=80, deadline=None)
@given(ANY, st.integers(0, 10**6))
def test_a_point_is_mapped_as_by_the_matrix(window: Window, seed: int) -> None:
    rows, constants = window.matrix()
    point = drawn(len(rows[0]), seed)
    right = [a + c for a, c in zip(applied(rows, point), constants, strict=True)]
    with ctx.workprec(BITS):
        network = BallNetwork(window.graph())
        values = network.values(over_box(point, point, (1, *window.image)))
        found = values["y"]
        assert found.shape == (1, window.channels, *window.positions)
        assert all(map(contains, found.entries, right))


@settings(max_examples=60, deadline=None)
@given(ANY, st.integers(0, 10**6))
def test_a_box_is_mapped_to_the_least_and_largest_values(window: Window, seed: int) -> None:
    """An affine map of a box in balls is tight: no input is read twice by one output."""
    rows, constants = window.matrix()
    centre, radius = drawn(len(rows[0]), seed), Fraction(1, 8)
    box = [[v + s * radius for v in centre] for s in (-1, 1)]
    middle = [a + c for a, c in zip(applied(rows, centre), constants, strict=True)]
    reach = [radius * sum(map(abs, row), Fraction(0)) for row in rows]
    with ctx.workprec(BITS):
        values = BallNetwork(window.graph()).values(over_box(*box, (1, *window.image)))
        for found, value, half in zip(values["y"].entries, middle, reach, strict=True):
            assert floor(found) <= value - half
            assert ceiling(found) >= value + half
            # radii of balls have thirty bits
            assert ceiling(found) - floor(found) <= 2 * half * (1 + Fraction(1, 10**6)) + Fraction(
                1, 10**25
            )


@settings(max_examples=80, deadline=None)
@given(ANY, st.integers(0, 10**6))
def test_the_way_back_is_the_transposed_matrix(window: Window, seed: int) -> None:
    rows, _ = window.matrix()
    graph = window.graph()
    adjoint, point = drawn(len(rows), seed), drawn(len(rows[0]), seed + 1)
    right = applied([list(column) for column in zip(*rows, strict=True)], adjoint)
    with ctx.workprec(BITS):
        values = BallNetwork(graph).values(over_box(point, point, (1, *window.image)))
        (node,) = graph.nodes
        step = Operation(node, graph)
        operands = [values[name] for name in step.inputs]
        shape = values["y"].shape
        back = step.backward(operands, values["y"], Balls(shape, [ball(v) for v in adjoint]))
        assert back[0].shape == (1, *window.image)
        assert all(map(contains, back[0].entries, right))


def conv(kernel: tuple[int, ...] = (2, 1, 2, 2), **attributes: Any) -> Graph:
    node = helper.make_node("Conv", ["x", "K"], ["y"], **attributes)
    constants = {"K": np.ones(kernel, np.float32)}
    return reader.read(model([node], constants, (1, 1, 4, 4), (1, 2, 3, 3)).SerializeToString())


def pooled(**attributes: Any) -> Graph:
    node = helper.make_node("AveragePool", ["x"], ["y"], **attributes)
    return reader.read(model([node], {}, (1, 1, 4, 4), (1, 1, 3, 3)).SerializeToString())


@pytest.mark.parametrize(
    "build",
    [
        lambda: conv(dilations=[2, 2]),
        lambda: conv(group=2),
        lambda: conv(kernel=(2, 2, 2, 2)),
        lambda: conv(kernel=(2, 1, 2)),
        lambda: conv(kernel_shape=[3, 3]),
        lambda: conv(strides=[1]),
        lambda: conv(strides=[0, 1]),
        lambda: conv(pads=[-1, 0, 0, 0]),
        lambda: conv(pads=[1 << 40, 0, 0, 0]),
        lambda: conv(kernel=(2, 1, 5, 5)),
        lambda: conv(auto_pad="SAME_UPPER"),
        lambda: pooled(kernel_shape=[2, 2], ceil_mode=1),
        lambda: pooled(kernel_shape=[2, 2], count_include_pad=2),
        lambda: pooled(kernel_shape=[2, 2], dilations=[2, 2]),
        lambda: pooled(kernel_shape=[2]),
        lambda: pooled(kernel_shape=[0, 2]),
        lambda: pooled(kernel_shape=[2, 2], pads=[2, 0, 0, 0]),
        lambda: pooled(kernel_shape=[2, 2], auto_pad="VALID"),
        lambda: pooled(),
    ],
)
def test_windows_with_another_meaning_are_not_followed(build: Any) -> None:
    def evaluate() -> None:
        point = [Fraction(0)] * 16
        BallNetwork(build()).values(over_box(point, point, (1, 1, 4, 4)))

    with ctx.workprec(BITS), pytest.raises((Unsupported, Rejected)):
        evaluate()


def test_filters_must_be_constants() -> None:
    nodes = [
        helper.make_node("Add", ["x", "x"], ["twice"]),
        helper.make_node("Conv", ["x", "twice"], ["y"]),
    ]
    graph = reader.read(model(nodes, {}, (1, 1, 2, 2), (1, 1, 1, 1)).SerializeToString())
    point = [Fraction(1)] * 4
    with ctx.workprec(BITS), pytest.raises(Unsupported, match="plain constant filters"):
        BallNetwork(graph).values(over_box(point, point, (1, 1, 2, 2)))


@pytest.mark.parametrize("length", [1, 3])
def test_a_bias_must_have_one_entry_a_filter(length: int) -> None:
    node = helper.make_node("Conv", ["x", "K", "b"], ["y"])
    constants = {"K": np.ones((2, 1, 2, 2), np.float32), "b": np.ones(length, np.float32)}
    graph = reader.read(model([node], constants, (1, 1, 4, 4), (1, 2, 3, 3)).SerializeToString())
    point = [Fraction(0)] * 16
    with ctx.workprec(BITS), pytest.raises(Unsupported, match="not one constant a filter"):
        BallNetwork(graph).values(over_box(point, point, (1, 1, 4, 4)))
