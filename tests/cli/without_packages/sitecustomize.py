"""Read by every interpreter that finds it: packages named in HIDDEN_PACKAGES are not installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution, DistributionFinder, MetadataPathFinder
from types import ModuleType

_HIDDEN = frozenset(filter(None, os.environ.get("HIDDEN_PACKAGES", "").split(",")))


def _is_hidden(name: str) -> bool:
    return name.partition(".")[0].replace("-", "_") in _HIDDEN


class WithoutPackages:
    """What looks for modules on the path, and passes some by."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return None if _is_hidden(name) else PathFinder.find_spec(name, path, target)

    @staticmethod
    def find_distributions(context: DistributionFinder.Context) -> Iterable[Distribution]:
        if context.name is not None and _is_hidden(context.name):
            return []
        return MetadataPathFinder.find_distributions(context)

    invalidate_caches = staticmethod(PathFinder.invalidate_caches)


sys.meta_path[:] = [WithoutPackages if finder is PathFinder else finder for finder in sys.meta_path]
