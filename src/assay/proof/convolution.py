"""A convolution as an affine map over the flattened tensors, without writing its matrix down.

Row (i, y, x) of that matrix is filter i laid over the zero-padded input at (y, x) times the
strides. A product with it is one small matrix (filters by taps) times the windows of the vector.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from functools import cached_property
from math import lcm, prod

from flint import fmpz_mat

from assay.proof.arithmetic import Rejected, Unsupported, Vector, entries
from assay.proof.reader import Graph, Node
from assay.proof.work import charge_product, longest

MOST_WINDOWS = 1 << 24
"""Entries of all windows, and of the matrices of all pools, of a network: eight bytes each."""


@dataclass(frozen=True)
class Geometry:
    """Of one image: input (channels, height, width), kernel, strides and padding (top, left)."""

    shape: tuple[int, int, int]
    kernel: tuple[int, int]
    strides: tuple[int, int]
    before: tuple[int, int]
    positions: tuple[int, int]

    @property
    def taps(self) -> list[tuple[int, int]]:
        return [(u, v) for u in range(self.kernel[0]) for v in range(self.kernel[1])]

    @cached_property
    def windows(self) -> array[int]:
        """For each channel and tap, then each position: the input it reads, or -1 for padding."""
        _, height, width = self.shape
        plane = []
        for u, v in self.taps:
            rows = [y * self.strides[0] - self.before[0] + u for y in range(self.positions[0])]
            columns = [x * self.strides[1] - self.before[1] + v for x in range(self.positions[1])]
            plane += [
                y * width + x if 0 <= y < height and 0 <= x < width else -1
                for y in rows
                for x in columns
            ]
        size = height * width
        return array(
            "q",
            (
                -1 if index < 0 else channel * size + index
                for channel in range(self.shape[0])
                for index in plane
            ),
        )


@dataclass(frozen=True, eq=False)
class Convolution:
    """x -> (weight x + bias) / denominator; `weight` has a row of taps for each filter."""

    weight: fmpz_mat
    bias: tuple[int, ...]
    denominator: int
    geometry: Geometry

    @property
    def units(self) -> int:
        return len(self.bias)

    @property
    def inputs(self) -> int:
        return prod(self.geometry.shape)

    @property
    def fan_in(self) -> int:
        """How many products a unit sums, those with padding among them."""
        return int(self.weight.ncols())

    @cached_property
    def length(self) -> int:
        """The bits of the longest weight."""
        return longest(entries(self.weight))

    @cached_property
    def signed_parts(self) -> tuple[fmpz_mat, fmpz_mat]:
        """The positive and the negative part of the filters."""
        flat, shape = entries(self.weight), (int(self.weight.nrows()), self.fan_in)
        positive = fmpz_mat(*shape, [max(entry, 0) for entry in flat])
        return positive, self.weight - positive

    def times(self, filters: fmpz_mat, values: list[int]) -> list[int]:
        """The convolution of `values` with filters of this geometry, without bias."""
        places = prod(self.geometry.positions)
        rows = int(filters.nrows())
        charge_product(rows, self.fan_in, places, self.length, longest(values))
        padded = [*values, 0]
        windows = [padded[index] for index in self.geometry.windows]
        return entries(filters * fmpz_mat(self.fan_in, places, windows))

    def at(self, point: Vector) -> Vector:
        product = self.times(self.weight, list(point.numerators))
        values = (p + b * point.denominator for p, b in zip(product, self.bias, strict=True))
        return Vector(tuple(values), self.denominator * point.denominator)

    def responses(self) -> list[list[int]]:
        """Units that share their weights and their window, so differ by their bias alone."""
        filters: dict[tuple[int, ...], list[int]] = {}
        for number, row in enumerate(self.weight.tolist()):
            filters.setdefault(tuple(map(int, row)), []).append(number)
        places = prod(self.geometry.positions)
        return [
            [i * places + p for i in group] for group in filters.values() for p in range(places)
        ]


def read_convolution(
    node: Node, name: str, shape: tuple[int, ...], graph: Graph
) -> tuple[Convolution, tuple[int, ...]]:
    """The map of a plain two-dimensional Conv node over one image, and the shape it makes."""
    kernel = graph.constants.get(node.inputs[1])
    if kernel is None or node.inputs[0] != name:
        raise Unsupported(f"{node.place()} is not data under plain constant filters")
    geometry = filter_geometry(node, shape, kernel.shape)
    filters, positions = kernel.shape[0], geometry.positions
    taps = prod(kernel.shape[1:])
    values = kernel.values()
    bias = _bias(node, filters, graph)
    common = lcm(values.denominator, bias.denominator)
    weight = fmpz_mat(filters, taps, list(values.over(common)))
    spread = tuple(b for b in bias.over(common) for _ in range(prod(positions)))
    return Convolution(weight, spread, common, geometry), (1, filters, *positions)


def filter_geometry(node: Node, shape: tuple[int, ...], kernel: tuple[int, ...]) -> Geometry:
    """How filters of shape `kernel` move over one image, of a plain two-dimensional Conv node."""
    if node.attributes not in ({}, {"group": 1}):
        raise Unsupported(f"{node.place()} is not data under plain constant filters")
    if len(kernel) != 4 or shape[1:2] != kernel[1:2]:
        raise Unsupported(f"{node.place()} takes shape {shape}, not one image that fits it")
    if node.lists.get("kernel_shape", kernel[2:]) != kernel[2:]:
        raise Unsupported(f"{node.place()} has a window that is not its kernel's")
    geometry = read_geometry(node, shape, kernel[2:])
    if max(prod(kernel[1:]), kernel[0]) * prod(geometry.positions) > MOST_WINDOWS:
        raise Unsupported(f"{node.place()} is larger than the checker follows")
    return geometry


def read_geometry(node: Node, shape: tuple[int, ...], sides: tuple[int, ...]) -> Geometry:
    """How a window with these sides moves over one image."""
    strides = node.lists.get("strides", (1, 1))
    pads = node.lists.get("pads", (0, 0, 0, 0))
    known = {"kernel_shape", "strides", "pads", "dilations"}
    if len(shape) != 4 or shape[0] != 1 or not set(node.lists) <= known:
        raise Unsupported(f"{node.place()} takes shape {shape}, not one image that fits it")
    if node.lists.get("dilations", (1, 1)) != (1, 1) or len(strides) != 2 or len(pads) != 4:
        raise Unsupported(f"{node.place()} has a window that is dilated or has other axes")
    if min(*strides, *sides) < 1 or min(pads) < 0 or max(*strides, *pads) > max(*shape, *sides):
        raise Unsupported(f"{node.place()} has strides or padding out of proportion")
    room = [shape[i + 2] + pads[i] + pads[i + 2] - sides[i] for i in (0, 1)]
    if min(room) < 0:
        raise Rejected(f"{node.place()} has a kernel larger than its padded input")
    return Geometry(
        (shape[1], shape[2], shape[3]),
        (sides[0], sides[1]),
        (strides[0], strides[1]),
        (pads[0], pads[1]),
        (room[0] // strides[0] + 1, room[1] // strides[1] + 1),
    )


def _bias(node: Node, filters: int, graph: Graph) -> Vector:
    if len(node.inputs) == 2:
        return Vector((0,) * filters, 1)
    constant = graph.constants.get(node.inputs[2])
    if constant is None or constant.shape != (filters,):
        raise Unsupported(f"{node.place()} has a bias that is not one constant a filter")
    return constant.values()
