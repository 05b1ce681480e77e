"""A model from what a person types: an ONNX file, or MODULE:NAME (FILE.py:NAME) for Python."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import torch

from assay.analyse.model import Model, callable_model, module_model, onnx_model
from assay.analyse.model_source import NamedSource
from assay.analyse.preprocessing import Preprocessing
from assay.errors import BadInput
from assay.question.runnable import RunOptions


def model_named(
    text: str,
    shape: tuple[int, ...],
    *,
    options: RunOptions | None = None,
    device: torch.device | None = None,
    preprocessing: Preprocessing | None = None,
) -> Model:
    """`shape` is that of one input, for models in Python, which do not say, and fixed batches.

    Whatever a model in Python prints goes to stderr: stdout belongs to the result.
    """
    found = _named(text, shape, options, device, preprocessing)
    place, _, name = ("", "", "") if _is_onnx(text) else text.rpartition(":")
    file = Path(text) if not name else Path(place) if place.endswith(".py") else None
    found.source = NamedSource(
        file,
        place,
        name,
        shape,
        options or RunOptions(),
        "cpu" if device is None else str(device),
        preprocessing or Preprocessing(),
    )
    return found


def _is_onnx(text: str) -> bool:
    return ":" not in text or text.endswith((".onnx", ".onnx.gz"))


def _named(
    text: str,
    shape: tuple[int, ...],
    options: RunOptions | None,
    device: torch.device | None,
    preprocessing: Preprocessing | None,
) -> Model:
    if text.endswith(".py"):
        raise BadInput(f"{text}: may hold several models; name one of them, as {text}:NAME")
    if _is_onnx(text):
        return onnx_model(
            Path(text), shape=shape, options=options, device=device, preprocessing=preprocessing
        )
    place, _, name = text.rpartition(":")
    if options:
        raise BadInput(f"{text}: outputs and custom operators are named for ONNX files only")
    found, file = _attribute(place, name, text)
    if isinstance(found, torch.nn.Module):
        return _silenced(
            module_model(
                found, shape, name=text, device=device, preprocessing=preprocessing, file=file
            )
        )
    if not callable(found) or isinstance(found, type):
        raise BadInput(
            f"{text}: is a {type(found).__name__}; name a torch module or a function from a batch "
            "of inputs to scores"
        )
    if device is not None and device.type != "cpu":
        raise BadInput(f"{text}: a function runs where it likes; leave --device out")
    return _silenced(
        callable_model(found, shape, name=text, preprocessing=preprocessing, file=file)
    )


def _silenced(model: Model) -> Model:
    wide = model.wide_run
    model.run = _silent(model.run)
    model.wide_run = None if wide is None else lambda: _silent(wide())
    return model


def _silent(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def run(points: Any) -> Any:
        with redirect_stdout(sys.stderr):
            return function(points)

    return run


def _attribute(place: str, name: str, text: str) -> tuple[Any, Path | None]:
    """What the name means there, and the file that says so."""
    try:
        with redirect_stdout(sys.stderr):
            module = _file(Path(place)) if place.endswith(".py") else _module(place)
    except (Exception, SystemExit) as error:  # the module is anybody's code
        reason = " ".join(str(error).split())[:160]
        raise BadInput(
            f"{text}: {place} cannot be imported ({type(error).__name__}: {reason}); give "
            "MODULE:NAME, FILE.py:NAME or an ONNX file"
        ) from None
    if not hasattr(module, name):
        raise BadInput(f"{text}: {place} has no {name!r}; name a model in it")
    file = getattr(module, "__file__", None)
    return getattr(module, name), None if file is None else Path(file)


def _module(place: str) -> Any:
    _may_import_from(Path.cwd())
    return importlib.import_module(place)


def _may_import_from(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _file(path: Path) -> Any:
    # a file may have the name of a module that others need, as random.py
    title = f"model_{path.stem}" if path.stem in sys.modules else path.stem
    spec = importlib.util.spec_from_file_location(title, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    _may_import_from(path.resolve().parent)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
