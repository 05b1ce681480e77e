"""Evaluation in ONNX Runtime: what a deployed network says, in float32, many points at once."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime

from assay.errors import BadInput
from assay.question.batching import batched_model, set_input_shape
from assay.question.network import Network

_SILENT = 4


class FloatRunner:
    """A network loaded into ONNX Runtime; single-threaded unless asked otherwise."""

    def __init__(self, network: Network, threads: int = 1) -> None:
        self.network = network
        model = onnx.ModelProto.FromString(network.onnx)
        self._single = self._session(set_input_shape(model, network, network.input_shape), threads)
        self._batched = self._batched_session(threads)

    @property
    def batched(self) -> bool:
        """Whether many points run in one call; otherwise they run one by one."""
        return self._batched is not None

    def run(self, points: np.ndarray) -> np.ndarray:
        """Outputs [n, outputs] at float32 `points` [n, inputs], both flattened in C order."""
        network = self.network
        if points.ndim != 2 or points.shape[1] != network.inputs or points.dtype != np.float32:
            raise BadInput(
                f"{network.place}: points are {points.dtype}{list(points.shape)}; give float32 "
                f"[n, {network.inputs}]"
            )
        if self._batched is not None and len(points) > 1:
            return self._call(self._batched, points, len(points))
        rows = [self._call(self._single, point, 1) for point in points]
        return np.concatenate(rows) if rows else np.empty((0, network.outputs), np.float32)

    def _session(self, model: onnx.ModelProto, threads: int) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = _SILENT
        try:
            return onnxruntime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # ONNX Runtime's exceptions share no base class
            raise self._refusal(error) from None

    def _batched_session(self, threads: int) -> onnxruntime.InferenceSession | None:
        """The batched session if it says what single evaluation says, up to rounding."""
        model = batched_model(self.network)
        if model is None:
            return None
        probe = np.random.default_rng(0).normal(size=(3, self.network.inputs)).astype(np.float32)
        try:
            session = self._session(model, threads)
            together = self._call(session, probe, len(probe))
            apart = np.concatenate([self._call(self._single, point, 1) for point in probe])
        except BadInput:
            return None
        scale = float(np.nan_to_num(np.abs(apart), posinf=0.0).max())
        close = np.allclose(together, apart, rtol=1e-3, atol=1e-3 * scale, equal_nan=True)
        return session if close else None

    def _call(
        self, session: onnxruntime.InferenceSession, points: np.ndarray, count: int
    ) -> np.ndarray:
        shape = self.network.input_shape
        batch = points.reshape(shape if count == 1 else (count, *shape[1:]))
        try:
            (result,) = session.run([self.network.output_name], {self.network.input_name: batch})
        except Exception as error:  # ONNX Runtime's exceptions share no base class
            raise self._refusal(error) from None
        if result.size != count * self.network.outputs:
            raise BadInput(
                f"{self.network.place}: ONNX Runtime gives {result.size} numbers where "
                f"{count * self.network.outputs} were inferred; export the model again"
            )
        return np.asarray(result.reshape(count, self.network.outputs))

    def _refusal(self, error: Exception) -> BadInput:
        reason = " ".join(str(error).split())[:160]
        return BadInput(
            f"{self.network.place}: ONNX Runtime refuses it ({reason}); export the model again"
        )
