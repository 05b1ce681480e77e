"""What a report is made of: results without their bulk, truths without theirs, and the score.

A witness may have thousands of numbers, so 100,000 of them do not fit into memory. Results are
kept without witness and command, with the place of their line; `Source.full` reads one back.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.errors import BadInput
from assay.judge.outcome import Settled, settle
from assay.judge.results import Result, light, parse_result
from assay.judge.run_folder import RESULTS_FILE, read_plan
from assay.judge.score import score
from assay.judge.score_table import Group, Scores
from assay.judge.scored_runs import benchmark_of
from assay.judge.vnncomp_score import Year
from assay.suite.folder import BenchmarkFolder, FolderEntry
from assay.truth.record import Truth

LONGEST_LINE = 64 * 1024 * 1024


@dataclass(frozen=True)
class Source:
    """Where the line of a result lies."""

    run: Path
    offset: int

    def full(self) -> Result:
        """The result with its witness and command."""
        path = self.run / RESULTS_FILE
        with path.open("rb") as stream:
            stream.seek(self.offset)
            return _parsed(stream.readline(LONGEST_LINE), f"{path}, byte {self.offset}")


@dataclass(frozen=True)
class Task:
    """One verifier on one instance, all repeats taken together."""

    settled: Settled
    group: Group
    family: str
    source: Source

    @property
    def key(self) -> tuple[str, str]:
        return self.settled.verifier, self.settled.instance


@dataclass(frozen=True)
class Material:
    """Everything that the page and the charts show, except what `Source` reads on demand.

    `tools` gives name and version behind the label of a verifier.
    """

    runs: tuple[Path, ...]
    plans: tuple[Mapping[str, Any], ...]
    folder: BenchmarkFolder
    entries: Mapping[str, FolderEntry]
    truths: Mapping[str, Truth]
    limits: Mapping[str, float]
    tasks: tuple[Task, ...]
    tools: Mapping[str, tuple[str, str]]
    results: int
    scores: Scores


def gather(runs: Sequence[Path], benchmark: Path | None, year: Year = "2026") -> Material:
    """Read runs of one benchmark, and score them."""
    if not runs:
        raise BadInput("there is no run to report about; name the folder of one")
    folder = benchmark_of(runs, benchmark)
    plans = tuple(read_plan(run) for run in runs)
    truths = {entry.name: _light_truth(entry) for entry in folder.entries if entry.truth}
    limits = {e.name: max(_limit(plan, e) for plan in plans) for e in folder.entries}
    found = [pair for run in runs for pair in read_light(run)]
    scores = score((result for result, _ in found), truths, limits, year, folder.title)
    tasks, tools = _tasks(found, truths, folder.title)
    return Material(
        runs=tuple(runs),
        plans=plans,
        folder=folder,
        entries={entry.name: entry for entry in folder.entries},
        truths=truths,
        limits=limits,
        tasks=tasks,
        tools=tools,
        results=len(found),
        scores=scores,
    )


def read_light(run: Path) -> Iterator[tuple[Result, Source]]:
    """The results of a run without their bulk; a torn last line is left out."""
    path = run / RESULTS_FILE
    try:
        with path.open("rb") as stream:
            offset = 0
            while (line := stream.readline(LONGEST_LINE)).endswith(b"\n"):
                full = _parsed(line, f"{path}, byte {offset}")
                yield light(full), Source(run, offset)
                offset += len(line)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); check the run") from None
    if len(line) == LONGEST_LINE:
        raise BadInput(f"{path}, byte {offset}: a line without end; run that task again")


def _parsed(line: bytes, place: str) -> Result:
    try:
        result = parse_result(line.decode("utf-8"), place)
    except UnicodeDecodeError:
        raise BadInput(f"{place}: not UTF-8 text; run that task again") from None
    texts = (
        *(result.instance, result.verifier, result.version, result.log, result.detail),
        *(result.onnx_sha256, result.vnnlib_sha256, *result.command, *(result.witness or ())),
    )
    numbers = (result.wall_s, result.cpu_s, result.memory_mb, result.repeat)
    sound = (
        all(isinstance(text, str) for text in texts)
        and all(isinstance(n, (int, float)) and math.isfinite(n) and n >= 0 for n in numbers)
        and isinstance(result.repeat, int)
    )
    if not sound:
        raise BadInput(f"{place}: a value has the wrong type; run that task again")
    return result


def _light_truth(entry: FolderEntry) -> Truth:
    assert entry.truth is not None
    truth = read_truth(entry.truth)
    known = isinstance(truth.certificate, dict)
    kind = str(truth.certificate.get("kind", "not named")) if known else "not named"
    return replace(truth, certificate={"kind": kind}, witness=None, parameters={}, facts={})


def read_truth(path: Path) -> Truth:
    try:
        return Truth.from_json(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read ({error}); rebuild the benchmark") from None


def _limit(plan: Mapping[str, Any], entry: FolderEntry) -> float:
    given = plan.get("timeout_s")
    return float(given) if isinstance(given, (int, float)) and given > 0 else entry.timeout


def _tasks(
    found: Sequence[tuple[Result, Source]], truths: Mapping[str, Truth], benchmark: str
) -> tuple[tuple[Task, ...], dict[str, tuple[str, str]]]:
    """Settle the repeats as the score does, and keep where the standing result came from."""
    repeats: dict[tuple[str, str, str], list[tuple[Result, Source]]] = defaultdict(list)
    by_name: dict[str, set[str]] = defaultdict(set)
    established: set[str] = set()
    for result, source in found:
        repeats[result.verifier, result.version, result.instance].append((result, source))
        by_name[result.verifier].add(result.version)
        if result.counts and result.verdict == "violated" and result.witness_class == "exact":
            established.add(result.instance)
    tasks = []
    tools: dict[str, tuple[str, str]] = {}
    for (verifier, version, instance), pairs in sorted(repeats.items()):
        label = verifier if len(by_name[verifier]) == 1 else f"{verifier} {version}"
        tools[label] = (verifier, version)
        truth = truths.get(instance)
        settled = settle(label, [result for result, _ in pairs], truth, established)
        tasks.append(
            Task(
                settled=settled,
                group="no truth" if truth is None else truth.guard,
                family=benchmark if truth is None else truth.family,
                source=next(source for result, source in pairs if result is settled.result),
            )
        )
    return tuple(tasks), tools
