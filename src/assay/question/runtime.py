"""Evaluation in ONNX Runtime: what a deployed network says, in float32, many points at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from assay.errors import BadInput
from assay.question.batching import batched_model, has_free_batch, set_input_shape
from assay.question.network import Network
from assay.question.sessions import agree, ask, open_session, probes

if TYPE_CHECKING:
    import onnxruntime


class FloatRunner:
    """A network loaded into ONNX Runtime; single-threaded unless asked otherwise.

    Many points run at once where the file itself leaves its first axis free, or where the rules of
    `batching` prove that it may be freed; in both cases only if a few points, asked together and
    one by one, get the same answers.
    """

    def __init__(self, network: Network, threads: int = 1) -> None:
        self.network = network
        model = onnx.ModelProto.FromString(network.onnx)
        free = has_free_batch(model, network)
        self._single = self._session(set_input_shape(model, network, network.input_shape), threads)
        self._batched = self._batched_session(threads, free)

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
        return open_session(model.SerializeToString(), self.network.place, threads)

    def _batched_session(self, threads: int, free: bool) -> onnxruntime.InferenceSession | None:
        model = batched_model(self.network)
        if model is None and free:
            model = onnx.ModelProto.FromString(self.network.onnx)
        if model is None:
            return None
        probe = probes(self.network.inputs)
        try:
            session = self._session(model, threads)
            together = self._call(session, probe, len(probe))
            apart = np.concatenate([self._call(self._single, point, 1) for point in probe])
        except BadInput:
            return None
        return session if agree(together, apart) else None

    def _call(
        self, session: onnxruntime.InferenceSession, points: np.ndarray, count: int
    ) -> np.ndarray:
        network = self.network
        shape = network.input_shape
        batch = points.reshape(shape if count == 1 else (count, *shape[1:]))
        result = ask(session, network.output_name, {network.input_name: batch}, network.place)
        if result.size != count * network.outputs:
            raise BadInput(
                f"{network.place}: ONNX Runtime gives {result.size} numbers where "
                f"{count * network.outputs} were inferred; export the model again"
            )
        return result.reshape(count, network.outputs)
