"""Which version of a tool its folder holds: the commit, and what its programs are made of.

The commit alone does not tell: files may be edited or built anew without one. So the version also
holds a hash of the programs and settings in the folder, by name, size and content, tracked or not;
that is the same for two copies of one build, and another after an edit. Looking at all of a large
tree would take too long: the hash covers the `MOST_FILES` of them nearest to the folder, after
`MOST_BYTES` only both ends of a file (where the build's own number stands), and gives up after
`MOST_ENTRIES`. What a tool writes while it runs (caches, logs, data) must not make it another
version: hidden folders, caches, virtual environments and other kinds of files are left out, unless
a script names them (see `called_files`).
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_SHORT = 12
MOST_FILES = 1_000
MOST_ENTRIES = 5_000
MOST_BYTES = 2**28
_END_BYTES = 32 * 1024
_PROGRAMS = frozenset(
    {".py", ".pyc", ".pyx", ".sh", ".bash", ".pl", ".jl", ".lua", ".m", ".so", ".jar", ".dll"}
    | {".toml", ".yaml", ".yml", ".cfg", ".ini"}
)
_LEFT_OUT = frozenset({"__pycache__", "node_modules", "site-packages", "tmp", "logs", "results"})


def source_version(folder: Path) -> str | None:
    """`commit ...` when the folder is a git checkout, else None."""
    git = folder / ".git"
    try:
        if git.is_file():  # a submodule or a worktree says where its git folder lies
            git = (
                folder / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
            ).resolve()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref:"):
            return f"commit {head[:_SHORT]}"
        name = head.removeprefix("ref:").strip()
        if (git / name).is_file():
            return f"commit {(git / name).read_text(encoding='utf-8').strip()[:_SHORT]}"
        for line in (git / "packed-refs").read_text(encoding="utf-8").splitlines():
            commit, _, found = line.partition(" ")
            if found == name:
                return f"commit {commit[:_SHORT]}"
    except (OSError, UnicodeDecodeError):
        pass
    return None


def programs_version(folder: Path, always: Sequence[Path] = ()) -> str | None:
    """`files ...`, a hash of the programs and settings in the folder; None when it has none."""
    found = program_hashes(folder, always)
    return files_version(found) if found else None


def files_version(hashes: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for name, found in hashes.items():
        digest.update(os.fsencode(f"{len(name)} {name} {found} "))
    return f"files {digest.hexdigest()[:_SHORT]}"


def program_hashes(folder: Path, always: Sequence[Path] = ()) -> dict[str, str]:
    """A short hash of every program and setting in the folder, by its path from there.

    The files in `always` count however many others there are, also from elsewhere.
    """
    paths = {
        str(path.relative_to(folder) if path.is_relative_to(folder) else path): path
        for path in (*always, *_programs(folder))
    }
    return _hashes(paths)


def program_hashes_of(files: Sequence[Path]) -> dict[str, str]:
    """The same for the files given."""
    return _hashes({str(path): path for path in files})


def _hashes(paths: Mapping[str, Path]) -> dict[str, str]:
    found: dict[str, str] = {}
    left = MOST_BYTES
    for name, path in paths.items():
        try:
            size = path.stat().st_size
            found[name] = _hash(path, size, size <= left)
            left -= size if size <= left else 0
        except OSError:
            found[name] = "unreadable"
    return found


def _programs(folder: Path) -> Iterator[Path]:
    """Folder by folder, each in the order of its names, so that it is the same every time."""
    waiting = deque([folder])
    entries = files = 0
    while waiting:
        try:
            with os.scandir(waiting.popleft()) as listing:
                listed = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in listed:
            entries += 1
            if entries > MOST_ENTRIES or files == MOST_FILES:
                return
            try:
                if entry.is_dir(follow_symlinks=False):
                    if _is_looked_into(entry):
                        waiting.append(Path(entry.path))
                elif _is_program(entry):
                    files += 1
                    yield Path(entry.path)
            except OSError:
                continue


def is_left_out(path: Path, folder: Path) -> bool:
    """Whether a file lies where a tool of this folder writes while it runs."""
    if not path.is_relative_to(folder):
        return False
    parts = path.relative_to(folder).parts[:-1]
    return any(part.startswith(".") or part in _LEFT_OUT for part in parts)


def _is_looked_into(entry: os.DirEntry[str]) -> bool:
    is_left_out = entry.name.startswith(".") or entry.name in _LEFT_OUT
    return not is_left_out and not Path(entry.path, "pyvenv.cfg").exists()


def _is_program(entry: os.DirEntry[str]) -> bool:
    if not entry.is_file():
        return False
    suffixes = Path(entry.name).suffixes  # libtool.so.1.2 is a program, too
    return not _PROGRAMS.isdisjoint(suffixes) or bool(entry.stat().st_mode & 0o111)


def _hash(path: Path, size: int, whole: bool) -> str:
    """Of the size, and of all that the file holds or else its beginning and end."""
    digest = hashlib.sha256(b"%d " % size)
    with path.open("rb") as stream:
        if whole:
            while data := stream.read(2**20):
                digest.update(data)
        else:
            digest.update(stream.read(_END_BYTES))
            stream.seek(-_END_BYTES, os.SEEK_END)
            digest.update(stream.read(_END_BYTES))
    return digest.hexdigest()[:_SHORT]
