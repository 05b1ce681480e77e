"""How commands end that make a table row by row: `assay profile`, `assay attack`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer

from assay.cli.output import print_json
from assay.errors import WrongLabel
from assay.suite.instance_table import INTERNAL, RowOutcome


@contextmanager
def stopped_by_a_wrong_label(*, whole_point: bool, as_json: bool) -> Iterator[None]:
    """Say what is wrong, with the `whole_point` where no file holds it."""
    try:
        yield
    except WrongLabel as error:
        if as_json:
            print_json({"wrong_label": str(error), "point": list(error.point)})
        print(f"assay: {error}", file=sys.stderr)
        if whole_point:
            print(f"assay: the whole point: {' '.join(error.point)}", file=sys.stderr)
        raise typer.Exit(1) from None


def end_for_failed(rows: Sequence[RowOutcome]) -> None:
    """Say why rows failed, and end with the exit code for it; nothing where none did."""
    for row in rows:
        print(f"assay: {row.instance}: {row.note}", file=sys.stderr)
    if rows:
        defect = any(row.note.startswith(INTERNAL) for row in rows)
        raise typer.Exit(3 if defect else 2)
