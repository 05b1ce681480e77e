"""The files that a tool's scripts name, and those that these name in turn.

A script is text: every word of it that is the path of a file, from the script's folder, from the
tool's or from the root, counts as called; so does a module that a Python file imports from its own
folder. What a script writes to (`> FILE`, `tee FILE`) does not. Names that are put together while
it runs, programs found on the PATH and the system's own files are not found this way.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

NOT_COVERED = (
    "programs found on the PATH, the system's files, installed packages, file names that are put "
    "together at run time, data that no script names, and the network"
)
MOST_CALLED = 1_000
_LARGEST_SCRIPT = 2**20
_MOST_WORDS = 50_000
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev", "/proc", "/sys", "/run")
_OUTPUTS = frozenset({".log", ".out", ".err", ".tmp", ".pid", ".lock"})
_WRITTEN = re.compile(r"""(?:\d|&)?>>?\s*"?[^\s;|&"]+|\btee\s+(?:-a\s+)?\S+""")
_HOME = re.compile(r"\$\{?HOME\}?|(?<![\w/])~(?=/)")
_VARIABLE = re.compile(r"\$\{\w+[^}]*\}|\$\w+|\$\([^()]*\)|`[^`]*`")
_WORD = re.compile(r"[\w./+@%-]+")
_IMPORT = re.compile(r"^\s*(?:from|import)\s+(\.*[\w.]+)", re.MULTILINE)


def called_files(scripts: Iterable[Path], folder: Path) -> list[Path]:
    """The scripts themselves and all that they call, each once, nearest first."""
    waiting = deque(path.resolve() for path in scripts)
    found = dict.fromkeys(waiting)
    while waiting:
        script = waiting.popleft()
        for path in _named(script, folder):
            if path not in found and len(found) < MOST_CALLED:
                found[path] = None
                waiting.append(path)
    return list(found)


def _named(script: Path, folder: Path) -> Iterator[Path]:
    text = _text(script)
    if text is None:
        return
    bases = dict.fromkeys((script.parent, folder.resolve()))
    for word in _words(text):
        places = [Path(word)] if word.startswith("/") else []
        places += [base / word.lstrip("/") for base in bases]
        yield from _files(places)
    if script.suffix == ".py":
        for name in _IMPORT.findall(text):
            path = script.parent / name.lstrip(".").replace(".", "/")
            yield from _files([path.with_name(f"{path.name}.py"), path / "__init__.py"])


def _words(text: str) -> Iterator[str]:
    """What may be paths; `$DIR/tool` and `$(dirname $0)/tool` leave `/tool`."""
    text = _HOME.sub(lambda _: str(Path.home()), _WRITTEN.sub(" ", text))
    for _ in range(3):  # substitutions stand in substitutions
        text = _VARIABLE.sub(" ", text)
    seen: dict[str, None] = {}
    for match in _WORD.finditer(text):
        word = match.group().rstrip(".")
        if len(seen) >= _MOST_WORDS:
            return
        if word.strip("/.") and word not in seen:
            seen[word] = None
            yield word


def _files(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        try:
            path = place.resolve()
            regular = path.is_file()
        except (OSError, RuntimeError, ValueError):  # too long a name, links in a circle
            continue
        if regular and path.suffix not in _OUTPUTS and not _is_systems(path):
            yield path


def _is_systems(path: Path) -> bool:
    inside = any(path.is_relative_to(place) for place in _SYSTEM)
    return inside and not path.is_relative_to("/usr/local")


def _text(path: Path) -> str | None:
    """What a script says; None for a file that is none."""
    try:
        if path.stat().st_size > _LARGEST_SCRIPT:
            return None
        data = path.read_bytes()
    except OSError:
        return None
    if b"\0" in data:
        return None
    return data.decode(errors="replace")
