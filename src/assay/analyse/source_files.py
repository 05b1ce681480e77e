"""The source files that a piece of Python is made of, as far as its imports tell.

From the file of a function or class its import statements are followed, wherever in the file they
stand, through every file that is the user's own: not Python's library, not an installed package.
Of installed packages the version counts. What a program imports or runs by a computed name, and
the data files that it reads, cannot be known this way.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import os
import sys
import sysconfig
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path

_INSTALLED = {"site-packages", "dist-packages"}
_OWN_PACKAGE = Path(__file__).resolve().parent.parent
MOST_FILES = 2_000


@dataclass(frozen=True)
class Sources:
    """Hashes of the user's own files, by path from the first one's folder; versions of packages;
    in words, what neither reaches."""

    files: dict[str, str]
    packages: dict[str, str]
    not_covered: tuple[str, ...] = ()


def sources_of(files: Iterable[Path]) -> Sources:
    """The files given, whosever they are, and those of the user's own that they import."""
    importlib.invalidate_caches()  # a file may have come a moment ago
    first = [path.resolve() for path in files]
    waiting, seen, packages = deque(first), set(first), dict[str, str | None]()
    while waiting and len(seen) < MOST_FILES:
        path = waiting.popleft()
        if not is_own(path):
            continue
        for name, places in _imported(path):
            found = _located(name, places)
            own = [each for each in found if is_own(each)]
            package = name.split(".")[0]
            is_here = places is None and (found or package in sys.modules)
            if not own and is_here and package not in packages:
                packages[package] = _version(package)
            waiting.extend(each for each in own if each not in seen)
            seen.update(own)
    here = first[0].parent if first else Path.cwd()
    hashes = {Path(os.path.relpath(path, here)).as_posix(): _sha256(path) for path in seen}
    versions = {name: version for name, version in sorted(packages.items()) if version is not None}
    # Python's own library goes with Python
    unknown = sorted(packages.keys() - versions.keys() - sys.stdlib_module_names)
    missed = [f"the version of {name}, which does not tell it" for name in unknown]
    if waiting:
        missed.append(f"files that are imported beyond the first {MOST_FILES:,}")
    return Sources(dict(sorted(hashes.items())), versions, tuple(missed))


def is_own(path: Path) -> bool:
    """Whether a file is the user's: no part of Python, of an installed package or of Assay."""
    if not path.is_file() or _INSTALLED & set(path.parts):
        return False
    return not any(path.is_relative_to(place) for place in (*_library(), _OWN_PACKAGE))


@cache
def _library() -> tuple[Path, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple({Path(sysconfig.get_path(name)).resolve() for name in names})


def _imported(path: Path) -> Iterator[tuple[str, Sequence[str] | None]]:
    """Dotted names that a file imports, and where they are looked for (None: on sys.path)."""
    if path.suffix not in (".py", ".pyw"):
        return
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, None
        elif isinstance(node, ast.ImportFrom):
            places = [str(path.parents[node.level - 1])] if node.level else None
            start = [node.module] if node.module else []
            # what is imported may be a module itself; `*` brings no module
            ends = [alias.name for alias in node.names if alias.name != "*"]
            for end in ends or [""]:
                yield ".".join([*start, *([end] if end else [])]), places


def _located(name: str, places: Sequence[str] | None) -> list[Path]:
    """The files of a dotted name: those of its packages and, if there is one, its own."""
    found: list[Path] = []
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        try:
            spec = PathFinder.find_spec(parts[count - 1], places)
        except (ImportError, ValueError, OSError):
            break
        if spec is None:
            break
        if spec.origin is not None and spec.has_location:
            found.append(Path(spec.origin).resolve())
        if spec.submodule_search_locations is None:
            break
        places = list(spec.submodule_search_locations)
    return found


def _version(package: str) -> str | None:
    """As the package says itself, or as what installed it does."""
    if package in sys.stdlib_module_names:
        return None
    version = getattr(sys.modules.get(package), "__version__", None)
    if isinstance(version, str):
        return version
    names = _distributions().get(package, ())
    found = {name: metadata.version(name) for name in sorted(set(names))}
    if len(found) == 1:
        return next(iter(found.values()))
    # several may share one name, as those in `google` do
    return ", ".join(f"{name} {version}" for name, version in found.items()) or None


@cache
def _distributions() -> Mapping[str, Sequence[str]]:
    return metadata.packages_distributions()


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "unreadable"
