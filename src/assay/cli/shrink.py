"""`assay shrink`: the smallest question that a verifier still gets wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.process_signals import STOPPED_EXIT
from assay.cli.task_limits import a_limit


def shrink(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    instance: Annotated[str, typer.Argument(metavar="INSTANCE", help="Its name in the run.")],
    verifier: Annotated[
        str | None,
        typer.Option("--verifier", "-v", help="Whose answer, where several are wrong."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder; default: RUN/shrunk/INSTANCE-VERIFIER."),
    ] = None,
    budget: Annotated[
        float, typer.Option(callback=a_limit, help="Seconds after which no more is tried.")
    ] = 600.0,
    calls: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Most calls of the verifier in the search; it is asked once before and at least "
            "twice after. Default: no limit.",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Candidates at once on this machine.")] = 1,
    benchmark: Annotated[
        Path | None, typer.Option(help="The benchmark folder, when it has moved.")
    ] = None,
    verifier_dir: Annotated[
        list[Path] | None, typer.Option(help="As in `assay run`; may be repeated.")
    ] = None,
    verifier_command: Annotated[
        list[str] | None,
        typer.Option(metavar="TEMPLATE", help="As in `assay run`; may be repeated."),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="As in `assay run`; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Shrink a wrong answer to a minimal reproducer: network and box, as small as it stays wrong.

    Every step keeps two things: the truth is proved on the new files, by exact arithmetic, and the
    same verifier with the same limits is wrong about them in the same way. The result is a
    benchmark folder of one instance with a REPRODUCE.md; see docs/shrink.md. Ctrl-C keeps the best
    so far. Answers are kept in RUN/shrunk, so that none is asked for twice: the same command, also
    with a larger --budget, goes on from there.

    Examples:

      assay shrink runs/first planted-03-000-violated

      assay shrink runs/first meap-00-000-robust -v mytool --budget 1800 --jobs 2 -o reproducer
    """
    from assay.cli.shrink_view import print_shrunk, shown_shrinking
    from assay.judge.tool_environment import read_assignments
    from assay.shrink.search import Budget
    from assay.shrink.shrinking import Request
    from assay.shrink.shrinking import shrink as shrink_answer
    from assay.shrink.wrong_answer import BroughtTools

    request = Request(
        run=run,
        instance=instance,
        verifier=verifier,
        benchmark=benchmark,
        brought=BroughtTools(
            verifier_dir or [], verifier_command or [], read_assignments(env or [])
        ),
        output=output,
        jobs=jobs,
        budget=Budget(budget, calls),
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
