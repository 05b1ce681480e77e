"""A file of JSON lines that grows while a command works, so that it may be stopped at any moment.

The first line, the head, says what the rest is about. One command at a time holds the file; a last
line that a kill cut short is cut off before the next is written. A file without a whole line is
taken for a head cut short only if it is the beginning of ours; any other is left alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay.errors import BadInput
from assay.suite.file_lock import locked
from assay.suite.journal import writing

Line = dict[str, Any]


class LineJournal:
    """An open journal; `head` and `lines` are what it held when it was opened."""

    def __init__(self, path: Path, handle: int) -> None:
        self._path, self._handle = path, handle
        with writing(path), os.fdopen(os.dup(handle), "rb") as stream:
            stream.seek(0)
            whole, ending, torn = stream.read().rpartition(b"\n")
        self._torn_at = len(whole) + len(ending) if torn else None
        self._unended = None if ending else torn
        documents = [_parsed(line) for line in whole.split(b"\n")] if ending else []
        self.head = documents[0] if documents else None
        self.lines = documents[1:]

    def restart(self, head: Mapping[str, Any]) -> None:
        """Forget what it held; BadInput where that is no line of ours."""
        if self._unended and not _written(head).startswith(self._unended):
            raise foreign(self._path, "this command")
        self._unended = None
        self._cut(0)
        self.head, self.lines = dict(head), []
        self.append(head)

    def append(self, document: Mapping[str, Any]) -> None:
        if self._torn_at is not None:
            self._cut(self._torn_at)
        with writing(self._path):
            os.write(self._handle, _written(document))

    def _cut(self, size: int) -> None:
        with writing(self._path):
            os.ftruncate(self._handle, size)
        self._torn_at = None


@contextmanager
def line_journal(path: Path, busy: str) -> Iterator[LineJournal]:
    """Open or begin a journal; `busy` is the sentence for when another command holds it."""
    with writing(path):
        handle = locked(path, busy, os.O_APPEND | os.O_NOFOLLOW)
    try:
        yield LineJournal(path, handle)
    finally:
        os.close(handle)


def foreign(path: Path, command: str) -> BadInput:
    """The refusal of a file that is not ours."""
    return BadInput(
        f"{path}: was not written by {command}; choose another file, or move this one away"
    )


def _written(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document).encode() + b"\n"


def _parsed(line: bytes) -> Line:
    """A line that is no JSON object counts as an empty one."""
    try:
        document = json.loads(line)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
