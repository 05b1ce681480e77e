"""A model from what a person types: an ONNX file, or MODULE:NAME (FILE.py:NAME) for Python."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

import torch

from assay.analyse.model import Model, callable_model, module_model, onnx_model
from assay.analyse.preprocessing import Preprocessing
from assay.errors import BadInput


def model_named(
    text: str,
    shape: tuple[int, ...],
    *,
    device: torch.device | None = None,
    preprocessing: Preprocessing | None = None,
) -> Model:
    """`shape` is that of one input, for models in Python, which do not say."""
    place, colon, name = text.rpartition(":")
    if not colon or text.endswith((".onnx", ".onnx.gz")):
        return onnx_model(Path(text), device=device, preprocessing=preprocessing)
    found = _attribute(place, name, text)
    if isinstance(found, torch.nn.Module):
        return module_model(found, shape, name=text, device=device, preprocessing=preprocessing)
    if not callable(found) or isinstance(found, type):
        raise BadInput(
            f"{text}: is a {type(found).__name__}; name a torch module or a function from a batch "
            "of inputs to scores"
        )
    if device is not None and device.type != "cpu":
        raise BadInput(f"{text}: a function runs where it likes; leave --device out")
    return callable_model(found, shape, name=text, preprocessing=preprocessing)


def _attribute(place: str, name: str, text: str) -> Any:
    try:
        module = _file(Path(place)) if place.endswith(".py") else _module(place)
    except Exception as error:  # the module is anybody's code
        reason = " ".join(str(error).split())[:160]
        raise BadInput(
            f"{text}: {place} cannot be imported ({type(error).__name__}: {reason}); give "
            "MODULE:NAME, FILE.py:NAME or an ONNX file"
        ) from None
    if not hasattr(module, name):
        raise BadInput(f"{text}: {place} has no {name!r}; name a model in it")
    return getattr(module, name)


def _module(place: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return importlib.import_module(place)


def _file(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
