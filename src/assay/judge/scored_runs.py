"""From run folders to scores: their results, the truths and limits of the benchmark they ran."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.engine.work import Watcher
from assay.errors import BadInput
from assay.judge.crashed_tools import CrashedTool, crashed_tools
from assay.judge.judgement import Asked, Judgement, judge
from assay.judge.results import REMEDY, Result, ResultLine, light, read_result_lines
from assay.judge.run_folder import (
    RESULTS_FILE,
    RUN_FILE,
    benchmark_sha256,
    read_plan,
    said_setting,
)
from assay.judge.score import score_judgement
from assay.judge.score_table import Scores
from assay.judge.vnncomp_score import Year
from assay.suite.folder import BenchmarkFolder
from assay.suite.proved_truths import Hashes, proved_truths, question_hashes
from assay.truth.record import Truth

_LIMITS = ("timeout_s", "memory_mb", "cpu_s")


@dataclass(frozen=True)
class Source:
    """Where the line of a result lies."""

    run: Path
    offset: int
    number: int


@dataclass(frozen=True)
class OpenRuns:
    """Runs of one benchmark under the same limits, no verifier in two of them."""

    paths: tuple[Path, ...]
    plans: tuple[Mapping[str, Any], ...]
    folder: BenchmarkFolder
    hashes: Hashes
    truths: Mapping[str, Truth]
    limits: Mapping[str, float]
    asked: Asked

    def results(self) -> Iterator[tuple[Result, Source]]:
        """The results of the verifiers asked for, without their bulk; all are looked at."""
        instances = {entry.name for entry in self.folder.entries}
        for run, plan in zip(self.paths, self.plans, strict=True):
            lines: dict[tuple[str, str, int], int] = {}
            for line in read_result_lines(run / RESULTS_FILE):
                _refuse_stranger(run, plan, line, instances, lines)
                result = light(line.result)
                if (result.verifier, result.version) in self.asked.repeats:
                    yield result, Source(run, line.offset, line.number)


def open_runs(
    runs: Sequence[Path],
    benchmark: Path | None,
    only: Collection[str] | None = None,
    watcher: Watcher | None = None,
) -> OpenRuns:
    """Open runs that can be scored together; `only` leaves out all other verifiers.

    `benchmark` is needed only where the folder has moved since the runs; the watcher hears of
    truths that have to be checked.
    """
    plans = [read_plan(run) for run in runs]
    _refuse_same_or_other_limits(runs, plans)
    folder = BenchmarkFolder.open(benchmark or Path(str(plans[0].get("benchmark", ""))))
    hashes = question_hashes(folder)
    found = benchmark_sha256(folder, hashes)
    for run, plan in zip(runs, plans, strict=True):
        if plan.get("benchmark_sha256") != found:
            raise BadInput(
                f"{run}: ran another benchmark than {folder.path}; name the folder that it ran on"
            )
    timeout = _timeout(runs[0], plans[0])
    instances = tuple(entry.name for entry in folder.entries)
    return OpenRuns(
        paths=tuple(runs),
        plans=tuple(plans),
        folder=folder,
        hashes=hashes,
        truths=proved_truths(folder, hashes, watcher),
        limits={entry.name: timeout or entry.timeout for entry in folder.entries},
        asked=Asked(instances, _repeats(runs, plans, only)),
    )


@dataclass(frozen=True)
class JudgedRuns:
    """Every answer of some runs held against the truth, and the tools that only crashed.

    `folders` says which run holds the logs of a tool, by name and version.
    """

    judgement: Judgement
    limits: Mapping[str, float]
    crashed: tuple[CrashedTool, ...] = ()
    folders: Mapping[tuple[str, str], Path] = field(default_factory=dict)

    def scores(self, year: Year) -> Scores:
        return score_judgement(self.judgement, self.limits, year)


def judge_runs(
    runs: Sequence[Path],
    benchmark: Path | None,
    only: Collection[str] | None = None,
    watcher: Watcher | None = None,
) -> JudgedRuns:
    """`benchmark` is needed where the folder has moved; `only` leaves out all other verifiers."""
    opened = open_runs(runs, benchmark, only, watcher)
    found = list(opened.results())
    return JudgedRuns(
        judge((result for result, _ in found), opened.truths, opened.folder.title, opened.asked),
        opened.limits,
        crashed_tools((result, source.run) for result, source in found),
        {(result.verifier, result.version): source.run for result, source in found},
    )


def score_runs(
    runs: Sequence[Path],
    benchmark: Path | None,
    year: Year,
    only: Collection[str] | None = None,
    watcher: Watcher | None = None,
) -> Scores:
    return judge_runs(runs, benchmark, only, watcher).scores(year)


def judge_published(
    results: Sequence[Result],
    folder: BenchmarkFolder,
    source: Path,
    watcher: Watcher | None = None,
) -> JudgedRuns:
    """Judge the results of one verifier that `source` holds; rows that it lacks are unsolved."""
    limits = {entry.name: entry.timeout for entry in folder.entries}
    tools = {(result.verifier, result.version): 1 for result in results}
    asked = Asked(tuple(limits), tools, f"have no row in {source}; they count as unsolved")
    truths = proved_truths(folder, watcher=watcher)
    return JudgedRuns(judge(results, truths, folder.title, asked), limits)


def _refuse_same_or_other_limits(runs: Sequence[Path], plans: Sequence[Mapping[str, Any]]) -> None:
    seen: set[Path] = set()
    for run, plan in zip(runs, plans, strict=True):
        if run.resolve() in seen:
            raise BadInput(f"{run}: is named twice; name each run once")
        seen.add(run.resolve())
        for key in _LIMITS:
            mine, its = plans[0].get(key), plan.get(key)
            if mine != its:
                raise BadInput(
                    f"{runs[0]} was run with {said_setting(key, mine)} and {run} with "
                    f"{said_setting(key, its)}; score them one by one"
                )


def _repeats(
    runs: Sequence[Path], plans: Sequence[Mapping[str, Any]], only: Collection[str] | None
) -> dict[tuple[str, str], int]:
    """How often each verifier was asked, by name and version."""
    repeats: dict[tuple[str, str], int] = {}
    holders: dict[tuple[str, str], Path] = {}
    for run, plan in zip(runs, plans, strict=True):
        for tool in _verifiers(run, plan).items():
            if only is not None and tool[0] not in only:
                continue
            if tool in holders:
                raise BadInput(
                    f"{holders[tool]} and {run} both hold results of {' '.join(tool)}; score them "
                    "one by one, or run it several times in one run with --repeat"
                )
            holders[tool] = run
            repeats[tool] = _repeat(run, plan)
    return repeats


def _verifiers(run: Path, plan: Mapping[str, Any]) -> dict[str, str]:
    found = plan.get("verifiers")
    if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
        raise BadInput(f"{run / RUN_FILE}: names no verifiers with their versions; restore it")
    return found


def _timeout(run: Path, plan: Mapping[str, Any]) -> float | None:
    found = plan.get("timeout_s")
    if found is not None and (type(found) not in (int, float) or not 0 < found < math.inf):
        raise BadInput(f"{run / RUN_FILE}: timeout_s {found!r} is no time; restore it")
    return found


def _repeat(run: Path, plan: Mapping[str, Any]) -> int:
    found = plan.get("repeat", 1)
    if type(found) is not int or found < 1:
        raise BadInput(f"{run / RUN_FILE}: repeat {found!r} is not a number from 1 up; restore it")
    return found


def _refuse_stranger(
    run: Path,
    plan: Mapping[str, Any],
    line: ResultLine,
    instances: Collection[str],
    lines: dict[tuple[str, str, int], int],
) -> None:
    """Refuse a line that is not about a task of its run, or about one that had a line before."""
    result = line.result
    place = f"{run / RESULTS_FILE}:{line.number}"
    if result.instance not in instances:
        raise BadInput(f"{place}: the benchmark has no instance {result.instance!r}; {REMEDY}")
    if plan["verifiers"].get(result.verifier) != result.version:
        tool = f"{result.verifier} {result.version}"
        raise BadInput(f"{place}: {RUN_FILE} does not name the verifier {tool}; {REMEDY}")
    if result.repeat >= _repeat(run, plan):
        raise BadInput(f"{place}: the run has no repeat number {result.repeat}; {REMEDY}")
    key = (result.instance, result.verifier, result.repeat)
    first = lines.setdefault(key, line.number)
    if first != line.number:
        raise BadInput(f"{place}: repeats the task of line {first}; remove one of them")
