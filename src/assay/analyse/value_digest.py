"""One hash of everything that a model in Python holds: weights, settings, arguments, globals.

Values are walked from the model on: parameters and buffers, attributes, what a function has as
attributes, defaults and closure, and the globals that it and the user's functions behind it name.
Code itself is not looked into where it has a source file, for that is hashed elsewhere. What has no
content that could be read (a session of ONNX Runtime, an open file, an iterator) counts by its type
and is listed.
"""

from __future__ import annotations

import array
import builtins
import functools
import hashlib
import itertools
import random
import sys
from collections import ChainMap, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GenericAlias,
    MethodType,
    MethodWrapperType,
    ModuleType,
    UnionType,
)
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.analyse.code_contents import compiled_text, contents_of, names_in, uncompiled
from assay.analyse.object_contents import additions_to, attributes_of, network_file, state_of
from assay.analyse.source_files import is_own

_PLAIN = (str, bytes, bool, int, float, complex, type(None), type(...), range, Path)
_OF_TORCH = (torch.dtype, torch.device, torch.layout, torch.memory_format)
_BY_NAME = (*_OF_TORCH, np.dtype, Fraction, Decimal, GenericAlias, UnionType)
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_CONTAINERS = (Mapping, list, tuple, deque, set, frozenset, *_VIEWS)
_PROCESS_DICE = tuple(getattr(each, "__self__") for each in (random.random, np.random.rand))  # noqa: B009
"""Random numbers that a whole process shares; their state is no part of a model."""
_LOOKED_INTO = {"types", "argparse", "functools", "random", "collections"}
"""Of Python's own library; its loggers, locks and files hold the state of a process."""
_OF_CLASSES = {"builtins", "_collections"}
_NO_SETTINGS = {"_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "training"}
_DEEPEST = 8
"""Dots in a name such as package.module.value."""
MOST_VALUES = 200_000


class ValueDigest:
    """`sha256` of the values added; `unread` names the types that have no readable content, `files`
    the source files of the user's functions and classes on the way, and `is_cut` tells whether
    there were more values than `MOST_VALUES`."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._seen: ChainMap[int, str] = ChainMap()
        self._held: list[Any] = []  # an id belongs to a value for as long as that lives
        self._visits = itertools.count()
        self.unread: set[str] = set()
        self.files: dict[Path, None] = {}
        self.is_cut = False

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def add(self, value: Any) -> None:
        """Add a value and all that it holds; each object once, so that circles end."""
        waiting = [value]
        while waiting:
            value = uncompiled(waiting.pop())
            if isinstance(value, _PLAIN) and not getattr(value, "__dict__", None):
                self._note(type(value).__name__, str(value))
                continue
            if id(value) in self._seen:
                self._note("again", self._seen[id(value)])
                continue
            if next(self._visits) >= MOST_VALUES:
                self.is_cut = True
                return
            self._seen[id(value)] = f"{len(self._seen.maps)} {len(self._seen.maps[0])}"
            self._held.append(value)
            waiting.extend(reversed(list(self._parts(value))))

    def _inner(self, value: Any) -> str:
        """The digest of a member of a set, which does not depend on the other members."""
        inner = ValueDigest()
        inner._seen, inner._visits = self._seen.new_child(), self._visits
        inner.unread, inner.files = self.unread, self.files
        inner.add(value)
        self.is_cut = self.is_cut or inner.is_cut
        return inner.sha256

    def _note(self, kind: str, content: str | bytes | memoryview = b"") -> None:
        data = content.encode(errors="surrogatepass") if isinstance(content, str) else content
        self._digest.update(f"{kind} {len(data)} ".encode())
        self._digest.update(data)

    def _parts(self, value: Any) -> Iterator[Any]:
        """Note what a value is by itself; give what it holds."""
        if any(value is dice for dice in _PROCESS_DICE):
            self._note("random numbers of the process")
        elif isinstance(value, Tensor):
            yield from self._tensor(value)
            yield from additions_to(value, Tensor, torch.nn.Parameter)
        elif isinstance(value, np.ndarray | np.generic):
            yield from self._array(np.asarray(value))
            if not isinstance(value, np.memmap):  # which adds the place of its file
                yield from additions_to(value, np.ndarray)
        elif isinstance(value, Enum):
            self._note(type(value).__name__, value.name)
            yield value.value
        elif isinstance(value, _PLAIN):
            self._note(type(value).__name__, str(value))
            yield from additions_to(value)
        elif isinstance(value, _BY_NAME):
            self._note(type(value).__name__, str(value))
        elif isinstance(value, _CONTAINERS):
            yield from self._container(value)
        elif isinstance(value, bytearray | memoryview | array.array):
            yield from self._buffer(value)
        elif isinstance(value, functools.partial):
            self._note("partial")
            yield from (
                value.func,
                value.args,
                value.keywords,
                *additions_to(value, functools.partial),
            )
        elif isinstance(value, type):
            yield from self._class(value)
        elif isinstance(value, torch.nn.Module):
            yield from self._module(value)
        elif isinstance(value, ModuleType | np.ufunc):
            self._note("named", value.__name__)
            if value.__name__.endswith(" (vectorized)"):  # as numpy.frompyfunc calls it
                self.unread.add("numpy.ufunc of a Python function")
        else:
            found = self._code_parts(value)
            yield from self._object(value) if found is None else found

    def _code_parts(self, value: Any) -> Iterable[Any] | None:
        """What belongs to functions and their kin; None for anything else."""
        if isinstance(value, MethodType):
            return (value.__self__, value.__func__)
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, BuiltinFunctionType | MethodWrapperType):
            self._note("named", value.__name__)
            bound = value.__self__
            # a function of a module is bound to that, one of pybind11 to its own address
            named = isinstance(bound, ModuleType) or type(bound).__name__ == "PyCapsule"
            return () if named else (bound,)
        if isinstance(value, CodeType):
            return contents_of(value)
        if isinstance(value, CellType):
            try:
                return (value.cell_contents,)
            except ValueError:  # a name that was never given a value
                return ("empty",)
        if isinstance(value, staticmethod | classmethod):
            return (value.__func__,)
        if isinstance(value, property):
            return (value.fget, value.fset, value.fdel)
        if isinstance(value, slice):
            return (value.start, value.stop, value.step)
        return None

    def _container(self, value: Any) -> Iterator[Any]:
        self._note(type(value).__name__, str(len(value)))
        if isinstance(value, Mapping):
            for key, held in value.items():
                yield from (key, held)
        elif isinstance(value, set | frozenset):
            exact = {*_PLAIN}
            members = (repr(m) if type(m) in exact else self._inner(m) for m in value)
            self._note("members", " ".join(sorted(members)))
        else:
            yield from value
        if isinstance(value, defaultdict):
            yield value.default_factory
        yield from additions_to(value)

    def _buffer(self, value: Any) -> Iterator[Any]:
        try:
            view = memoryview(value)
        except ValueError:  # released
            self.unread.add(type(value).__qualname__)
            return
        self._note(type(value).__name__, f"{view.format} {view.shape}")
        self._note("content", view.tobytes())
        yield from additions_to(value, array.array)

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
        yield from (function.__defaults__, function.__kwdefaults__)
        yield from function.__closure__ or ()
        yield attributes_of(function)
        code = function.__code__
        own = self._source(code.co_filename)
        if not own and Path(code.co_filename).is_file():
            return  # a package's, whose version counts
        if not own or function.__name__ == "<lambda>":
            yield from contents_of(code)  # no file, or a name that does not tell it from another
        names = set(names_in(code))
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
            yield from (name, value)

    def _module(self, module: torch.nn.Module) -> Iterator[Any]:
        yield type(module)
        for name, held in (*module._parameters.items(), *module._buffers.items()):
            yield from (name, held)
        yield from (part for pair in module._modules.items() for part in pair)
        code = compiled_text(module)
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
        if kind is object or (package in _OF_CLASSES and hasattr(kind, "__get__")):
            return  # marks, and the slots and methods of a class, which hold nothing
        hidden = package in sys.stdlib_module_names and package not in _LOOKED_INTO
        state = None if hidden else state_of(value)
        if state is None:
            self.unread.add(f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins."))
        elif package == "onnxruntime" and isinstance(state, dict):
            yield network_file(state)
        yield state

    def _source(self, file: str | None) -> bool:
        """Whether a source file is the user's; then it is noted."""
        if file is None or not is_own(path := Path(file).resolve()):
            return False
        self.files.setdefault(path)
        return True
