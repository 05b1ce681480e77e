"""Any model that ONNX Runtime runs, as a function of points: what sampling needs, and no more.

No operator has to be known. One rule says, for every command, how points go into the input's first
axis:

- it is free: points go in together, if a few of them get the same answers together and one by one;
- its length is 1: points go in one by one;
- its length is n, and a point fills one of n rows: points go in n at a time, the last batch filled
  up, if the answer to a row does not depend on the others;
- its length is n, and a point fills all of it: points go in one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto

from assay.errors import BadInput
from assay.question.model_file import ModelFile
from assay.question.score_output import choose_output, keep_output
from assay.question.sessions import agree, ask, open_session, probes

_DTYPES: dict[int, np.dtype[np.generic]] = {
    TensorProto.FLOAT: np.dtype(np.float32),
    TensorProto.DOUBLE: np.dtype(np.float64),
    TensorProto.FLOAT16: np.dtype(np.float16),
}


@dataclass(frozen=True)
class RunOptions:
    """What a person says about a model: which output holds its scores, whose operators it uses."""

    output: str = ""
    libraries: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.output or self.libraries)


class Runnable:
    """A model in a session; `shape` is that of one point, `note` what a person should know."""

    def __init__(
        self,
        file: ModelFile,
        given: Sequence[int] | None = None,
        options: RunOptions | None = None,
        threads: int = 1,
    ) -> None:
        """`given` is the shape of the points that will come, as far as it is known."""
        options = options or RunOptions()
        self.place, self.sha256 = file.place, file.sha256
        chosen = choose_output(file.model, file.place, options.output)
        self.output = chosen.name
        self._tensor = chosen.tensor
        model = keep_output(file.model, chosen)
        self._session = open_session(
            model.SerializeToString(), file.place, threads, options.libraries
        )
        self._name, self.dtype, declared = _only_input(file)
        self._batch, self.shape = _fitted(declared, given, f"{file.place}: input {self._name!r}")
        self.inputs = math.prod(self.shape)
        first = self._asked(np.zeros((self._batch or 1, self.inputs), np.float32))
        self._rows = self._batch or 1
        self.outputs = first.size // self._rows
        if not first.size or first.size % self._rows:
            raise self._no_rows(first)
        self.batched = self._batched()
        self.note = ""
        if chosen.others:
            others = ", ".join(map(repr, chosen.others))
            self.note = (
                f"{file.place}: takes the output {chosen.name!r} as scores (it also has {others})"
            )

    def run(self, points: np.ndarray) -> np.ndarray:
        """Scores [n, outputs] at points [n, inputs]."""
        if points.ndim != 2 or points.shape[1] != self.inputs:
            raise BadInput(
                f"{self.place}: points of shape {list(points.shape)}; give [n, {self.inputs}]"
            )
        if not len(points):
            return np.empty((0, self.outputs), np.float32)
        if self._rows > 1:
            parts = [
                self._filled(points[i : i + self._rows]) for i in range(0, len(points), self._rows)
            ]
            return np.concatenate(parts)
        if self.batched:
            return self._asked(points).reshape(len(points), self.outputs)
        singles = [self._asked(point[np.newaxis]).reshape(1, -1) for point in points]
        return np.concatenate(singles)

    def _batched(self) -> bool:
        """Whether rows may share a batch; a fixed batch whose rows mix is refused."""
        probe = probes(self.inputs)
        if self._rows > 1:
            alone = np.concatenate([self._filled(point[np.newaxis]) for point in probe])
            together = np.concatenate(
                [self._filled(probe[i : i + self._rows]) for i in range(0, len(probe), self._rows)]
            )
            if not agree(together, alone):
                raise BadInput(
                    f"{self.place}: its input has {self._rows} rows, whose answers depend on each "
                    "other; export it with a batch of 1 or a free one"
                )
            return True
        if self._batch is not None:
            return False
        try:
            together = self._asked(probe).reshape(len(probe), -1)
        except (BadInput, ValueError):
            return False
        alone = np.concatenate([self._asked(p[np.newaxis]).reshape(1, -1) for p in probe])
        return agree(together, alone)

    def _filled(self, points: np.ndarray) -> np.ndarray:
        """At most as many points as there are rows; the last one fills those that are left."""
        numbers = np.minimum(np.arange(self._rows), len(points) - 1)
        found = self._asked(points[numbers])
        if found.shape[:1] != (self._rows,):
            raise self._no_rows(found)
        return found.reshape(self._rows, -1)[: len(points)]

    def _asked(self, points: np.ndarray) -> np.ndarray:
        batch = points.astype(self.dtype, copy=False)
        whole = self.shape if self._batch == 0 else (len(points), *self.shape)
        return ask(self._session, self._tensor, {self._name: batch.reshape(whole)}, self.place)

    def _no_rows(self, found: np.ndarray) -> BadInput:
        return BadInput(
            f"{self.place}: its output {self.output!r} has shape {list(found.shape)} for "
            f"{self._rows} inputs; name an output with scores for each input"
        )


def _only_input(file: ModelFile) -> tuple[str, np.dtype[np.generic], list[int | None]]:
    """Name, type and shape of the input, None where a length is free."""
    graph = file.model.graph
    weights = {tensor.name for tensor in graph.initializer}
    free = [info for info in graph.input if info.name not in weights]
    if len(free) != 1:
        names = ", ".join(repr(info.name) for info in free[:5])
        raise BadInput(
            f"{file.place}: {len(free)} inputs ({names}); give a model with exactly one, all "
            "numbers in it"
        )
    (info,) = free
    kind = info.type.tensor_type
    if info.type.WhichOneof("value") != "tensor_type" or kind.elem_type not in _DTYPES:
        title = onnx.TensorProto.DataType.Name(kind.elem_type).lower()
        raise BadInput(
            f"{file.place}: input {info.name!r} holds {title} where regions hold real numbers; "
            "export a model of float32 inputs"
        )
    if not kind.HasField("shape") or not kind.shape.dim:
        raise BadInput(f"{file.place}: input {info.name!r} has no shape; export it with one")
    dims = [int(d.dim_value) if d.dim_value > 0 else None for d in kind.shape.dim]
    return info.name, _DTYPES[kind.elem_type], dims


def _fitted(
    declared: list[int | None], given: Sequence[int] | None, place: str
) -> tuple[int | None, tuple[int, ...]]:
    """How many points a batch holds, and the shape of one.

    None is any number, 0 that there is no axis for it: the point is all of the input.
    """
    first, rest = declared[0], declared[1:]
    size = None if given is None else math.prod(given)
    if None in rest:
        rest = _from_given(rest, given, place)
    row = tuple(length for length in rest if length is not None)
    if first is None:
        fits = size is None or len(declared) > 1 or size == 1
        return (None, row or (1,)) if fits else (0, (int(size or 1),))
    if first == 1:
        return (1, row) if row else (0, (1,))
    if size == math.prod(row) and len(declared) > 1:
        return first, row
    return 0, (first, *row)


def _from_given(
    rest: list[int | None], given: Sequence[int] | None, place: str
) -> list[int | None]:
    """Free lengths beside the batch are those of the points, as far as these tell."""
    if given is not None:
        for shape in (list(given), list(given)[1:]):
            pairs = list(zip(rest, shape, strict=False))
            if len(shape) == len(rest) and all(a in (None, b) for a, b in pairs):
                return [b for _, b in pairs]
        known = math.prod(length for length in rest if length is not None)
        if rest.count(None) == 1 and math.prod(given) % known == 0:
            return [math.prod(given) // known if length is None else length for length in rest]
    words = " x ".join("?" if length is None else str(length) for length in rest)
    raise BadInput(
        f"{place}: leaves lengths free ({words}) that the given input does not tell; give an input "
        f"of {len(rest)} dimensions or export with fixed ones"
    )
