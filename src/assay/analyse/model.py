"""What can be analysed: anything that turns a batch of inputs into scores, one a class.

`Model.scores` is the only way in. It hands flat points over in the model's shape, splits what does
not fit into memory, and refuses what no statistics can use: NaN, wrong shapes, a model that raises.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.analyse.determinism import Determinism
from assay.analyse.model_identity import python_identity
from assay.analyse.model_source import ModelSource
from assay.analyse.preprocessing import Preprocessing
from assay.errors import AssayError, BadInput
from assay.question.network import Network
from assay.question.operators.torch_module import TORCH_OPERATORS
from assay.question.runnable import Runnable, RunOptions
from assay.question.runtime import FloatRunner
from assay.question.sampled_model import open_for_sampling
from assay.question.shapes import shape_words
from assay.question.torch_view import torch_view

Run = Callable[[Tensor], Any]
_SMALLEST_BATCH, _LARGEST_BATCH = 32, 2**16
_LONGEST_S = 0.25
_MOST_NUMBERS = {"cpu": 2**22, "cuda": 2**27}
"""Numbers that the inputs of one batch may have."""
_STEADY_NUMBERS = {"cpu": 2**20, "cuda": 2**25}
"""The same for batches that do not grow by trial."""


@dataclass
class Model:
    """A classifier on inputs of a shape; `run` takes them as [n, *shape] after preprocessing.

    `queries` and `seconds` count what went through it; `rows` is the batch that suits it, found
    by doubling while batches stay short. `classes` is how many scores it gave first. `wide_run`
    makes a `run` for float64 where there is one. `rounded_to` is what `run` rounds its inputs to,
    where that is coarser than `dtype`, in which they are drawn and preprocessed.
    """

    name: str
    shape: tuple[int, ...]
    run: Run
    device: torch.device
    identity: Mapping[str, object]
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    dtype: torch.dtype = torch.float32
    queries: int = 0
    seconds: float = 0.0
    rows: int = _SMALLEST_BATCH
    classes: int | None = None
    wide_run: Callable[[], Run] | None = None
    is_widened: bool = False
    determinism: Determinism | None = None
    _most: int = _LARGEST_BATCH
    note: str = ""
    """What was chosen about the model that a person should know."""
    rounded_to: torch.dtype | None = None
    source: ModelSource | None = None
    """How another process opens it; None where only this one can."""
    _wide: Model | None = None

    def __post_init__(self) -> None:
        if any(length < 1 for length in self.shape):
            raise BadInput(
                f"{self.name}: an input of shape {shape_words(self.shape)} holds no numbers; "
                "give lengths above 0"
            )
        room = max(1, _MOST_NUMBERS[self.device.type] // self.inputs)
        self._most = min(self._most, 2 ** (room.bit_length() - 1))
        self.rows = min(self.rows, self._most)
        factor, shift = self.preprocessing.linear(self.shape, self.name)
        self._factor = torch.as_tensor(factor, dtype=self.dtype, device=self.device)
        self._shift = torch.as_tensor(shift, dtype=self.dtype, device=self.device)
        self._plain = bool((self._factor == 1).all() and (self._shift == 0).all())

    @property
    def inputs(self) -> int:
        return math.prod(self.shape)

    @property
    def input_dtype(self) -> torch.dtype:
        """The numbers that the model itself is given."""
        return self.rounded_to or self.dtype

    def steady(self) -> Model:
        """A copy whose batches do not depend on the clock: chains would follow any rounding."""
        rows = max(1, min(_LARGEST_BATCH, _STEADY_NUMBERS[self.device.type] // self.inputs))
        return replace(self, queries=0, seconds=0.0, rows=rows, _most=rows)

    def widened(self) -> Model | None:
        """The same model in float64, made once; None where it does not run in that."""
        if self._wide is None and self.wide_run is not None:
            try:
                run = self.wide_run()
            except Exception:  # anybody's module, which may not allow a copy
                return None
            backend = _backend("torch") if "backend" in self.identity else {}
            self._wide = replace(
                self,
                run=run,
                dtype=torch.float64,
                identity={**self.identity, **backend},
                is_widened=True,
                determinism=None,
                rounded_to=None,
            )
        return self._wide

    def scores(self, points: Tensor) -> Tensor:
        """Scores [n, classes] of points [n, inputs], in batches."""
        if points.ndim != 2 or points.shape[1] != self.inputs:
            raise BadInput(
                f"{self.name}: takes {self.inputs} numbers ({shape_words(self.shape)}) where an "
                f"input has {points.shape[-1]}; give an input of the model's shape"
            )
        parts, start = [], 0
        while start < len(points):
            part = self._batch(points[start : start + self.rows])
            start += len(part)
            parts.append(part)
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _batch(self, points: Tensor) -> Tensor:
        if self.device.type == "cuda":
            # what draws the points may still be at work, and is not the model's time
            torch.cuda.synchronize(self.device)
        begun = time.perf_counter()
        try:
            found = self._asked(points)
        except torch.cuda.OutOfMemoryError:
            if len(points) == 1:
                raise BadInput(
                    f"{self.name}: one input does not fit into the GPU's memory; take the "
                    "processor (cpu)"
                ) from None
            self._most = self.rows = len(points) // 2
            torch.cuda.empty_cache()
            return self._batch(points[: self.rows])
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        spent = time.perf_counter() - begun
        self.queries += len(points)
        self.seconds += spent
        if len(points) == self.rows and spent < _LONGEST_S:
            self.rows = min(2 * self.rows, self._most)
        return found

    def _asked(self, points: Tensor) -> Tensor:
        given = points.to(self.device, self.dtype)
        if not self._plain:
            given = given * self._factor + self._shift
        try:
            with torch.inference_mode():
                answer = self.run(given.reshape(len(points), *self.shape))
        except (AssayError, torch.cuda.OutOfMemoryError):
            raise
        except (Exception, SystemExit) as error:  # the model is anybody's code
            reason = " ".join(str(error).split())[:200] or "no message"
            raise BadInput(
                f"{self.name}: the model raised {type(error).__name__} on inputs of shape "
                f"{shape_words((len(points), *self.shape))} ({reason}); mend the model or give "
                "inputs of its shape"
            ) from None
        return self._checked(answer, len(points))

    def _checked(self, answer: Any, rows: int) -> Tensor:
        try:
            scores = answer if isinstance(answer, Tensor) else torch.as_tensor(np.asarray(answer))
            scores = scores.detach().to(self.device)
        except (TypeError, ValueError, RuntimeError):
            kind = type(answer).__name__
            raise BadInput(f"{self.name}: gives a {kind}; give one array of scores") from None
        if scores.ndim == 0 or len(scores) != rows:
            raise BadInput(
                f"{self.name}: gives scores of shape {shape_words(scores.shape)} for {rows} "
                "inputs; give one row an input"
            )
        if scores.is_complex():
            raise BadInput(f"{self.name}: gives complex scores; give real ones")
        # differences of small whole numbers would wrap around
        scores = scores if scores.is_floating_point() else scores.to(torch.float64)
        scores = scores.reshape(rows, -1)
        if self.classes is None:
            self.classes = scores.shape[1]
        if scores.shape[1] != self.classes:
            raise BadInput(
                f"{self.name}: gives {scores.shape[1]} scores an input where it gave "
                f"{self.classes} before; give a model whose classes do not depend on the batch"
            )
        bad = torch.isnan(scores).any(1)
        if bool(bad.any()):
            raise BadInput(
                f"{self.name}: gives NaN for {int(bad.sum())} of {rows} inputs; no statistics can "
                "use that: mend the model or narrow the region"
            )
        return scores


def onnx_model(
    path: Path,
    *,
    shape: tuple[int, ...] | None = None,
    options: RunOptions | None = None,
    device: torch.device | None = None,
    threads: int = 0,
    preprocessing: Preprocessing | None = None,
) -> Model:
    """An ONNX file: in ONNX Runtime on a processor, in torch on a GPU where torch can run it.

    `shape` is that of one input, for files that leave lengths free or hold a fixed batch.
    """
    opened = open_for_sampling(path, shape, options, threads or torch.get_num_threads())
    if isinstance(opened, Runnable):
        return runnable_model(opened, options=options, device=device, preprocessing=preprocessing)
    return network_model(opened, device=device, threads=threads, preprocessing=preprocessing)


def runnable_model(
    runnable: Runnable,
    *,
    options: RunOptions | None = None,
    device: torch.device | None = None,
    preprocessing: Preprocessing | None = None,
) -> Model:
    """Whatever ONNX Runtime runs, on the processor."""
    identity: dict[str, object] = {
        "kind": "onnx",
        "sha256": runnable.sha256,
        **_backend("onnxruntime"),
        "output": runnable.output,
    }
    if options is not None and options.libraries:
        contents = [library.read_bytes() for library in options.libraries]
        identity["custom_ops"] = [hashlib.sha256(data).hexdigest() for data in contents]
    notes = [runnable.note] if runnable.note else []
    if device is not None and device.type != "cpu":
        notes.append(f"{runnable.place}: runs on the processor: torch cannot run it")
    return Model(
        runnable.place,
        runnable.shape,
        lambda points: runnable.run(points.reshape(len(points), -1).numpy()),
        torch.device("cpu"),
        identity,
        preprocessing or Preprocessing(),
        torch.float64 if runnable.dtype == np.float64 else torch.float32,
        note="; ".join(notes),
        rounded_to=torch.float16 if runnable.dtype == np.float16 else None,
    )


def network_model(
    network: Network,
    *,
    device: torch.device | None = None,
    threads: int = 0,
    preprocessing: Preprocessing | None = None,
    dtype: torch.dtype = torch.float32,
) -> Model:
    """A network that was read already; float64 runs in torch."""
    known = network.operators <= set(TORCH_OPERATORS)
    place = torch.device("cpu") if device is None or not known else device
    runner = None
    if place.type == "cpu" and dtype == torch.float32:
        runner = FloatRunner(network, threads or torch.get_num_threads())
        if not runner.batched and known:
            runner = None
    backend = "torch" if runner is None else "onnxruntime"
    run = _in_torch(network, dtype, place) if runner is None else _in_runtime(runner)
    identity = {"kind": "onnx", "sha256": network.sha256, **_backend(backend)}
    shape = network.input_shape[1:] if network.input_shape[:1] == (1,) else network.input_shape
    return Model(
        network.place,
        shape or (network.inputs,),
        run,
        place,
        identity,
        preprocessing or Preprocessing(),
        dtype,
        note=_on_the_processor(network) if device is not None and device != place else "",
        wide_run=(lambda: _in_torch(network, torch.float64, place)) if known else None,
    )


def _backend(package: str) -> dict[str, object]:
    """What runs an ONNX file; another version may round in another way."""
    found = importlib.import_module(package).__version__
    return {"backend": package, "packages": {package: found}}


def _on_the_processor(network: Network) -> str:
    missing = ", ".join(sorted(network.operators - set(TORCH_OPERATORS)))
    return f"{network.place}: runs on the processor: Assay has no torch view of {missing} yet"


def module_model(
    module: torch.nn.Module,
    shape: tuple[int, ...],
    *,
    name: str = "",
    device: torch.device | None = None,
    preprocessing: Preprocessing | None = None,
    file: Path | None = None,
) -> Model:
    """A torch module on [n, *shape]; it is put into evaluation mode, on the device.

    `file` is the source file that made it, if that is not the file of its class.
    """
    place = torch.device("cpu") if device is None else device
    found = module.eval().to(place)
    kind = type(module).__name__
    identity = {"kind": "module", "class": kind, **python_identity(module, file)}
    title = name or kind

    def run_of(used: torch.nn.Module) -> Run:
        return lambda points: used(points.clone())  # it may work in place, and points are ours

    return Model(
        title,
        shape,
        run_of(found),
        place,
        identity,
        preprocessing or Preprocessing(),
        wide_run=lambda: run_of(copy.deepcopy(found).double()),
    )


def callable_model(
    function: Callable[[np.ndarray], Any],
    shape: tuple[int, ...],
    *,
    name: str = "",
    preprocessing: Preprocessing | None = None,
    file: Path | None = None,
) -> Model:
    """Any function from a float32 array [n, *shape] to scores [n, classes]; `file` made it."""
    title = name or str(getattr(function, "__name__", type(function).__name__))

    def run(points: Tensor) -> Any:
        return function(points.numpy().copy())  # it may work in place, and points are ours

    identity = {"kind": "callable", "name": title, **python_identity(function, file)}
    cpu, done = torch.device("cpu"), preprocessing or Preprocessing()
    return Model(title, shape, run, cpu, identity, done, wide_run=lambda: run)


def _in_torch(network: Network, dtype: torch.dtype, device: torch.device) -> Run:
    view = torch_view(network, dtype).to(device)
    return lambda points: view(points.reshape(len(points), -1))


def _in_runtime(runner: FloatRunner) -> Run:
    return lambda points: runner.run(points.reshape(len(points), -1).numpy())
