"""Simpler weights, in any network: zero, one, a power of two, few bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import onnx
from onnx import numpy_helper

from assay.shrink.draft import Draft
from assay.shrink.reduction import Reduction
from assay.shrink.size import costs

Simpler = Callable[[np.ndarray], np.ndarray]


def simpler_weights(name: str, simpler: Simpler) -> Reduction:
    """The places are the weights that get shorter to write."""

    def places(draft: Draft) -> int:
        arrays = (_array(tensor) for tensor in _tensors(draft.onnx))
        return sum(len(_shorter(array, simpler)) for array in arrays)

    def apply(draft: Draft, start: int, stop: int) -> Draft | None:
        model = onnx.ModelProto.FromString(draft.onnx)
        number = 0
        for tensor in _float_tensors(model):
            array = _array(tensor)
            chosen = _shorter(array, simpler)[max(start - number, 0) : max(stop - number, 0)]
            number += len(_shorter(array, simpler))
            if len(chosen):
                flat = array.ravel().copy()
                flat[chosen] = simpler(flat[chosen])
                changed = numpy_helper.from_array(flat.reshape(array.shape), tensor.name)
                tensor.CopyFrom(changed)
        return replace(draft, onnx=model.SerializeToString(deterministic=True))

    return Reduction(name, places, apply)


def _tensors(data: bytes) -> list[onnx.TensorProto]:
    return _float_tensors(onnx.ModelProto.FromString(data))


def _float_tensors(model: onnx.ModelProto) -> list[onnx.TensorProto]:
    return [t for t in model.graph.initializer if t.data_type == onnx.TensorProto.FLOAT]


def _array(tensor: onnx.TensorProto) -> np.ndarray:
    return np.asarray(numpy_helper.to_array(tensor))


def _shorter(array: np.ndarray, simpler: Simpler) -> np.ndarray:
    return np.asarray(np.flatnonzero(costs(simpler(array)) < costs(array)))


def to_bits(array: np.ndarray, bits: int) -> np.ndarray:
    """The nearest numbers with so many significant bits."""
    mantissas, exponents = np.frexp(array.astype(np.float64))
    short = np.rint(np.ldexp(mantissas, bits))
    return np.asarray(np.ldexp(short, exponents - bits), np.float32)


ZERO_WEIGHTS = simpler_weights("zero weights", np.zeros_like)
UNIT_WEIGHTS = simpler_weights("weights of one", np.sign)
POWER_WEIGHTS = simpler_weights("weights of one bit", lambda array: to_bits(array, 1))
SHORT_WEIGHTS = simpler_weights("weights of four bits", lambda array: to_bits(array, 4))
