"""The wrong answer that a run holds: who gave it, about what, under which limits."""

from __future__ import annotations

import difflib
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.engine.work import Watcher
from assay.errors import BadInput
from assay.judge.catalogue import verifier as catalogued
from assay.judge.demo_liars import demo_liars
from assay.judge.judgement import Judged, judge
from assay.judge.outcome import Outcome
from assay.judge.results import Result, read_results
from assay.judge.run_folder import RESULTS_FILE
from assay.judge.scored_runs import OpenRuns, open_runs
from assay.judge.task import Limits
from assay.judge.tool_environment import with_environment
from assay.judge.user_tools import chosen_verifiers
from assay.judge.verifier import Verifier
from assay.suite.folder import FolderEntry
from assay.suite.proved_truths import entry_truth
from assay.truth.record import Truth

WRONG: tuple[Outcome, ...] = ("unsound", "bogus", "unwitnessed")
"""What can be shrunk: a wrong verdict, or a right one whose witness shows nothing."""


@dataclass(frozen=True)
class WrongAnswer:
    entry: FolderEntry
    truth: Truth
    outcome: Outcome
    result: Result
    timeout_s: float
    limits: Limits


@dataclass(frozen=True)
class BroughtTools:
    """How `assay run` was told of tools that the catalogue does not know."""

    folders: Sequence[Path] = ()
    commands: Sequence[str] = ()
    variables: Mapping[str, str] | None = None


def find_wrong_answer(
    run: Path,
    instance: str,
    verifier: str | None,
    benchmark: Path | None,
    watcher: Watcher | None = None,
) -> WrongAnswer:
    """The answer to shrink; BadInput where there is none, or more than one."""
    opened = open_runs([run], benchmark, watcher=watcher)
    entries = {entry.name: entry for entry in opened.folder.entries}
    if instance not in entries:
        raise BadInput(f"{run}: has no instance {instance!r}; {_hint(instance, entries)}")
    entry = entries[instance]
    if entry.truth is None:
        raise BadInput(
            f"{opened.folder.path}: {instance} has no truth, so that no answer can be called "
            "wrong; choose an instance that has one"
        )
    judged = _judged(run, opened, instance, verifier)
    settled = judged.settled
    result = next(
        r
        for r in read_results(run / RESULTS_FILE)
        if (r.instance, r.verifier, r.repeat)
        == (instance, settled.result.verifier, settled.result.repeat)
    )
    seconds = opened.limits[instance]
    memory, cpu = opened.plans[0].get("memory_mb"), opened.plans[0].get("cpu_s")
    if not isinstance(memory, int | float):
        raise BadInput(f"{run}: its run.json names no limit of memory; restore it")
    return WrongAnswer(
        entry=entry,
        truth=entry_truth(entry),
        outcome=settled.outcome,
        result=result,
        timeout_s=seconds,
        limits=Limits(seconds, memory, cpu),
    )


def find_tool(name: str, version: str, brought: BroughtTools) -> Verifier:
    """The verifier that answered, as it is here now; BadInput unless it is the same."""
    own = {tool.name: tool for tool in chosen_verifiers([], brought.folders, brought.commands)}
    liars = {tool.name: tool for tool in demo_liars()}
    try:
        tool = own.get(name) or liars.get(name) or catalogued(name)
    except BadInput:
        raise BadInput(
            f"the verifier {name!r} of the run is not one that Assay knows; name it as `assay run` "
            "did, with --verifier-dir or --verifier-command"
        ) from None
    tool = with_environment(tool, brought.variables or {})
    here = tool.version()
    if here is None:
        raise BadInput(f"verifier {name!r} is not installed; get it with: {tool.install_hint}")
    if here != version:
        raise BadInput(
            f"{name} {version} answered in the run, but {here} is here; install that one and give "
            "the same --env, or run it again"
        )
    return tool


def called_with(name: str, brought: BroughtTools) -> tuple[str, ...]:
    """The options with which `assay run` calls the verifier of that name, in any folder."""
    variables = tuple(
        word for item in (brought.variables or {}).items() for word in ("--env", "=".join(item))
    )
    for folder in brought.folders:
        if name in (tool.name for tool in chosen_verifiers([], [folder], [])):
            return "--verifier-dir", str(folder.absolute()), *variables
    for command in brought.commands:
        if name in (tool.name for tool in chosen_verifiers([], [], [command])):
            return "--verifier-command", command, *variables
    if name in (tool.name for tool in demo_liars()):
        words = (sys.executable, "-m", "assay.judge.builtin", name)
        files = "{onnx} {vnnlib} {timeout} {result}"
        return "--verifier-command", f"{name}={shlex.join(words)} {files}", *variables
    return "-v", name, *variables


def _judged(run: Path, opened: OpenRuns, instance: str, verifier: str | None) -> Judged:
    names = {name for name, _ in opened.asked.repeats}
    if verifier is not None and verifier not in names:
        raise BadInput(f"{run}: holds no verifier {verifier!r}; {_hint(verifier, names)}")
    results = (result for result, _ in opened.results() if result.instance == instance)
    judgement = judge(results, opened.truths, opened.folder.title, opened.asked)
    found = {j.settled.result.verifier: j for j in judgement.judged}
    wrong = {name: j for name, j in found.items() if j.settled.outcome in WRONG}
    if verifier is not None:
        if verifier not in found:
            raise BadInput(f"{run}: {verifier} has no result for {instance}; finish the run first")
        if verifier not in wrong:
            outcome = found[verifier].settled.outcome
            raise BadInput(
                f"{run}: {verifier} is not wrong about {instance} ({outcome}): nothing to shrink"
            )
        return wrong[verifier]
    if not wrong:
        raise BadInput(f"{run}: no verifier is wrong about {instance}: nothing to shrink")
    if len(wrong) > 1:
        raise BadInput(
            f"{run}: {', '.join(sorted(wrong))} are wrong about {instance}; choose one with "
            "--verifier"
        )
    return next(iter(wrong.values()))


def _hint(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else "`assay score` names the wrong answers"
