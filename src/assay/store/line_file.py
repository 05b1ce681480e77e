"""An append-only file of JSON lines: each is there whole or not at all, whenever a command ends.

A last line that a kill cut short is cut off before the next is written. Lines are read from the
disk when they are asked for, so a file may hold more of them than memory does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from assay.store.whole_file import writing

Line = dict[str, Any]
_BLOCK = 1 << 20


class LineFile:
    """An open file; `handle` is open for reading and appending, and belongs to the caller.

    `size` is where its whole lines end.
    """

    def __init__(self, path: Path, handle: int) -> None:
        self.path, self._handle = path, handle
        with writing(path):
            self.size = _whole_size(handle)
            self._torn = os.fstat(handle).st_size > self.size

    @property
    def torn(self) -> bytes:
        """What a kill left behind the last whole line."""
        return os.pread(self._handle, os.fstat(self._handle).st_size - self.size, self.size)

    def numbered(self, start: int = 0) -> Iterator[tuple[int, Line]]:
        """Every line with its place, from `start` on; one that is no JSON object is {}."""
        with os.fdopen(os.dup(self._handle), "rb") as stream:
            stream.seek(start)
            place = start
            while place < self.size:
                line = stream.readline()
                yield place, parsed(line)
                place += len(line)

    def at(self, place: int) -> Line:
        return next(line for _, line in self.numbered(place))

    def append(self, document: Mapping[str, Any], *, durable: bool = False) -> int:
        """Write one line, or, when the disk refuses, nothing of it; its place in the file."""
        return self.append_bytes(written(document), durable=durable)

    def append_bytes(self, line: bytes, *, durable: bool = False) -> int:
        """The same of a line as it shall stand there."""
        if self._torn:
            self.cut(self.size)
        place, rest = self.size, memoryview(line)
        with writing(self.path):
            try:
                while rest:
                    rest = rest[os.write(self._handle, rest) :]
                if durable:
                    os.fdatasync(self._handle)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self._handle, place)
                raise
        self.size = os.fstat(self._handle).st_size
        return place

    def cut(self, size: int) -> None:
        """Forget what lies behind this place."""
        with writing(self.path):
            os.ftruncate(self._handle, size)
        self.size, self._torn = size, False


def written(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document).encode() + b"\n"


def parsed(line: bytes) -> Line:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _whole_size(handle: int) -> int:
    """Where the last whole line ends."""
    end = os.fstat(handle).st_size
    while end > 0:
        start = max(0, end - _BLOCK)
        found = os.pread(handle, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
