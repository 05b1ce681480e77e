"""An average pool as a matrix over the flattened tensors.

Every window is averaged over its size, or over what it covers of the image where padding does not
count. In float32 that is one sum of no more terms than the matrix has columns, times the rounded
inverse of a number.
"""

from __future__ import annotations

from math import lcm, prod

from flint import fmpz_mat

from assay.proof.arithmetic import Unsupported
from assay.proof.convolution import MOST_WINDOWS, read_geometry
from assay.proof.reader import Node


def read_pool(node: Node, shape: tuple[int, ...]) -> tuple[fmpz_mat, int, tuple[int, ...]]:
    """A pool's matrix times a denominator, that denominator, and the shape it makes."""
    kernel = node.lists.get("kernel_shape", ())
    counted = node.attributes.get("count_include_pad", 0)
    known = set(node.attributes) <= {"count_include_pad", "ceil_mode"}
    if not known or node.attributes.get("ceil_mode", 0) or counted not in (0, 1):
        raise Unsupported(f"{node.place()} is not a plain average pool")
    if len(shape) != 4 or len(kernel) != 2 or max(kernel) > 2 * max(shape):
        raise Unsupported(f"{node.place()} has a window out of proportion to shape {shape}")
    # all channels are pooled alike
    geometry = read_geometry(node, (*shape[:1], 1, *shape[2:]), kernel)
    channels, places, size = shape[1], prod(geometry.positions), prod(kernel)
    if channels * places * max(prod(shape), size) > MOST_WINDOWS:
        raise Unsupported(f"{node.place()} is larger than the checker follows")
    windows = [[i for i in geometry.windows[place::places] if i >= 0] for place in range(places)]
    if not all(windows):
        raise Unsupported(f"{node.place()} has a window that covers padding only")
    common = lcm(size, *map(len, windows))
    matrix, plane = fmpz_mat(channels * places, prod(shape)), prod(shape[2:])
    for channel in range(channels):
        for place, window in enumerate(windows):
            for i in window:
                share = common // (size if counted else len(window))
                matrix[channel * places + place, channel * plane + i] = share
    return matrix, common, (1, channels, *geometry.positions)
