"""Another model has another identity: source files, what they import, arguments, all it holds."""

from __future__ import annotations

import array
import functools
import importlib
import logging
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from assay.analyse import value_digest
from assay.analyse.model import callable_model, module_model
from assay.analyse.model_identity import identity_changes
from assay.analyse.named_model import model_named
from assay.question.graph import mlp

NETS = """
import torch

from layers.gain import Gain
from layers import levels
import numpy as np

WEIGHTS = np.load(__file__.replace("nets.py", "weights.npy"))

def score(x):
    from deferred import shift
    return x @ WEIGHTS + shift(levels.LOW)

net = torch.nn.Sequential(torch.nn.Flatten(), Gain(2.0))
"""
FILES = {
    "nets.py": NETS,
    "deferred.py": "def shift(x):\n    return x + 1.0\n",
    "layers/__init__.py": "",
    "layers/gain.py": """
import torch
from .levels import LOW

class Gain(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return torch.relu(x) * self.factor + LOW
""",
    "layers/levels.py": "LOW = 0.5\n",
    "unrelated.py": "LOW = 1\n",
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    np.save(tmp_path / "weights.npy", np.eye(2))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    forget()


def forget() -> None:
    for name in [n for n in sys.modules if n.split(".")[0] in ("nets", "layers", "deferred")]:
        del sys.modules[name]


def identity(place: Path, name: str) -> dict[str, object]:
    forget()
    importlib.invalidate_caches()
    return dict(model_named(f"{place}/nets.py:{name}", (2,)).identity)


@pytest.mark.parametrize("name", ["score", "net"])
def test_an_identity_names_every_file_of_the_users_own(place: Path, name: str) -> None:
    found = identity(place, name)
    assert found == identity(place, name)
    assert set(found["source"]) == set(FILES) - {"unrelated.py"}  # type: ignore[call-overload]
    assert found["packages"]["torch"] == torch.__version__  # type: ignore[index]
    assert "files that the model reads" in found["not_covered"][0]  # type: ignore[index]


@pytest.mark.parametrize("name", ["score", "net"])
@pytest.mark.parametrize("file", ["nets.py", "deferred.py", "layers/gain.py", "layers/levels.py"])
def test_an_edited_file_is_another_model_and_is_named(place: Path, name: str, file: str) -> None:
    before = identity(place, name)
    (place / file).write_text((place / file).read_text() + "# another line\n")
    assert list(identity_changes(before, identity(place, name))) == [f"the file {file}"]


def test_a_file_that_the_model_does_not_import_does_not_matter(place: Path) -> None:
    before = identity(place, "score")
    (place / "unrelated.py").write_text("LOW = 2\n")
    assert identity(place, "score") == before


def test_weights_that_a_function_finds_in_its_module_count(place: Path) -> None:
    before = identity(place, "score")
    np.save(place / "weights.npy", 2 * np.eye(2))
    changed = list(identity_changes(before, identity(place, "score")))
    assert changed == ["what the model holds (weights, settings, arguments)"]


class Scaled(torch.nn.Module):
    """Nothing of it is in the state_dict."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor
        self.register_buffer("hidden", torch.tensor([factor]), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.factor * x


class Caller:
    def __init__(self, weights: np.ndarray) -> None:
        self.weights = weights

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return x * self.weights

    def scores(self, x: np.ndarray) -> np.ndarray:
        return x + self.weights


def scaled(x: np.ndarray, factor: float = 1.0) -> np.ndarray:
    return factor * x


def closed_over(factor: float):  # type: ignore[no-untyped-def]
    def scores(x: np.ndarray) -> np.ndarray:
        return factor * x

    return scores


def digest(model: object) -> object:
    if isinstance(model, torch.nn.Module):
        return module_model(model, (2,)).identity["sha256"]
    return callable_model(model, (2,), name="same").identity["sha256"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        Scaled,
        lambda f: torch.jit.script(Scaled(f)),
        lambda f: torch.nn.Dropout(f / 10),
        lambda f: torch.nn.LeakyReLU(f),
        lambda f: functools.partial(scaled, factor={1.0: torch.float16}.get(f, torch.float32)),
        lambda f: functools.partial(scaled, factor=f),
        closed_over,
        lambda f: Caller(np.full(2, f)),
        lambda f: Caller(np.full(2, f)).scores,
    ],
)
def test_arguments_and_everything_held_count(make) -> None:  # type: ignore[no-untyped-def]
    assert digest(make(1.0)) == digest(make(1.0))
    assert digest(make(1.0)) != digest(make(2.0))


class Weights(np.ndarray):
    """An array that may hold more than numbers."""


class Table(dict):  # type: ignore[type-arg]
    """A dict that may hold more than items."""


class Row(list):  # type: ignore[type-arg]
    """A list that may hold more than items."""


class Name(str):
    """A text that may hold more than characters."""


def having(value, f: float):  # type: ignore[no-untyped-def]
    value.factor = f
    return value


def fresh_function():  # type: ignore[no-untyped-def]
    def scores(x: np.ndarray) -> np.ndarray:
        return x

    return scores


class Circle:
    def __init__(self, factor: float) -> None:
        self.factor, self.sets = factor, {self}


class Same:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __hash__(self) -> int:
        return 1


HELD = {
    "an attribute of a function": lambda f: having(fresh_function(), f),
    "a method of an array": lambda f: np.full((2, 2), f).dot,
    "an operator of an array": lambda f: np.full((2, 2), f).__rmatmul__,
    "a method of a dict": lambda f: {0: f}.get,
    "bytearray": lambda f: bytearray([int(f)]),
    "memoryview": lambda f: memoryview(bytes([int(f)])),
    "array.array": lambda f: array.array("d", [f]),
    "tuples in a set": lambda f: {("a", f), ("b", 0.0)},
    "a set in a frozenset": lambda f: frozenset({frozenset({("a", f)})}),
    "an object in its own set": Circle,
    "an attribute of a dict": lambda f: having(Table(), f),
    "an attribute of a list": lambda f: having(Row(), f),
    "an attribute of a text": lambda f: having(Name("a"), f),
    "an attribute of an array": lambda f: having(np.zeros(2).view(Weights), f),
    "a mask": lambda f: np.ma.masked_array([1.0, 2.0], mask=[f == 1.0, False]),
    "an attribute of a tensor": lambda f: having(torch.zeros(2), f),
    "an attribute of a parameter": lambda f: having(torch.nn.Parameter(torch.zeros(2)), f),
    "the factory of a defaultdict": lambda f: defaultdict(functools.partial(float, f)),
    "a slice": lambda f: slice(np.full(2000, f)),
    "values of a dict": lambda f: {0: f}.values(),
    "an enumeration": lambda f: Enum("Level", {"LOW": f}).LOW,  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("what", HELD)
def test_nothing_that_a_value_holds_is_passed_over(what: str) -> None:
    def identity_with(factor: float) -> dict[str, object]:
        held = functools.partial(scaled, factor=HELD[what](factor))
        return dict(callable_model(held, (2,), name="same").identity)

    first, again, other = (identity_with(f) for f in (1.0, 1.0, 2.0))
    assert first == again
    assert first["sha256"] != other["sha256"]
    assert len(first["not_covered"]) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (iter([1.0]), "list_iterator"),
        (map(abs, [1.0]), "map"),
        ((x for x in (1.0,)), "generator"),
        (np.frompyfunc(lambda x: x, 1, 1), "numpy.ufunc of a Python function"),
    ],
)
def test_what_shows_no_content_is_listed(value: object, kind: str) -> None:
    found = callable_model(functools.partial(scaled, factor=value), (2,)).identity
    assert f"what a {kind} holds" in found["not_covered"]  # type: ignore[operator]


def test_the_order_of_a_set_does_not_matter() -> None:
    """Both members belong to the same slot of the table, where the first comes first."""
    one, other = {Same(1), Same(2)}, {Same(2), Same(1)}
    assert [held.factor for held in one] != [held.factor for held in other]
    assert digest(Caller(one)) == digest(Caller(other))  # type: ignore[arg-type]


@pytest.mark.parametrize("draw", [random.random, random.gauss, np.random.rand])
def test_random_numbers_of_the_process_are_no_part_of_a_model(draw) -> None:  # type: ignore[no-untyped-def]
    before = digest(functools.partial(scaled, factor=draw))
    random.random()
    np.random.rand()
    assert digest(functools.partial(scaled, factor=draw)) == before


def test_functions_without_a_name_are_told_apart() -> None:
    one, other = (lambda x: x), (lambda x: -x)
    assert digest(one) != digest(other)


def test_code_without_a_file_counts_itself() -> None:
    def typed(text: str) -> object:
        names: dict[str, object] = {}
        exec(compile(text, "<typed>", "exec"), names)  # noqa: S102 - as a notebook does
        return names["f"]

    assert digest(typed("def f(x): return x")) == digest(typed("def f(x): return x"))
    assert digest(typed("def f(x): return x")) != digest(typed("def f(x): return x + 1"))


def test_what_cannot_be_read_is_said() -> None:
    lock = __import__("_thread").allocate_lock()
    found = callable_model(functools.partial(scaled, factor=lock), (2,)).identity
    assert "what a _thread.lock holds" in found["not_covered"]  # type: ignore[operator]


def test_values_beyond_the_limit_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_digest, "MOST_VALUES", 1000)
    many = functools.partial(scaled, factor=[[n] for n in range(2000)])
    found = callable_model(many, (2,)).identity["not_covered"]
    assert found[1:] == ["what the model holds beyond its first 1,000 values"]  # type: ignore[index]


def test_the_state_of_a_process_is_no_part_of_a_model() -> None:
    """A logger knows of every other one."""
    model = functools.partial(scaled, factor=logging.getLogger("model"))
    before = digest(model)
    logging.getLogger("another").warning("")
    assert digest(model) == before


def test_the_file_behind_a_session_of_onnx_runtime_counts(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"

    def session(gain: float) -> object:
        weight = np.full((2, 2), gain, np.float32)
        path.write_bytes(mlp([(weight, np.zeros(2, np.float32))]))
        made = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        return digest(functools.partial(made.run, None))

    assert session(1.0) == session(1.0)
    assert session(1.0) != session(2.0)


def test_a_compiled_model_is_what_was_compiled() -> None:
    """The state of the compiler is another one in every process."""
    model = torch.nn.Linear(2, 2)
    assert digest(torch.compile(model)) == digest(model)
    first, second = (torch.compile(functools.partial(scaled, factor=f)) for f in (1.0, 2.0))
    assert digest(first) != digest(second)


def test_circles_end() -> None:
    caller = Caller(np.ones(2))
    caller.weights = [caller]  # type: ignore[assignment]
    assert len(str(digest(caller))) == 64
