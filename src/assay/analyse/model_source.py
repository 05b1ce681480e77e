"""How a model is opened again in another process, or on another machine."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from assay.analyse.preprocessing import Preprocessing
from assay.question.model_file import files_beside
from assay.question.runnable import RunOptions

if TYPE_CHECKING:
    from assay.analyse.model import Model


@dataclass(frozen=True)
class NamedSource:
    """What a person typed: an ONNX file, or a name in a Python file or module.

    `file` is the ONNX or Python file, `name` what is looked up in it or in `module`.
    """

    file: Path | None
    module: str
    name: str
    shape: tuple[int, ...]
    options: RunOptions
    device: str
    preprocessing: Preprocessing

    @property
    def files(self) -> list[Path]:
        """What must be on the machine where it is opened, beside installed packages."""
        if self.file is None:
            return []
        return [self.file, *files_beside(self.file), *self.options.libraries]

    def open(self) -> Model:
        from assay.analyse.named_model import model_named

        place = self.module if self.file is None else str(self.file)
        return model_named(
            f"{place}:{self.name}" if self.name else place,
            self.shape,
            options=self.options,
            device=torch.device(self.device),
            preprocessing=self.preprocessing,
        )


@dataclass(frozen=True)
class PackedSource:
    """A function or module of this process, by value."""

    packed: bytes

    @property
    def files(self) -> list[Path]:
        return []

    def open(self) -> Model:
        make: Callable[[], Model] = pickle.loads(self.packed)  # noqa: S301 - this process made it
        return make()


ModelSource = NamedSource | PackedSource


def packed_source(make: Callable[[], Any]) -> PackedSource | None:
    """A source that calls `make`; None where that does not travel between processes."""
    try:
        import cloudpickle

        return PackedSource(cloudpickle.dumps(make))
    except Exception:  # a model is anybody's code, and may hold anything
        return None


@lru_cache(maxsize=2)
def opened(source: ModelSource) -> Model:
    """The model, opened once in this process."""
    return source.open()
