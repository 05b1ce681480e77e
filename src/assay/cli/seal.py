"""`assay seal` and `assay unseal`: questions to publish, truths to keep."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.option_kinds import AsJson, Jobs, NewFolder


def seal(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A benchmark folder with truths.")],
    output: NewFolder,
    one_of_twins: Annotated[
        bool, typer.Option("--one-of-twins", help="Publish one of each two twins, drawn by lot.")
    ] = False,
    allow_telltales: Annotated[
        bool, typer.Option("--allow-telltales", help="Seal even if a file may reveal its answer.")
    ] = False,
    jobs: Jobs = 0,
    as_json: AsJson = False,
) -> None:
    """Split a benchmark: questions to publish, truths to keep, and a commitment to them.

    OUT/questions is to be published; its commitment.json holds the sha256 of OUT/truths.tar, so
    that no answer can be changed later. Every label is verified by the checker first.

    Examples:

      assay seal bench -o sealed

      assay unseal sealed/questions --truths sealed/truths.tar -o opened
    """
    from assay.cli.output import print_json, print_line, shown_progress
    from assay.suite.exchange.seal import seal as seal_folder
    from assay.suite.folder import BenchmarkFolder

    benchmark = BenchmarkFolder.open(folder)
    try:
        with shown_progress("seal") as watcher:
            sealed = seal_folder(
                benchmark,
                output,
                one_of_twins=one_of_twins,
                allow_telltales=allow_telltales,
                jobs=jobs,
                watcher=watcher,
            )
    except KeyboardInterrupt:
        print("assay: stopped; nothing was written", file=sys.stderr)
        raise typer.Exit(130) from None
    if as_json:
        parts = {"questions": str(sealed.questions), "truths": str(sealed.truths)}
        print_json(asdict(sealed) | parts)
        return
    print_line(f"publish {sealed.questions}: {sealed.instances} questions")
    print_line(f"keep    {sealed.truths}: sha256 {sealed.truths_sha256}")
    if sealed.dropped:
        print_line(f"{sealed.dropped} twins were left out.")
    for warning in sealed.warnings:
        print_line(f"careful: {warning}.")


def unseal(
    questions: Annotated[Path, typer.Argument(metavar="QUESTIONS", help="The published folder.")],
    truths: Annotated[Path, typer.Option(metavar="FILE", help="The archive of truths.")],
    output: NewFolder,
    as_json: AsJson = False,
) -> None:
    """Join published questions and their truths, if both are exactly what was sealed.

    The checker verifies every truth first; one that it does not verify stops it.

    The names stay the published ones, so runs of the sealed questions can be scored:
    `assay score RUN --benchmark DIR`.
    """
    from assay.cli.output import print_json, print_line, shown_progress
    from assay.suite.exchange.unseal import unseal as unseal_folder

    with shown_progress("check") as watcher:
        unsealed = unseal_folder(questions, truths, output, watcher)
    if as_json:
        print_json(asdict(unsealed) | {"folder": str(output)})
    else:
        print_line(f"{output}: {unsealed.instances} instances; the commitment was kept.")
