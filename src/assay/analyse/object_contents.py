"""What an object shows of itself: state, attributes, the file behind a session."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_NO_CONTENT = ("_torchdynamo", "_dynamo", "__signature__")
"""Beginnings of names: what torch.compile leaves is the state of a process, and a signature repeats
the function that it belongs to."""


def state_of(value: Any) -> Any:
    """What an object holds, None where it does not show that."""
    try:
        state = value.__getstate__()
    except Exception:  # anybody's code, which may refuse
        state = getattr(value, "__dict__", None)
    return _in_order(state)


def attributes_of(value: Any) -> Any:
    """What was set on a value beside what its type holds: `__dict__` and slots; None if nothing."""
    found = object.__getstate__(value)
    parts = found if isinstance(found, tuple) else (found,)
    kept = tuple(_in_order(part) for part in parts if part)
    return kept if any(kept) else None


def additions_to(value: Any, *plain: type) -> Iterator[Any]:
    """What an object has beside its type's content: a class of its own, attributes."""
    kind = type(value)
    if kind not in plain and kind.__module__ != "builtins":
        yield kind
    if (found := attributes_of(value)) is not None:
        yield found


def _in_order(state: Any) -> Any:
    """Attributes by name."""
    if not isinstance(state, dict):
        return state
    names = sorted((name for name in state if not str(name).startswith(_NO_CONTENT)), key=str)
    return {name: state[name] for name in names}


def network_file(session: dict[str, Any]) -> str | None:
    """The hash of the file that a session of ONNX Runtime was made from."""
    path = session.get("_model_path")
    try:
        return None if path is None else hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except (OSError, TypeError):
        return None
