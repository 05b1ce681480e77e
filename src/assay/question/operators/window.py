"""The sliding window of Conv and the pools: where it starts, how it moves, what it covers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.errors import BadInput, Unsupported
from assay.question.operators.call import Call, Shape, T

_LARGEST_PADDED = 2**24
"""Elements of a padded input; strides can hide absurd padding from the output shape."""


@dataclass(frozen=True)
class Window:
    """Spatial geometry, one entry a dimension; padding is before and after."""

    kernel: Shape
    strides: Shape
    dilations: Shape
    before: Shape
    after: Shape

    @property
    def spans(self) -> Shape:
        """How far a dilated kernel reaches."""
        return tuple(d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    @property
    def padded(self) -> bool:
        return any(self.before) or any(self.after)

    def views(self, array: np.ndarray, fill: int) -> np.ndarray:
        """(batch, channel, *positions, *kernel): what each position of the window sees."""
        edges = [(0, 0), (0, 0), *zip(self.before, self.after, strict=True)]
        axes = tuple(range(2, array.ndim))
        full = surrounded(array, edges, fill)
        views = np.lib.stride_tricks.sliding_window_view(full, self.spans, axis=axes)
        steps = [slice(None, None, s) for s in (*self.strides, *self.dilations)]
        return views[(slice(None), slice(None), *steps)]

    def coverage(self, spatial: Sequence[int]) -> np.ndarray:
        """How many kernel entries lie inside an input of these dimensions, by position."""
        ones = np.ones((1, 1, *spatial), np.int64)
        seen = self.views(ones, 0)
        return np.asarray(seen.sum(axis=tuple(range(2 + len(spatial), seen.ndim)))[0, 0])


def surrounded(array: np.ndarray, edges: Sequence[tuple[int, int]], fill: int) -> np.ndarray:
    """`array` with `fill` around it; numpy's own pad would squeeze long integers into int64."""
    sizes = [n + before + after for n, (before, after) in zip(array.shape, edges, strict=True)]
    full = np.full(sizes, fill, dtype=array.dtype)
    inside = [slice(b, b + n) for n, (b, _) in zip(array.shape, edges, strict=True)]
    full[tuple(inside)] = array
    return full


def read_window(call: Call[T], kernel: Shape | None = None) -> Window:
    """Read the window of a node, `kernel` being that of its weight if it has one."""
    spatial = call.input_shape(0)[2:]
    rank = len(spatial)
    kernel = kernel or tuple(call.attribute("kernel_shape", ()))
    strides = tuple(call.attribute("strides", (1,) * rank))
    dilations = tuple(call.attribute("dilations", (1,) * rank))
    given = tuple(call.attribute("pads", (0,) * 2 * rank))
    lengths = [len(kernel), len(strides), len(dilations), len(given) / 2]
    if rank == 0 or any(length != rank for length in lengths):
        raise BadInput(f"{call.place} has a window that does not fit its input; fix its attributes")
    if min(*kernel, *strides, *dilations) < 1 or min(given) < 0:
        raise Unsupported(f"{call.place} is not supported: zero or negative window attributes")
    if tuple(call.attribute("kernel_shape", kernel)) != kernel:
        raise BadInput(f"{call.place} has a kernel_shape unlike its weight; fix the attribute")
    window = Window(kernel, strides, dilations, given[:rank], given[rank:])
    window = _automatic(call, window, spatial)
    room = [
        n + b + a - span
        for n, b, a, span in zip(spatial, window.before, window.after, window.spans, strict=True)
    ]
    plane = [r + span for r, span in zip(room, window.spans, strict=True)]
    if math.prod((*call.input_shape(0)[:2], *plane)) > _LARGEST_PADDED:
        raise Unsupported(f"{call.place} is not supported: its padding is too large")
    if call.attribute("ceil_mode", 0) and any(
        r % s for r, s in zip(room, window.strides, strict=True)
    ):
        raise Unsupported(f"{call.place} is not supported: ceil_mode leaves a partial window")
    positions = tuple(r // s + 1 for r, s in zip(room, window.strides, strict=True))
    if min(room) < 0 or positions != call.output_shape()[2:]:
        raise BadInput(f"{call.place} does not give the inferred shape; fix its attributes")
    return window


def read_pool(call: Call[T]) -> Window:
    """A window that always covers some of the input, as pooling needs."""
    window = read_window(call)
    too_wide = any(p >= k for p, k in zip(window.before, window.kernel, strict=True)) or any(
        p >= k for p, k in zip(window.after, window.kernel, strict=True)
    )
    if too_wide or (window.padded and any(d != 1 for d in window.dilations)):
        raise Unsupported(f"{call.place} is not supported: a window may cover padding only")
    return window


def _automatic(call: Call[T], window: Window, spatial: Shape) -> Window:
    mode = call.attribute("auto_pad", "NOTSET")
    if mode == "NOTSET":
        return window
    if mode not in ("VALID", "SAME_UPPER", "SAME_LOWER") or window.padded:
        raise Unsupported(f"{call.place} is not supported: auto_pad {mode!r} with these pads")
    if mode == "VALID":
        return window
    total = [
        max((-(-n // s) - 1) * s + span - n, 0)
        for n, s, span in zip(spatial, window.strides, window.spans, strict=True)
    ]
    small = tuple(t // 2 for t in total)
    large = tuple(t - t // 2 for t in total)
    before, after = (small, large) if mode == "SAME_UPPER" else (large, small)
    return Window(window.kernel, window.strides, window.dilations, before, after)
