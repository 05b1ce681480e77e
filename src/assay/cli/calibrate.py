"""`assay calibrate`: what statistical analysers promise, against what is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.option_kinds import AsJson, Jobs, Seed, WorkFolder
from assay.cli.process_signals import resumable
from assay.errors import BadInput

QUICK_REPEATS, QUICK_SAMPLES = 50, 500_000


def calibrate(
    benchmark: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]",
            help="A benchmark whose truths have failure rates; default: the bundled one.",
        ),
    ] = None,
    output: WorkFolder = Path("calibration"),
    analyser: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="An analyser; may be repeated; default: all."),
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(help="Independent runs a question; usually 400.")
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(
            "--samples-budget", help="Most samples an analyser and question; usually 8 million."
        ),
    ] = None,
    error: Annotated[
        float, typer.Option(help="The error probability that is asked of every promise.")
    ] = 0.01,
    quick: Annotated[
        bool, typer.Option("--quick", help="50 runs and half a million samples: under a minute.")
    ] = False,
    power: Annotated[
        bool,
        typer.Option("--power", help="Instead, show which analysers broken on purpose are caught."),
    ] = False,
    broken: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A broken analyser for --power; may be repeated; default: all."
        ),
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    as_json: AsJson = False,
) -> None:
    """Run every analyser on questions of proven failure rate, and count its errors.

    Writes calibration.json, calibration.csv and calibration.svg. A rate that is too small for the
    budget is left out for the methods that cannot reach it, and that is said. Exit code 1 if a
    promise that is a theorem is contradicted: its error, computed exactly, is too high, or chance
    does not explain what was measured (correct analysers are accused with probability 1e-6 a run).

    With --power analysers that are broken on purpose are calibrated in their place, and
    calibration-power.json is written; exit code 1 if one of them is not caught.

    What is finished is kept: a command that is stopped goes on when it is given again. See
    docs/calibration.md.

    Examples:

      assay calibrate

      assay calibrate --quick -o quick

      assay calibrate --power

      assay calibrate --power --broken blocks-repeat --quick -o power

      assay calibrate bench --analyser decide-paper --analyser decide-sprt --error 0.05
    """
    from assay.analyse.analysers import chosen
    from assay.analyse.broken import chosen_broken
    from assay.analyse.calibration.calibrating import built_questions, subjects_of
    from assay.analyse.calibration.calibrating import calibrate as measured
    from assay.analyse.calibration.known import Effort
    from assay.analyse.calibration.power import hunted
    from assay.cli.calibrate_power_view import show_power
    from assay.cli.calibrate_view import show
    from assay.cli.output import shown_progress
    from assay.report.calibration_chart import CHART, calibration_chart
    from assay.report.own_files import refuse_foreign
    from assay.store.whole_file import write_whole

    usual = Effort(QUICK_REPEATS, QUICK_SAMPLES) if quick else Effort()
    effort = Effort(
        usual.repeats if repeats is None else repeats,
        usual.samples if budget is None else budget,
        error,
        seed,
    )
    chosen(analyser or ())
    if power and analyser:
        raise BadInput("--power measures the analysers that show a bug; leave out --analyser")
    if broken and not power:
        raise BadInput("--broken names analysers for --power; give --power as well")
    bugs = chosen_broken(broken or ())
    refuse_foreign(output / CHART)
    with resumable():
        folder = benchmark
        if folder is None:
            with shown_progress("build") as watcher:
                folder = built_questions(output, jobs, watcher)
        with shown_progress("check") as watcher:
            subjects = subjects_of(folder, jobs, watcher)
        if power:
            with shown_progress("power") as watcher:
                caught = hunted(bugs, subjects, effort, jobs, watcher)
            show_power(caught, effort, output, as_json)
            if not all(one.caught for one in caught):
                raise typer.Exit(1)
            return
        with shown_progress("calibrate") as watcher:
            found = measured(subjects, effort, analyser or (), output, jobs, watcher)
    write_whole(output / CHART, calibration_chart(found.summaries))
    show(found, output, as_json)
    if found.broken:
        raise typer.Exit(1)
