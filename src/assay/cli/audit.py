"""`assay audit`: build, check, run, score and report in one go."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.failing import FAIL_ON, FailOn, JunitFile
from assay.cli.option_kinds import (
    AsJson,
    Jobs,
    Memory,
    MoreVerifiers,
    SuiteNames,
    SuiteSeed,
    TaskTimeout,
    VerifierCommands,
    VerifierFolders,
    VerifierNames,
    WorkFolder,
)
from assay.cli.process_signals import resumable
from assay.cli.task_limits import warn_of_load

if TYPE_CHECKING:
    from assay.audit import Audit
    from assay.judge.faults import Fault
    from assay.judge.verifier import Verifier


def audit(
    named: MoreVerifiers = None,
    verifier: VerifierNames = None,
    suite: SuiteNames = None,
    output: WorkFolder = Path("audit"),
    verifier_dir: VerifierFolders = None,
    verifier_command: VerifierCommands = None,
    timeout: TaskTimeout = 20.0,
    memory: Memory = 4.0,
    jobs: Jobs = 0,
    seed: SuiteSeed = None,
    fail_on: FailOn = FAIL_ON,
    junit: JunitFile = None,
    demo_liars: Annotated[
        bool, typer.Option("--demo-liars", help="Add three verifiers that lie, to see them fail.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Audit verifiers: questions with proven answers, every answer judged, one report.

    With no verifier named it uses the built-in ones and Marabou, with no suite the bundled ones
    `quick` and `soundness` together. Exit 1 if one shows what --fail-on names: by default an
    unsound answer (robust where a counterexample exists), or not a single valid answer. An audit
    that is stopped goes on where it was when the same command is given again. Verifiers of an
    earlier audit in the same folder that are not named now are not judged.

    Examples:

      assay audit

      assay audit marabou --suite relu -o audits/marabou

      assay audit --verifier-command 'mytool {onnx} {vnnlib} {timeout} {result}' -o audits/mine \
--fail-on unsound,bogus,no-answer --junit audit.xml
    """
    from assay.audit import DEFAULT_SUITES
    from assay.audit import audit as audit_all
    from assay.cli.failing import end_for_failures, refuse_foreign_junit, write_junit
    from assay.cli.output import shown_progress
    from assay.cli.run_progress import shown_run
    from assay.judge.faults import faults_named
    from assay.judge.runner import Settings
    from assay.suite.spec import load_suite

    wanted = faults_named(fail_on)
    refuse_foreign_junit(junit)
    names = [*(named or []), *(verifier or [])]
    tools = _tools(names, verifier_dir or [], verifier_command or [], demo_liars)
    loaded = [load_suite(name) for name in dict.fromkeys(suite or DEFAULT_SUITES)]
    settings = Settings(timeout_s=timeout, memory_mb=memory * 1024, jobs=jobs)
    warn_of_load(tools, settings)
    with resumable():
        done = audit_all(loaded, tools, output, settings, shown_progress, shown_run, seed=seed)
    if done.left_out:
        print(
            f"assay: {done.run} holds results of {', '.join(done.left_out)} too; they are left "
            "out, for this command does not name them",
            file=sys.stderr,
        )
    write_junit(junit, done.judged)
    _show(done, wanted, as_json)
    end_for_failures(done.scores, wanted)


def _tools(
    names: list[str], folders: list[Path], commands: list[str], liars: bool
) -> list[Verifier]:
    from assay.audit import default_verifiers
    from assay.judge.demo_liars import demo_liars
    from assay.judge.user_tools import chosen_verifiers

    if names or folders or commands:
        tools = chosen_verifiers(names, folders, commands)
    else:
        tools, missing = default_verifiers()
        for tool in missing:
            print(
                f"assay: {tool.name} is not installed and stays out; get it with: "
                f"{tool.install_hint}",
                file=sys.stderr,
            )
    return [*tools, *(demo_liars() if liars else [])]


def _show(done: Audit, wanted: Sequence[Fault], as_json: bool) -> None:
    from assay.cli.failing import failure_document
    from assay.cli.output import print_json, print_line
    from assay.cli.score_view import crashed_document, show_crashed, show_scores
    from assay.judge.faults import failures
    from assay.judge.score_export import to_document

    if as_json:
        places = {"benchmark": done.benchmark, "run": done.run, "report": done.report}
        named = {name: str(path) for name, path in places.items()}
        found = failure_document(wanted, failures(done.scores, wanted))
        crashed = crashed_document(done.judged.crashed)
        print_json({**named, "scores": to_document(done.scores), **crashed, **found})
        return
    show_crashed(done.judged.crashed)
    show_scores(done.scores)
    unsound = sorted({finding.verifier for finding in done.scores.unsound})
    print_line(f"Unsound: {', '.join(unsound)}." if unsound else "No verifier was unsound.")
    print_line(f"Report: {done.report.absolute()}")
