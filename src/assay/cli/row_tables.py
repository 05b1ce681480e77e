"""How commands end that make a table row by row: `assay profile`, `assay attack`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer

from assay.errors import WrongLabel
from assay.suite.row_progress import INTERNAL, RowOutcome


@contextmanager
def stopped_by_a_wrong_label() -> Iterator[None]:
    try:
        yield
    except WrongLabel as error:
        print(f"assay: {error}", file=sys.stderr)
        raise typer.Exit(1) from None


def end_for_failed(rows: Sequence[RowOutcome]) -> None:
    """Say why rows failed, and end with the exit code for it; nothing where none did."""
    for row in rows:
        print(f"assay: {row.instance}: {row.note}", file=sys.stderr)
    if rows:
        defect = any(row.note.startswith(INTERNAL) for row in rows)
        raise typer.Exit(3 if defect else 2)
