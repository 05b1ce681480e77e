"""`assay import`: a benchmark of VNN-COMP into a benchmark folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.option_kinds import AsJson, Jobs, NewFolder

if TYPE_CHECKING:
    from assay.suite.exchange.importing import Imported


def import_benchmark(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A VNN-COMP benchmark, or its instances.csv.")
    ],
    output: NewFolder,
    version: Annotated[
        str | None,
        typer.Option(metavar="1.0|2.0", help="Which version, where the benchmark has both."),
    ] = None,
    jobs: Jobs = 0,
    as_json: AsJson = False,
) -> None:
    """Bring in a benchmark of others: unpacked and flat, its questions without truths.

    It can be run and compared; without truths there is nothing to score soundness against.

    Examples:

      assay import vnncomp2026_benchmarks/benchmarks/cersyve -o cersyve

      assay import benchmarks/relusplitter --version 2.0 -o relusplitter
    """
    from assay.cli.output import print_json, shown_progress
    from assay.suite.exchange.importing import import_benchmark as bring_in

    try:
        with shown_progress("import") as watcher:
            imported = bring_in(path, output, version=version, jobs=jobs, watcher=watcher)
    except KeyboardInterrupt:
        print("assay: stopped; nothing was written", file=sys.stderr)
        raise typer.Exit(130) from None
    if as_json:
        print_json({"folder": str(output), **imported.document()})
    else:
        _show(imported)


def _show(imported: Imported) -> None:
    from assay.cli.output import print_line

    networks = len({instance.onnx.path for instance in imported.instances})
    versions = sorted({instance.version or "?" for instance in imported.instances})
    print_line(
        f"{imported.folder}: {len(imported.instances)} instances, {networks} networks, VNN-LIB "
        f"{' and '.join(versions)}; no truths, so soundness cannot be scored."
    )
    if imported.unreadable:
        first = imported.unreadable[0]
        print_line(
            f"{len(imported.unreadable)} of them Assay's own readers cannot read, first "
            f"{first.name}: {first.reason}"
        )
    for what, rows in (("repeated", imported.repeated), ("left out", imported.left_out)):
        if rows:
            print_line(f"{len(rows)} rows {what}, first line {rows[0].line}: {rows[0].reason}")
