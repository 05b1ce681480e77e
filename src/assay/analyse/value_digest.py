"""One hash of everything that a model in Python holds: weights, settings, arguments, globals.

Values are walked from the model on: parameters and buffers, attributes, what a function has as
defaults and closure, and the globals that it and the user's functions behind it name. Code itself
is not looked into where it has a source file, for that is hashed elsewhere. What has no content
that could be read (a session of ONNX Runtime, an open file) counts by its type and is listed.
"""

from __future__ import annotations

import builtins
import functools
import hashlib
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.analyse.source_files import is_own

_PLAIN = (str, bytes, bool, int, float, complex, type(None), type(...), range, Path)
_OF_TORCH = (torch.dtype, torch.device, torch.layout, torch.memory_format)
_BY_NAME = (*_OF_TORCH, np.dtype, Enum, slice, Fraction, Decimal)
_LOOKED_INTO = {"types", "argparse", "functools", "random", "collections"}
"""Of Python's own library; its loggers, locks and files hold the state of a process."""
_NO_SETTINGS = {"_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "training"}
_DEEPEST = 8
"""Dots in a name such as package.module.value."""
MOST_VALUES = 200_000


class ValueDigest:
    """`sha256` of the values added; `unread` names the types that have no readable content, and
    `files` the source files of the user's functions and classes on the way."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._seen: dict[int, int] = {}
        self._held: list[Any] = []  # an id belongs to a value for as long as that lives
        self.unread: set[str] = set()
        self.files: dict[Path, None] = {}

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def add(self, value: Any) -> None:
        """Add a value and all that it holds; each object once, so that circles end."""
        waiting = [value]
        while waiting:
            value = waiting.pop()
            if isinstance(value, _PLAIN):
                self._note(type(value).__name__, str(value))
                continue
            if id(value) in self._seen:
                self._note("again", str(self._seen[id(value)]))
                continue
            if len(self._seen) >= MOST_VALUES:
                self.unread.add(f"values beyond the first {MOST_VALUES:,}")
                return
            self._seen[id(value)] = len(self._seen)
            self._held.append(value)
            waiting.extend(reversed(list(self._parts(value))))

    def _note(self, kind: str, content: str | bytes | memoryview = b"") -> None:
        data = content.encode(errors="surrogatepass") if isinstance(content, str) else content
        self._digest.update(f"{kind} {len(data)} ".encode())
        self._digest.update(data)

    def _parts(self, value: Any) -> Iterator[Any]:
        """Note what a value is by itself; give what it holds."""
        if isinstance(value, Tensor):
            yield from self._tensor(value)
        elif isinstance(value, np.ndarray | np.generic):
            yield from self._array(np.asarray(value))
        elif isinstance(value, Mapping):
            self._note(type(value).__name__, str(len(value)))
            for key, held in value.items():
                yield from (key, held)
        elif isinstance(value, _BY_NAME):
            self._note(type(value).__name__, str(value))
        elif isinstance(value, list | tuple | deque):
            self._note(type(value).__name__, str(len(value)))
            yield from value
        elif isinstance(value, set | frozenset):
            plain = sorted(repr(held) for held in value if isinstance(held, _PLAIN))
            self._note(type(value).__name__, f"{len(value)} {' '.join(plain)}")
        elif isinstance(value, functools.partial):
            self._note("partial")
            yield from (value.func, value.args, value.keywords)
        elif isinstance(value, MethodType):
            yield from (value.__self__, value.__func__)
        elif isinstance(value, FunctionType):
            yield from self._function(value)
        elif isinstance(value, ModuleType | BuiltinFunctionType | np.ufunc):
            self._note("named", value.__name__)
        elif isinstance(value, type):
            yield from self._class(value)
        elif isinstance(value, torch.nn.Module):
            yield from self._module(value)
        else:
            yield from self._object(value)

    def _tensor(self, value: Tensor) -> Iterator[Any]:
        self._note("tensor", f"{value.dtype} {tuple(value.shape)} {value.layout}")
        if value.layout == torch.sparse_coo:
            whole = value.detach().coalesce()
            yield from (whole.indices(), whole.values())
            return
        if value.layout != torch.strided or value.is_quantized or value.is_meta:
            self._note("content", str(value))  # its size and type, and where it is small all of it
            self.unread.add(f"{value.layout} tensor of {value.dtype}")
            return
        flat = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        self._note("content", flat.numpy().data)

    def _array(self, value: np.ndarray) -> Iterator[Any]:
        self._note("array", f"{value.dtype} {value.shape}")
        if value.dtype.hasobject:
            yield value.tolist()
        else:
            self._note("content", np.ascontiguousarray(value).tobytes())

    def _function(self, function: FunctionType) -> Iterator[Any]:
        self._note("function", f"{function.__module__}.{function.__qualname__}")
        compiled = vars(function).get("_torchdynamo_orig_callable")
        if compiled is not None:
            yield compiled  # what surrounds it is the state of a compiler
            return
        yield from (function.__defaults__, function.__kwdefaults__)
        for cell in function.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # a name that was never given a value
                self._note("empty")
        code = function.__code__
        own = self._source(code.co_filename)
        if not own and Path(code.co_filename).is_file():
            return  # a package's, whose version counts
        if not own or function.__name__ == "<lambda>":
            yield from _code(code)  # no file, or a name that does not tell it from another
        names = set(_names(code))
        for name in sorted(names & function.__globals__.keys()):
            value = function.__globals__[name]
            if getattr(builtins, name, None) is not value:
                yield from (name, self._behind(value, names, 0))

    def _behind(self, value: Any, names: set[str], depth: int) -> Any:
        """Of a module of the user's, what its name and a dot before one of these may mean."""
        if depth == _DEEPEST or not isinstance(value, ModuleType):
            return value
        if not self._source(getattr(value, "__file__", None)):
            return value
        held = vars(value)
        found = sorted(names & held.keys())
        return {name: self._behind(held[name], names, depth + 1) for name in found}

    def _class(self, kind: type) -> Iterator[Any]:
        self._note("class", f"{kind.__module__}.{kind.__qualname__}")
        module = sys.modules.get(kind.__module__)
        if not self._source(getattr(module, "__file__", None)):
            return
        yield from kind.__mro__[1:-1]
        for name, value in sorted(vars(kind).items()):
            if name.startswith(("__", "_abc_")) and not isinstance(value, FunctionType):
                continue
            if isinstance(value, staticmethod | classmethod):
                value = value.__func__
            yield from (name, value.fget if isinstance(value, property) else value)

    def _module(self, module: torch.nn.Module) -> Iterator[Any]:
        if "_orig_mod" in module._modules:  # what torch.compile was given
            yield module._modules["_orig_mod"]
            return
        yield type(module)
        for name, held in (*module._parameters.items(), *module._buffers.items()):
            yield from (name, held)
        yield from (part for pair in module._modules.items() for part in pair)
        code = _compiled_code(module)
        if code is not None:
            self._note("code", code)
            return
        for name, value in sorted(vars(module).items()):
            if name not in _NO_SETTINGS and not (name.endswith("_hooks") and not value):
                yield from (name, value)

    def _object(self, value: Any) -> Iterator[Any]:
        kind = type(value)
        yield kind
        package = kind.__module__.split(".")[0]
        if package == "builtins":
            return  # descriptors and the like, which hold nothing
        hidden = package in sys.stdlib_module_names and package not in _LOOKED_INTO
        state = None if hidden else _state(value)
        if state is None:
            self.unread.add(f"{kind.__module__}.{kind.__qualname__}")
        elif package == "onnxruntime" and isinstance(state, dict):
            yield _network_file(state)
        yield state

    def _source(self, file: str | None) -> bool:
        """Whether a source file is the user's; then it is noted."""
        if file is None or not is_own(path := Path(file).resolve()):
            return False
        self.files.setdefault(path)
        return True


def _state(value: Any) -> Any:
    """What an object holds, None where it does not show that."""
    try:
        state = value.__getstate__()
    except Exception:  # anybody's code, which may refuse
        state = getattr(value, "__dict__", None)
    if isinstance(state, dict):
        return {key: state[key] for key in sorted(state, key=str)}
    return state


def _network_file(session: dict[str, Any]) -> str | None:
    """The hash of the file that a session of ONNX Runtime was made from."""
    path = session.get("_model_path")
    try:
        return None if path is None else hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except (OSError, TypeError):
        return None


def _names(code: CodeType) -> Iterator[str]:
    """Every name that code, or code inside of it, may look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _code(code: CodeType) -> Iterator[Any]:
    yield from (code.co_code, code.co_names, code.co_varnames)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        else:
            yield constant


def _compiled_code(module: torch.nn.Module) -> str | None:
    """The text of a module that has its code inside: TorchScript, torch.fx."""
    if not isinstance(module, torch.jit.ScriptModule | torch.fx.GraphModule):
        return None
    try:
        if isinstance(module, torch.fx.GraphModule):
            return str(module.code)
        return str(module._c.dump_to_str(True, True, False))
    except (AttributeError, RuntimeError):  # a container has none
        return ""
