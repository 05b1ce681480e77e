"""Build a suite into a benchmark folder: parallel, resumable, the same bytes every time."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.engine.processes import Jobs, outcomes_of
from assay.engine.work import Outcome, Watcher, Work
from assay.errors import CannotCertify
from assay.store.kept_verdicts import KeptVerdicts
from assay.suite.build_journal import Journal, Plan, TaskRecord, open_journal
from assay.suite.draw import Task, draw_tasks
from assay.suite.listing import document as suite_document
from assay.suite.listing import row, versions
from assay.suite.spec import Suite
from assay.suite.verified import keep_verified, require_verified
from assay.truth.families import family
from assay.truth.instance import Instance

# Families whose tasks take longest are begun first, so that no core idles at the end.
LONGEST_FIRST = ("exact_radius", "constant_box", "corners")
_SUFFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Attempt:
    """What a worker hands back: instances, if any seed gave them, and why the others did not."""

    seed: int
    instances: tuple[Instance, ...]
    refused: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class BuildReport:
    """What is in the folder now, and what could not be built."""

    folder: Path
    counts: dict[str, dict[str, int]]
    replacements: list[dict[str, Any]]
    failures: list[dict[str, str]]
    tasks: int
    already: int
    seconds: float

    @property
    def instances(self) -> int:
        return sum(sum(answers.values()) for answers in self.counts.values())


def build(
    suite: Suite,
    folder: Path,
    *,
    seed: int | None,
    jobs: Jobs,
    watcher: Watcher | None = None,
    also: Sequence[Suite] = (),
) -> BuildReport:
    """Build every task of `suite` that `folder` does not hold yet; `also`: of further suites.

    An instance of a further suite has the same bytes as in a folder of its own, under a name whose
    entry counts on.
    """
    begun = time.monotonic()
    watcher = watcher or Watcher()
    suites = (suite, *also)
    tasks = _drawn(suites, seed)
    base = suite.spec.seed if seed is None else seed
    plan = Plan("---\n".join(each.text for each in suites), base, versions())
    with open_journal(folder, plan) as journal:
        document = journal.complete()
        if document is not None:
            return _report(folder, document, len(tasks), begun)
        journal.begin()
        records = {t.stem: r for t in tasks if (r := journal.record_of(t.stem)) is not None}
        already = len(records)
        watcher.begin(len(tasks), already)
        failures: dict[str, str] = {}
        missing = [task for task in tasks if task.stem not in records]
        for task in missing:
            journal.discard(task.stem)
        for task, result in _made(missing, jobs, watcher, journal):
            if isinstance(result, str):
                failures[task.stem] = result
            else:
                records[task.stem] = result
        _refuse_duplicates(tasks, records, failures, journal)
        kept = [(task, records[task.stem]) for task in tasks if task.stem in records]
        failed = {task.stem: failures[task.stem] for task in tasks if task.stem in failures}
        name = " + ".join(each.spec.name for each in suites)
        document = suite_document(name, plan, [r for _, r in kept], failed)
        rows = [row(made, task.timeout) for task, record in kept for made in record.instances]
        journal.finish(rows, document, complete=not failures)
    return _report(folder, document, already, begun)


def _drawn(suites: Sequence[Suite], seed: int | None) -> list[Task]:
    tasks: list[Task] = []
    first = 0
    for suite in suites:
        tasks += draw_tasks(suite, seed, first=first)
        first += len(suite.spec.families)
    return tasks


def make_instances(task: Task) -> Attempt:
    """Run a family's constructor with the first seed that can be certified (in a worker)."""
    constructor = family(task.family)
    refused: list[tuple[int, str]] = []
    for seed in (task.seed, *task.replacements):
        try:
            made = tuple(_named(task, constructor.make(task.knobs, seed)))
            for instance in made:
                require_verified(instance)
        except CannotCertify as error:
            refused.append((seed, str(error)))
        else:
            return Attempt(seed, made, tuple(refused))
    return Attempt(task.seed, (), tuple(refused))


def _named(task: Task, made: Sequence[Instance]) -> Iterator[Instance]:
    suffixes = [instance.name for instance in made]
    if len(set(suffixes)) < len(suffixes) or not all(map(_SUFFIX.fullmatch, suffixes)):
        raise ValueError(f"family {task.family} made instances with unusable names {suffixes}")
    for instance in made:
        twin = instance.truth.twin
        if twin is not None and twin not in suffixes:
            raise ValueError(f"family {task.family}: {instance.name} names a missing twin {twin}")
        if task.twins:
            yield instance.renamed(
                f"{task.stem}-{instance.name}", None if twin is None else f"{task.stem}-{twin}"
            )
        elif instance.truth.answer == "robust":
            yield instance.renamed(f"{task.stem}-{instance.name}", None)


def _made(
    tasks: Sequence[Task], jobs: Jobs, watcher: Watcher, journal: Journal
) -> Iterator[tuple[Task, TaskRecord | str]]:
    """Yield each task with its record, or with the reason why it has none."""
    rank = {name: place for place, name in enumerate(LONGEST_FIRST)}
    ordered = sorted(tasks, key=lambda task: rank.get(task.family, len(rank)))
    outcomes = outcomes_of(Work(make_instances), ordered, jobs, watcher, lambda task: task.stem)
    kept = KeptVerdicts()
    with closing(outcomes):
        for outcome in outcomes:
            task = outcome.item
            result = _settled(outcome, journal, kept)
            note = result if isinstance(result, str) else ""
            if isinstance(result, TaskRecord) and result.refused:
                note = f"replaced {len(result.refused)} seeds"
            watcher.finished(task.stem, outcome.seconds, note)
            yield task, result


def _settled(
    outcome: Outcome[Task, Attempt], journal: Journal, kept: KeptVerdicts
) -> TaskRecord | str:
    task, attempt = outcome.item, outcome.result
    if outcome.error is not None:
        return f"{task.place}: {outcome.error}"
    if attempt is None:
        return outcome.death or "its process ended"
    if attempt.instances:
        record = journal.store(
            task.stem,
            task.family,
            attempt.seed,
            outcome.seconds,
            attempt.instances,
            attempt.refused,
        )
        keep_verified(attempt.instances, kept)
        return record
    if len(attempt.refused) > len(task.replacements):
        return f"none of {len(attempt.refused)} seeds could be certified: {attempt.refused[-1][1]}"
    return "the family made no robust instance and twins are off"


def _refuse_duplicates(
    tasks: Sequence[Task],
    records: dict[str, TaskRecord],
    failures: dict[str, str],
    journal: Journal,
) -> None:
    """Drop tasks that repeat a question of an earlier one, in task order whatever came first."""
    seen: dict[tuple[str, str], str] = {}
    for stem in [task.stem for task in tasks if task.stem in records]:
        for made in records[stem].instances:
            first = seen.setdefault(made.question, made.name)
            if first != made.name:
                failures[stem] = f"{made.name} is the same question as {first}"
        if stem in failures:
            for made in records[stem].instances:
                if seen.get(made.question) == made.name:
                    del seen[made.question]
            journal.discard(stem)
            del records[stem]


def _report(folder: Path, document: dict[str, Any], already: int, begun: float) -> BuildReport:
    return BuildReport(
        folder=folder,
        counts=document["counts"],
        replacements=document["replacements"],
        failures=document["failures"],
        tasks=len(document["tasks"]) + len(document["failures"]),
        already=already,
        seconds=round(time.monotonic() - begun, 3),
    )
