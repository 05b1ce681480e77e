"""Differentiable operators that move numbers about without changing them.

Every tensor carries one more leading axis than the graph says: the points of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from assay.errors import BadInput
from assay.question.operators.call import Call, Operator
from assay.question.operators.selection import (
    pad_edges,
    refuse_training,
    slice_indices,
    split_parts,
)


def reshape(call: Call[Tensor]) -> Tensor:
    """Flatten, Reshape, Squeeze and Unsqueeze: the inferred shape says it all."""
    return call.value(0).reshape(-1, *call.output_shape())


def identity(call: Call[Tensor]) -> Tensor:
    return call.value(0)


def dropout(call: Call[Tensor]) -> Tensor:
    refuse_training(call)
    return call.value(0)


def transpose(call: Call[Tensor]) -> Tensor:
    x = call.value(0)
    order = call.attribute("perm", tuple(reversed(range(x.ndim - 1))))
    return x.permute(0, *(call.axis(axis, x.ndim - 1) + 1 for axis in order))


def concat(call: Call[Tensor]) -> Tensor:
    parts = call.values()
    axis = call.axis(call.attribute("axis", 1), parts[0].ndim - 1)
    batch = max(part.shape[0] for part in parts)
    return torch.cat([part.expand(batch, *part.shape[1:]) for part in parts], dim=axis + 1)


def slice_(call: Call[Tensor]) -> Tensor:
    x = call.value(0)
    for axis, kept in slice_indices(call):
        if kept.step > 0:
            x = x[(slice(None),) * (axis + 1) + (slice(kept.start, kept.stop, kept.step),)]
        else:
            x = _take(x, axis, list(kept))
    return x


def split(call: Call[Tensor]) -> tuple[Tensor, ...]:
    x = call.value(0)
    axis, parts = split_parts(call)
    return tuple(x[(slice(None),) * (axis + 1) + (part,)] for part in parts)


def gather(call: Call[Tensor]) -> Tensor:
    x, indices = call.value(0), call.constant(1)
    axis = call.axis(call.attribute("axis", 0), x.ndim - 1)
    size = x.shape[axis + 1]
    flat = [int(i) + size if i < 0 else int(i) for i in indices.ravel()]
    return _take(x, axis, flat).reshape(-1, *call.output_shape())


def pad(call: Call[Tensor]) -> Tensor:
    x = call.value(0)
    mode, edges = pad_edges(call)
    if mode != "constant":
        for axis, edge in enumerate(edges):
            if any(edge):
                indices = np.pad(np.arange(x.shape[axis + 1]), edge, mode=mode)  # type: ignore[call-overload]
                x = _take(x, axis, indices.tolist())
        return x
    value = call.attribute("value", 0.0)
    if call.has(2):
        given = call.constant(2)
        if given.size != 1:
            raise BadInput(f"{call.place} takes one number to pad with; fix input 2")
        value = float(given.reshape(-1)[0])
    flat = [p for edge in reversed(edges) for p in edge]
    return functional.pad(x, flat, value=value)


def expand(call: Call[Tensor]) -> Tensor:
    x, shape = call.value(0), call.output_shape()
    aligned = x.reshape(x.shape[0], *(1,) * (len(shape) + 1 - x.ndim), *x.shape[1:])
    return aligned.expand(x.shape[0], *shape)


def _take(x: Tensor, axis: int, indices: Sequence[int]) -> Tensor:
    return x.index_select(axis + 1, torch.tensor(indices, dtype=torch.long, device=x.device))


MOVEMENT: dict[str, Operator[Tensor]] = {
    "Concat": concat,
    "Dropout": dropout,
    "Expand": expand,
    "Flatten": reshape,
    "Gather": gather,
    "Identity": identity,
    "Pad": pad,
    "Reshape": reshape,
    "Slice": slice_,
    "Split": split,
    "Squeeze": reshape,
    "Transpose": transpose,
    "Unsqueeze": reshape,
}
