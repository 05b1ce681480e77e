"""Tables of a benchmark that are made row by row by a command that may be stopped at any moment.

Finished rows go to a hidden file as they come, behind a line that says how they were made; the same
command goes on from there, for instances whose files are still the same. The table itself appears
when all rows are known.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from assay.errors import BadInput, WrongLabel
from assay.suite.file_hash import file_sha256
from assay.suite.journal import writing
from assay.suite.line_journal import Line, LineJournal, line_journal

WRONG_LABEL_FILE = "wrong-label.json"
Files = tuple[Path, Path]
"""The network and the question of an instance."""


class RowProgress:
    """The file of finished rows, held by one command at a time."""

    def __init__(self, path: Path, journal: LineJournal, head: Mapping[str, Any]) -> None:
        self._path, self._journal, self._head = path, journal, json.loads(json.dumps(head))

    def known(self, files: Mapping[str, Files]) -> dict[str, Line]:
        """Rows of an interrupted command with the same head about these very bytes."""
        if self._journal.head is not None and "settings" not in self._journal.head:
            raise BadInput(f"{self._path}: is no file of Assay's; move it away")
        if self._journal.head != self._head:
            self._journal.restart(self._head)
            return {}
        rows = {}
        for line in self._journal.lines:
            name = line.get("instance", "")
            if name in files and line.get("hashes") == list(hashes(files[name])):
                rows[name] = line
        return rows

    def add(self, instance: str, sha256: tuple[str, str], row: Line) -> None:
        self._journal.append({"instance": instance, "hashes": sha256, **row})

    def finish(self, written: Mapping[Path, bytes]) -> None:
        """Put the finished files in their places, each whole or not at all."""
        for target, data in written.items():
            temporary = target.with_name(f".{target.name}.new")
            try:
                with writing(target):
                    temporary.write_bytes(data)
                    temporary.replace(target)
            finally:
                with suppress(OSError):
                    temporary.unlink(missing_ok=True)
        self._path.unlink(missing_ok=True)


@contextmanager
def row_progress(path: Path, head: Mapping[str, Any], doing: str) -> Iterator[RowProgress]:
    """`head` has `settings`; `doing` is what another command might be at."""
    with line_journal(path, f"{path.parent}: another command is {doing} it; wait for that") as held:
        yield RowProgress(path, held, head)


def hashes(files: Files) -> tuple[str, str]:
    return file_sha256(files[0]), file_sha256(files[1])


def refuse_foreign(path: Path, start: str, what: str) -> None:
    """A file of that name that does not begin as ours does is not replaced."""
    if not path.exists():
        return
    try:
        with path.open("rb") as stream:
            found = stream.read(len(start.encode()))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); move it away") from None
    if found != start.encode():
        raise BadInput(f"{path}: exists and is no {what} of Assay's; move it away")


def with_witness(folder: Path, error: WrongLabel) -> WrongLabel:
    """The same error, its point in a file that the sentence names."""
    target = folder / WRONG_LABEL_FILE
    with writing(target):
        target.write_text(json.dumps({"error": str(error), "point": error.point}, indent=1) + "\n")
    return WrongLabel(f"{error}; the whole point is in {target}", error.point)
