"""Swap one part of the program for another, for a while: bugs that are put in on purpose.

Production code knows nothing of it. A part is an attribute of a module or class, or an entry of a
table.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

_MISSING = object()


@contextmanager
def part_swapped(owner: str, attribute: str, make: Callable[[Any], Any]) -> Iterator[None]:
    """`make(original)` takes the place of `owner`'s `attribute`.

    `owner` is a module, or `module:Name` for something in it; of a table, `attribute` is the key,
    and a key that is not there yet (original None) is added.
    """
    place = _found(owner)
    table = place if isinstance(place, MutableMapping) else None
    # Not getattr: of a class the plain function is wanted, as it stands there.
    original = vars(place)[attribute] if table is None else table.get(attribute, _MISSING)
    _put(place, attribute, make(None if original is _MISSING else original))
    try:
        yield
    finally:
        if original is _MISSING:
            assert table is not None
            del table[attribute]
        else:
            _put(place, attribute, original)


def _found(path: str) -> Any:
    module, _, name = path.partition(":")
    owner: Any = importlib.import_module(module)
    return getattr(owner, name) if name else owner


def _put(owner: Any, name: str, value: Any) -> None:
    if isinstance(owner, MutableMapping):
        owner[name] = value
    else:
        setattr(owner, name, value)
