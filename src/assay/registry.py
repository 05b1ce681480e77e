"""One way to extend Assay: drop a module in a folder and declare an object in it.

A registry is a package; each public module in it declares its entry under one agreed name
(``CONSTRUCTOR`` in ``assay.truth``, ...). Discovery imports the modules in name order.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Mapping
from types import ModuleType
from typing import TypeVar

from assay.errors import BadInput

Entry = TypeVar("Entry")


def declared(package: ModuleType, attribute: str) -> list[object]:
    """Return what every module directly inside `package` declares as `attribute`."""
    found: list[object] = []
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
        if module.name.startswith("_"):
            continue
        loaded = importlib.import_module(f"{package.__name__}.{module.name}")
        if hasattr(loaded, attribute):
            found.append(getattr(loaded, attribute))
    return found


def named(entries: Mapping[str, Entry], name: str, what: str) -> Entry:
    """The entry of that name, or BadInput with a suggestion; `what` says what it would be."""
    if name not in entries:
        close = difflib.get_close_matches(name, entries, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(entries)}"
        raise BadInput(f"there is no {what} {name!r}; {hint}")
    return entries[name]
