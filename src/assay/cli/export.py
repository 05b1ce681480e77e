"""`assay export`: a benchmark folder in the layouts of VNN-COMP."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.option_kinds import AsJson, Jobs, NewFolder


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A benchmark folder.")],
    output: NewFolder,
    version: Annotated[
        list[str] | None,
        typer.Option(metavar="1.0|2.0", help="Version of VNN-LIB; may be repeated. Default: both."),
    ] = None,
    packed: Annotated[
        bool, typer.Option("--gzip", help="Pack every network and question.")
    ] = False,
    with_truth: Annotated[
        bool, typer.Option("--with-truth", help="Hand out the answers and their proofs, too.")
    ] = False,
    jobs: Jobs = 0,
    as_json: AsJson = False,
) -> None:
    """Write a benchmark as VNN-COMP lays it out: a folder for each version of VNN-LIB.

    Every question that is written anew is read back and is exactly the same set, or nothing is
    exported. Names of instances may still tell the answers: `assay seal` hides them.

    Examples:

      assay export bench -o handout --gzip

      assay export bench -o handout --version 2.0 --with-truth
    """
    from assay.cli.output import print_json, print_line, shown_progress
    from assay.cli.truth_check import verify_truths
    from assay.suite.exchange.exporting import export as hand_out
    from assay.suite.exchange.source_list import VERSIONS
    from assay.suite.folder import BenchmarkFolder

    benchmark = BenchmarkFolder.open(folder)
    try:
        if with_truth:
            verify_truths(benchmark)
        with shown_progress("export") as watcher:
            exported = hand_out(
                benchmark,
                output,
                versions=version or VERSIONS,
                packed=packed,
                with_truth=with_truth,
                jobs=jobs,
                watcher=watcher,
            )
    except KeyboardInterrupt:
        print("assay: stopped; nothing was written", file=sys.stderr)
        raise typer.Exit(130) from None
    if as_json:
        print_json({**asdict(exported), "folder": str(output)})
        return
    for name in exported.versions:
        new = exported.rewritten[name]
        how = f"{new} written anew and compared exactly" if new else "copied byte by byte"
        print_line(f"{output / name}: {exported.instances} instances, questions {how}.")
    if with_truth:
        print_line("The truths are with them.")
    else:
        print_line("No truths were written (see --with-truth).")
