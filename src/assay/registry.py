"""One way to extend Assay: drop a module in a folder and declare an object in it.

A registry is a package; each public module in it declares its entry under one agreed name
(``CONSTRUCTOR`` in ``assay.truth``, ...). Discovery imports the modules in name order.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType


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
