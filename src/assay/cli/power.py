"""`assay power`: which verifiers broken on purpose a benchmark catches."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.option_kinds import AsJson, Jobs, MaybeFile, Seed, TaskTimeout
from assay.cli.process_signals import resumable

if TYPE_CHECKING:
    from assay.engine.work import Watcher


def power(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A benchmark folder with truths.")],
    mutants: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[@STRENGTH]", help="A mutant; may be repeated; default: all."),
    ] = None,
    timeout: TaskTimeout = 30.0,
    boxes: Annotated[int, typer.Option(min=1, help="Boxes an answer may be split into.")] = 300,
    floors: Annotated[
        bool, typer.Option("--floors/--no-floors", help="Find the floors in alpha and beta.")
    ] = True,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds a strength, for the floors.")] = 20,
    seed: Seed = 0,
    jobs: Jobs = 0,
    output: MaybeFile = None,
    as_json: AsJson = False,
) -> None:
    """Measure what a benchmark detects: run verifiers broken on purpose and count who is caught.

    A mutant is caught by one unsound or bogus answer. The table shows which families catch which
    mutants; survivors are named, and so are the floors: the least strengths that are still caught.
    The same verifier without a bug must never be accused: if it is, the exit code is 1. What is
    finished is kept in DIR/power.jsonl, or the file of -o, so a command that is stopped goes on
    when it is given again; see docs/power.md.

    Examples:

      assay power bench

      assay power bench --no-floors --jobs 2

      assay power bench --mutants dropped-domains@0.1 --mutants last-disjunct-wins
    """
    from assay.cli.output import print_json, shown_progress
    from assay.cli.power_view import document, print_power
    from assay.judge.power.catalogue import mutants as known
    from assay.judge.power.catalogue import specimen
    from assay.judge.power.measure import POWER_FILE, Settings, measure
    from assay.judge.power.trial import Budget

    named = [specimen(name) for name in mutants or known()]
    specimens = list({each.name: each for each in named}.values())
    settings = Settings(Budget(timeout, boxes), jobs, seeds if floors else 0, seed)

    def watched(what: str) -> AbstractContextManager[Watcher]:
        return shown_progress(f"power, {what}")

    with resumable():
        found = measure(folder, specimens, settings, output or folder / POWER_FILE, watched)
    if as_json:
        print_json(document(found, settings))
    else:
        print_power(found, settings)
    for name, reason in found.failed:
        print(f"assay: {name}: {reason}", file=sys.stderr)
    if found.accusations:
        raise typer.Exit(1)
    if found.failed:
        raise typer.Exit(2)
