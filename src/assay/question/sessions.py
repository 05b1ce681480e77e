"""Sessions of ONNX Runtime: opening one, asking it, and what its complaints become."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import BadInput

if TYPE_CHECKING:
    import onnxruntime

_SILENT = 4
_PROBES = 3


def open_session(
    data: bytes, place: str, threads: int = 1, libraries: Sequence[Path] = ()
) -> onnxruntime.InferenceSession:
    """`libraries` are shared objects that register the operators of custom domains."""
    import onnxruntime  # it starts a thread: only for who runs a model

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _SILENT
    for library in libraries:
        try:
            options.register_custom_ops_library(str(library.absolute()))
        except Exception as error:  # ONNX Runtime's exceptions share no base class
            raise BadInput(
                f"{library}: is no library of operators for ONNX Runtime ({one_line(error)}); "
                "give the shared object that registers them"
            ) from None
    try:
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's exceptions share no base class
        raise refusal(place, error) from None


def ask(
    session: onnxruntime.InferenceSession,
    output: str,
    given: dict[str, np.ndarray],
    place: str,
) -> np.ndarray:
    try:
        (result,) = session.run([output], given)
    except Exception as error:  # ONNX Runtime's exceptions share no base class
        raise refusal(place, error) from None
    return np.asarray(result)


def refusal(place: str, error: Exception) -> BadInput:
    return BadInput(f"{place}: ONNX Runtime refuses it ({one_line(error)}); export the model again")


def one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:160]


def probes(inputs: int) -> np.ndarray:
    """A few points with which ways of asking are compared."""
    return np.random.default_rng(0).normal(size=(_PROBES, inputs)).astype(np.float32)


def agree(together: np.ndarray, apart: np.ndarray) -> bool:
    """Whether a batch says what single points say, up to rounding."""
    if together.shape != apart.shape:
        return False
    scale = float(np.nan_to_num(np.abs(apart), posinf=0.0).max(initial=0.0))
    return bool(np.allclose(together, apart, rtol=1e-3, atol=1e-3 * scale, equal_nan=True))
