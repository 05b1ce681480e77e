"""`assay run`: verifiers over a benchmark folder, in isolation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.option_kinds import (
    AsJson,
    CpuTime,
    Jobs,
    ListedTimeout,
    Memory,
    MoreVerifiers,
    Seed,
    Variables,
    VerifierCommands,
    VerifierFolders,
    VerifierNames,
    WorkFolder,
)
from assay.cli.process_signals import resumable
from assay.cli.task_limits import warn_of_load
from assay.errors import BadInput

if TYPE_CHECKING:
    from assay.judge.results import Result
    from assay.judge.verifier import Verifier


def run(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A benchmark folder.")],
    output: WorkFolder,
    named: MoreVerifiers = None,
    verifier: VerifierNames = None,
    verifier_dir: VerifierFolders = None,
    verifier_command: VerifierCommands = None,
    env: Variables = None,
    timeout: ListedTimeout = None,
    cpu_time: CpuTime = None,
    memory: Memory = 4.0,
    jobs: Jobs = 0,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Scheduler of a Dask cluster to run on, such as tcp://HOST:8786; as many tasks "
            "at once as its workers have threads.",
        ),
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="How often each task is run.")] = 1,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Run verifiers on every question; each task in its own process tree, within limits.

    The checker verifies the truths first, once for the same files.

    A run that is stopped goes on where it was when the same command is given again.

    Examples:

      assay run bench -v marabou -v milp --timeout 60 --jobs 2 -o runs/first

      assay run bench --verifier-command 'mytool {onnx} {vnnlib} {result}' -o runs/mine

      assay run bench -v linear --dask tcp://head:8786 -o runs/cluster
    """
    from assay.cli.run_progress import shown_run
    from assay.cli.truth_check import verify_truths
    from assay.engine.choice import chosen_engine
    from assay.judge.runner import Settings
    from assay.judge.runner import run as run_all
    from assay.suite.folder import BenchmarkFolder

    names = [*(named or []), *(verifier or [])]
    chosen = _verifiers(names, verifier_dir or [], verifier_command or [], env or [])
    benchmark = BenchmarkFolder.open(folder)
    settings = Settings(timeout, memory * 1024, repeat, seed, jobs, cpu_time)
    verified = verify_truths(benchmark)
    if dask is None:
        warn_of_load(chosen, settings)
    engines = chosen_engine(jobs, dask, runs_programs=True)
    with resumable(), engines as engine, shown_run() as watcher:
        results = run_all(benchmark, chosen, settings, output, watcher, engine, verified)
    _show(output, results, as_json)


def _verifiers(
    names: Sequence[str],
    folders: Sequence[Path],
    commands: Sequence[str],
    assignments: Sequence[str],
) -> list[Verifier]:
    from assay.judge.tool_environment import read_assignments, with_environment
    from assay.judge.user_tools import chosen_verifiers

    variables = read_assignments(assignments)
    chosen = chosen_verifiers(names, folders, commands)
    if not chosen:
        raise BadInput(
            "no verifier is named; add -v NAME (`assay verifiers` lists them), --verifier-dir or "
            "--verifier-command"
        )
    return [with_environment(tool, variables) for tool in chosen]


def _show(output: Path, results: Sequence[Result], as_json: bool) -> None:
    from assay.cli.output import print_json, print_table
    from assay.cli.score_view import crashed_document, show_crashed
    from assay.judge.crashed_tools import crashed_tools

    crashed = crashed_tools((result, output) for result in results)
    if as_json:
        found = {"run": str(output), "results": [asdict(result) for result in results]}
        print_json(found | crashed_document(crashed))
        return
    show_crashed(crashed)
    counts = Counter((r.verifier, r.verdict or "-", r.ending) for r in results)
    rows = [(*key, count) for key, count in sorted(counts.items())]
    print_table(str(output), ("verifier", "verdict", "ending", "tasks"), rows)
