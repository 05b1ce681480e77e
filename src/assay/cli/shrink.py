"""`assay shrink`: the smallest question that a verifier still gets wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.option_kinds import (
    AsJson,
    Jobs,
    MaybeFolder,
    OneVerifier,
    TotalTime,
    Variables,
    VerifierCommands,
    VerifierFolders,
    VerifierName,
)
from assay.cli.process_signals import STOPPED_EXIT
from assay.cli.task_limits import a_limit
from assay.errors import BadInput


def shrink(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    instance: Annotated[str, typer.Argument(metavar="INSTANCE", help="Its name in the run.")],
    named: OneVerifier = None,
    verifier: VerifierName = None,
    output: MaybeFolder = None,
    time: TotalTime = 600.0,
    budget: Annotated[
        float | None,
        typer.Option("--budget", hidden=True, callback=a_limit, help="The old name of --time."),
    ] = None,
    calls: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Most calls of the verifier in the search; it is asked once before and at least "
            "twice after. Default: no limit.",
        ),
    ] = None,
    jobs: Jobs = 0,
    benchmark: Annotated[
        Path | None, typer.Option(help="The benchmark folder, when it has moved.")
    ] = None,
    verifier_dir: VerifierFolders = None,
    verifier_command: VerifierCommands = None,
    env: Variables = None,
    as_json: AsJson = False,
) -> None:
    """Shrink a wrong answer to a minimal reproducer: network and box, as small as it stays wrong.

    Every step keeps two things: the truth is proved on the new files, by exact arithmetic, and the
    same verifier with the same limits is wrong about them in the same way. The result is a
    benchmark folder of one instance with a REPRODUCE.md, by default RUN/shrunk/INSTANCE-VERIFIER;
    see docs/shrink.md. The verifier is named where several are wrong. Ctrl-C keeps the best
    so far. Answers are kept in RUN/shrunk, so that none is asked for twice: the same command, also
    with a larger --time, goes on from there.

    Examples:

      assay shrink runs/first planted-03-000-violated

      assay shrink runs/first meap-00-000-robust -v mytool --time 1800 --jobs 2 -o reproducer
    """
    from assay.cli.shrink_view import print_shrunk, shown_shrinking
    from assay.judge.tool_environment import read_assignments
    from assay.shrink.search import Budget
    from assay.shrink.shrinking import Request
    from assay.shrink.shrinking import shrink as shrink_answer
    from assay.shrink.wrong_answer import BroughtTools

    if named and verifier and named != verifier:
        raise BadInput(f"{named} and -v {verifier} are two verifiers; name the one that is wrong")
    request = Request(
        run=run,
        instance=instance,
        verifier=verifier or named,
        benchmark=benchmark,
        brought=BroughtTools(
            verifier_dir or [], verifier_command or [], read_assignments(env or [])
        ),
        output=output,
        jobs=jobs,
        budget=Budget(time if budget is None else budget, calls),
    )
    try:
        with shown_shrinking() as watcher:
            found = shrink_answer(request, watcher)
    except KeyboardInterrupt:
        print("assay: stopped before anything was shrunk", file=sys.stderr)
        raise typer.Exit(STOPPED_EXIT) from None
    print_shrunk(found, as_json)
    if found.ended == "stopped":
        raise typer.Exit(STOPPED_EXIT)
