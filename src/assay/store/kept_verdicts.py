"""What the checker has verified before, kept for whoever uses the same files again.

A kept verdict is one line: the sha256 of the checker itself (its sources, and the versions of what
reads and multiplies for it) and of the bytes that it verified. Other bytes or another checker make
another line, so nothing has to be thrown away. Only `verified` is kept: everything else stops the
command that asked.

The file lies in the user's cache and never in a benchmark folder: what travels with a benchmark
cannot vouch for it. A file that others could have written is not read. Whoever can write as this
user could change the checker as well, and is not kept out.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import sys
from contextlib import suppress
from dataclasses import astuple, dataclass
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path

import assay.proof

_READERS = ("onnx", "protobuf", "python-flint")
_LINE = re.compile(rb"[0-9a-f]{64}")
_MOST_BYTES = 1 << 28
_HERE: set[str] = set()
"""Verified by this process: known also where nothing can be written."""


@dataclass(frozen=True)
class Digests:
    """The sha256 of what a verdict is about; `arrays` is empty where a truth has none."""

    onnx: str
    vnnlib: str
    truth: str
    arrays: str = ""

    @classmethod
    def of(cls, onnx: bytes, vnnlib: bytes, truth: bytes, arrays: bytes | None = None) -> Digests:
        return cls(
            onnx=hashlib.sha256(onnx).hexdigest(),
            vnnlib=hashlib.sha256(vnnlib).hexdigest(),
            truth=hashlib.sha256(truth).hexdigest(),
            arrays="" if arrays is None else hashlib.sha256(arrays).hexdigest(),
        )


class KeptVerdicts:
    """The verdicts of this checker that were kept when it was opened, and those added since."""

    def __init__(self) -> None:
        checker = _checker_sha256()
        self._checker = checker
        self._file = None if checker is None else cache_folder() / f"verified-{checker[:16]}"
        self._known = frozenset() if self._file is None else _kept(self._file)

    def __contains__(self, digests: Digests) -> bool:
        key = self._key(digests)
        return key in _HERE or key in self._known

    def add(self, digests: Digests) -> None:
        """Keep that the checker verified these bytes; where that is impossible, go on without."""
        key = self._key(digests)
        known = key in _HERE or key in self._known
        _HERE.add(key)
        if self._file is None or known:
            return
        with suppress(OSError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
            descriptor = os.open(self._file, flags, 0o600)
            try:
                # One write, so that commands that run at once do not mix their lines; a line that
                # was cut off is no digest, and neither is the one that it runs into.
                os.write(descriptor, f"{key}\n".encode())
            finally:
                os.close(descriptor)

    def _key(self, digests: Digests) -> str:
        said = json.dumps([self._checker, *astuple(digests)])
        return hashlib.sha256(said.encode()).hexdigest()


def cache_folder() -> Path:
    """The folder of what Assay can make again."""
    for variable, below in (("ASSAY_CACHE", ""), ("XDG_CACHE_HOME", "assay")):
        if os.environ.get(variable):
            return (Path(os.environ[variable]).expanduser() / below).absolute()
    return Path.home() / ".cache" / "assay"


def _kept(file: Path) -> frozenset[str]:
    try:
        found = file.lstat()
        if found.st_size > _MOST_BYTES:
            return frozenset()
        return _read(file, found.st_size, found.st_mtime_ns, found.st_mode, found.st_uid)
    except OSError:
        return frozenset()


@lru_cache(maxsize=1)
def _read(file: Path, _size: int, _time: int, _mode: int, _owner: int) -> frozenset[str]:
    """The lines of the file, read once while it stays the same: there may be 10^5 of them."""
    descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(descriptor, "rb") as stream:
        return _lines(stream.read()) if _is_private(stream.fileno()) else frozenset()


def _is_private(descriptor: int) -> bool:
    found = os.fstat(descriptor)
    own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    return own and stat.S_ISREG(found.st_mode) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _lines(data: bytes) -> frozenset[str]:
    return frozenset(line.decode() for line in data.split(b"\n") if _LINE.fullmatch(line))


@cache
def _checker_sha256() -> str | None:
    """What verdicts depend on besides the bytes; None where the checker's sources are not files."""
    root = Path(assay.proof.__file__).parent
    sources = sorted(root.rglob("*.py"))
    if not sources:
        return None
    digest = hashlib.sha256(sys.version.encode())
    for name in _READERS:
        digest.update(f"{name} {metadata.version(name)}\0".encode())
    for file in sources:
        digest.update(f"{file.relative_to(root)}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
