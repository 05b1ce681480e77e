"""Which entries Slice, Split, Pad and the reductions mean, in whichever opset wrote them."""

from __future__ import annotations

import numpy as np

from assay.errors import BadInput, Unsupported
from assay.question.operators.call import Call, T


def slice_indices(call: Call[T]) -> list[tuple[int, range]]:
    """(axis, kept indices) for every axis that a Slice names."""
    shape = call.input_shape(0)
    starts = call.integers(1, "starts") or ()
    ends = call.integers(2, "ends") or ()
    axes = call.integers(3, "axes")
    axes = tuple(range(len(starts))) if axes is None else axes
    steps = call.integers(4, "steps")
    steps = (1,) * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise BadInput(f"{call.place} has starts, ends, axes and steps that do not match; fix them")
    positive = [call.axis(axis, len(shape)) for axis in axes]
    if len(set(positive)) != len(positive):
        raise BadInput(f"{call.place} slices an axis twice; merge the slices")
    cuts = zip(positive, starts, ends, steps, strict=True)
    return [(axis, range(shape[axis])[slice(start, end, step)]) for axis, start, end, step in cuts]


def split_parts(call: Call[T]) -> tuple[int, list[slice]]:
    """The axis of a Split and the slice of each output."""
    shape = call.input_shape(0)
    axis = call.axis(call.attribute("axis", 0), len(shape))
    sizes = [call.output_shape(i)[axis] for i in range(len(call.node.outputs))]
    stops = np.cumsum(sizes)
    if stops[-1] != shape[axis]:
        raise BadInput(f"{call.place} has parts that do not add up to its input; fix the split")
    return axis, [
        slice(int(stop) - size, int(stop)) for stop, size in zip(stops, sizes, strict=True)
    ]


def pad_edges(call: Call[T]) -> tuple[str, list[tuple[int, int]]]:
    """The mode of a Pad and (before, after) for every axis."""
    shape = call.input_shape(0)
    mode = call.attribute("mode", "constant")
    pads = call.integers(1, "pads") or ()
    axes = call.integers(3, "axes")
    axes = tuple(range(len(shape))) if axes is None else axes
    positive = [call.axis(axis, len(shape)) for axis in axes]
    if len(pads) != 2 * len(positive) or len(set(positive)) != len(positive):
        raise BadInput(f"{call.place} has pads that do not match its axes; fix the pads")
    edges = [(0, 0)] * len(shape)
    for i, axis in enumerate(positive):
        edges[axis] = (pads[i], pads[i + len(positive)])
    if any(min(edge) < 0 for edge in edges):
        raise Unsupported(f"{call.place} is not supported: negative pads")
    if mode == "reflect" and any(max(e) >= n for e, n in zip(edges, shape, strict=True)):
        raise Unsupported(f"{call.place} is not supported: reflects more than the input holds")
    if mode not in ("constant", "reflect", "edge"):
        raise Unsupported(f"{call.place} is not supported: mode {mode!r}")
    return mode, edges


def reduced_axes(call: Call[T]) -> tuple[int, ...]:
    """The axes a reduction removes; none named means all, unless the node says otherwise."""
    rank = len(call.input_shape(0))
    axes = call.integers(1, "axes")
    if not axes:
        return () if call.attribute("noop_with_empty_axes", 0) else tuple(range(rank))
    positive = tuple(sorted({call.axis(axis, rank) for axis in axes}))
    if len(positive) != len(axes):
        raise BadInput(f"{call.place} names an axis twice; remove one")
    return positive


def refuse_training(call: Call[T]) -> None:
    """Dropout and BatchNormalization are read as they behave after training."""
    training = bool(call.attribute("training_mode", 0))
    if call.node.op_type == "Dropout" and call.has(2):
        training = bool(call.constant(2).any())
    if training or call.attribute("spatial", 1) != 1:
        raise Unsupported(f"{call.place} is not supported in training or per-pixel mode")
