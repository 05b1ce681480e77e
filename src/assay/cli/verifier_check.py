"""`assay verifiers check`: a short exam for one verifier."""

from __future__ import annotations

from dataclasses import asdict

import typer

from assay.cli.option_kinds import (
    AsJson,
    Memory,
    OneVerifier,
    VerifierCommands,
    VerifierFolders,
    VerifierName,
)
from assay.errors import BadInput


def check(
    named: OneVerifier = None,
    verifier: VerifierName = None,
    verifier_dir: VerifierFolders = None,
    verifier_command: VerifierCommands = None,
    memory: Memory = 4.0,
    as_json: AsJson = False,
) -> None:
    """Put a verifier through a short exam; exit 1 if it fails a question.

    It asks robust and violated questions, disjunctions, conjunctions, several boxes, 10,000
    inputs, a hard question with few seconds, and files that are no questions. Having no answer
    is allowed; a wrong one, a crash or an unreadable result is not, save that a file which is no
    question may end in any way but a verdict.

    Examples:

      assay verifiers check marabou

      assay verifiers check --verifier-command 'mytool {onnx} {vnnlib} {timeout} {result}'
    """
    from assay.cli.output import print_json, print_line, print_table, shown_progress
    from assay.judge.conformance.check import check_verifier
    from assay.judge.conformance.questions import exam
    from assay.judge.user_tools import chosen_verifiers

    tools = chosen_verifiers(
        [name for name in (named, verifier) if name], verifier_dir or [], verifier_command or []
    )
    if len(tools) != 1:
        raise BadInput("name one verifier, or one --verifier-dir or --verifier-command")
    marks = []
    with shown_progress("exam") as watcher:
        watcher.begin(len(exam()), 0)
        for marked in check_verifier(tools[0], memory * 1024):
            watcher.started(marked.question)
            watcher.finished(marked.question, marked.result.wall_s)
            marks.append(marked)
    failed = [marked for marked in marks if marked.mark == "fails"]
    if as_json:
        print_json({"verifier": tools[0].name, "marks": [asdict(marked) for marked in marks]})
    else:
        rows = [(m.question, m.expected, m.mark, m.reason, f"{m.result.wall_s:.1f}") for m in marks]
        print_table(tools[0].name, ("question", "expected", "mark", "why", "seconds"), rows)
        passed = sum(marked.mark == "passes" for marked in marks)
        print_line(
            f"{passed} passed, {len(marks) - passed - len(failed)} without an answer, "
            f"{len(failed)} failed."
        )
    if failed:
        raise typer.Exit(1)
