"""Exact operators that move numbers about without changing them."""

from __future__ import annotations

import numpy as np

from assay.errors import BadInput
from assay.question.operators.call import Call, Operator
from assay.question.operators.rational import Rational, aligned
from assay.question.operators.selection import (
    pad_edges,
    refuse_training,
    slice_indices,
    split_parts,
)
from assay.question.operators.window import surrounded


def reshape(call: Call[Rational]) -> Rational:
    """Flatten, Reshape, Squeeze and Unsqueeze: the inferred shape says it all."""
    x = call.value(0)
    return x.like(x.numerators.reshape(call.output_shape()))


def identity(call: Call[Rational]) -> Rational:
    return call.value(0)


def dropout(call: Call[Rational]) -> Rational:
    refuse_training(call)
    return call.value(0)


def transpose(call: Call[Rational]) -> Rational:
    x = call.value(0)
    order = call.attribute("perm", tuple(reversed(range(len(x.shape)))))
    return x.like(np.transpose(x.numerators, order))


def concat(call: Call[Rational]) -> Rational:
    parts, denominator = aligned(*call.values())
    axis = call.axis(call.attribute("axis", 1), parts[0].ndim)
    return Rational(np.concatenate(parts, axis=axis), denominator)


def slice_(call: Call[Rational]) -> Rational:
    x = call.value(0)
    numerators = x.numerators
    for axis, kept in slice_indices(call):
        numerators = np.take(numerators, kept, axis=axis)
    return x.like(numerators)


def split(call: Call[Rational]) -> tuple[Rational, ...]:
    x = call.value(0)
    axis, parts = split_parts(call)
    before = (slice(None),) * axis
    return tuple(x.like(x.numerators[(*before, part)]) for part in parts)


def gather(call: Call[Rational]) -> Rational:
    x, indices = call.value(0), call.constant(1)
    axis = call.axis(call.attribute("axis", 0), len(x.shape))
    return x.like(np.take(x.numerators, indices, axis=axis))


def pad(call: Call[Rational]) -> Rational:
    x = call.value(0)
    mode, edges = pad_edges(call)
    if mode != "constant":
        return x.like(np.pad(x.numerators, edges, mode=mode))  # type: ignore[call-overload]
    value = call.optional(2) or Rational.from_floats(
        np.asarray(call.attribute("value", 0.0), np.float32)
    )
    if value.numerators.size != 1:
        raise BadInput(f"{call.place} takes one number to pad with; fix input 2")
    (numerators, fill), denominator = aligned(x, value)
    return Rational(surrounded(numerators, edges, fill.reshape(-1)[0]), denominator)


def expand(call: Call[Rational]) -> Rational:
    x = call.value(0)
    return x.like(np.broadcast_to(x.numerators, call.output_shape()))


MOVEMENT: dict[str, Operator[Rational]] = {
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
