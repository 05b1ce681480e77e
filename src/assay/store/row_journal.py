"""Rows of a command that may be stopped at any moment, kept as they come.

The first line of the file, the head, says what the rows are about; a command goes on only with rows
of the same head. One command at a time holds the file. A file without a whole line is taken for a
head cut short only if it is the beginning of ours; any other is left alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay.errors import BadInput
from assay.store.file_lock import locked
from assay.store.line_file import Line, LineFile, written
from assay.store.whole_file import writing


class RowJournal:
    """An open journal; `head` is what it held when it was opened."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path, self._file = path, LineFile(path, handle)
        self._rows_at = self._file.size
        self.head: Line | None = None
        for place, line in self._file.numbered():
            if self.head is not None:
                self._rows_at = place
                break
            self.head = line

    @property
    def is_empty(self) -> bool:
        """Whether there is no row."""
        return next(self.rows(), None) is None

    def rows(self) -> Iterator[Line]:
        return (line for _, line in self.numbered())

    def numbered(self) -> Iterator[tuple[int, Line]]:
        """Every row with its place, for `at`."""
        return self._file.numbered(self._rows_at) if self.head is not None else iter(())

    def at(self, place: int) -> Line:
        return self._file.at(place)

    def append(self, row: Mapping[str, Any]) -> int:
        return self._file.append(row)

    def restart(self, head: Mapping[str, Any]) -> None:
        """Forget what it held; BadInput where that is no line of ours."""
        if not self._file.size and not written(head).startswith(self._file.torn):
            raise foreign(self.path, "this command")
        self._file.cut(0)
        self.head = dict(head)
        self._file.append(head)
        self._rows_at = self._file.size

    def resume(
        self, head: Mapping[str, Any], *, mark: str, command: str, other: Callable[[Line], str]
    ) -> None:
        """Go on with the rows of the same head, or begin where there are none.

        A head without the key `mark` is not one of `command`'s; `other` says, after "holds", what
        rows of another head are, and what to do about them.
        """
        wanted = json.loads(json.dumps(head))
        if self.head == wanted:
            return
        if self.head is not None and mark not in self.head:
            raise foreign(self.path, command)
        if self.head is not None and not self.is_empty:  # rows are never thrown away
            raise BadInput(f"{self.path}: holds {other(self.head)}")
        self.restart(wanted)


@contextmanager
def row_journal(path: Path, busy: str) -> Iterator[RowJournal]:
    """Open or begin a journal; `busy` is the sentence for when another command holds it."""
    with writing(path):
        handle = locked(path, busy, os.O_APPEND | os.O_NOFOLLOW)
    try:
        yield RowJournal(path, handle)
    finally:
        os.close(handle)


def foreign(path: Path, command: str) -> BadInput:
    """The refusal of a file that is not ours."""
    return BadInput(
        f"{path}: was not written by {command}; choose another file, or move this one away"
    )
