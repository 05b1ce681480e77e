"""What a report is made of: results without their bulk, truths without theirs, and the score.

A witness may have thousands of numbers, so 100,000 of them do not fit into memory. Results are
kept without witness and command, with the place of their line; `Task.full` reads one back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.engine.work import Watcher
from assay.errors import BadInput
from assay.judge.judgement import judge
from assay.judge.outcome import Settled
from assay.judge.results import LONGEST_LINE, Result, parse_result
from assay.judge.run_folder import RESULTS_FILE
from assay.judge.score import score_judgement
from assay.judge.score_table import Group, Scores
from assay.judge.scored_runs import Source, open_runs
from assay.judge.vnncomp_score import Year
from assay.suite.folder import BenchmarkFolder, FolderEntry
from assay.truth.record import Truth


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

    def full(self) -> Result:
        """The result that stands for it, with its witness and command."""
        path = self.source.run / RESULTS_FILE
        with path.open("rb") as stream:
            stream.seek(self.source.offset)
            return parse_result(stream.readline(LONGEST_LINE), f"{path}:{self.source.number}")


@dataclass(frozen=True)
class Material:
    """Everything that the page and the charts show, except what `Task.full` reads on demand.

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


def gather(
    runs: Sequence[Path],
    benchmark: Path | None,
    year: Year = "2026",
    only: Collection[str] | None = None,
    watcher: Watcher | None = None,
) -> Material:
    """Read runs of one benchmark, and score them; `only` leaves out all other verifiers."""
    if not runs:
        raise BadInput("there is no run to report about; name the folder of one")
    opened = open_runs(runs, benchmark, only, watcher)
    folder = opened.folder
    found = list(opened.results())
    judgement = judge((result for result, _ in found), opened.truths, folder.title, opened.asked)
    # Results are told apart by who they are: those that stand for a task are among those read.
    sources = {id(result): source for result, source in found}
    tasks = tuple(
        Task(j.settled, j.place.group, j.place.family, sources[id(j.settled.result)])
        for j in judgement.judged
    )
    return Material(
        runs=opened.paths,
        plans=opened.plans,
        folder=folder,
        entries={entry.name: entry for entry in folder.entries},
        truths=opened.truths,
        limits=opened.limits,
        tasks=tasks,
        tools=judgement.tools,
        results=len(found),
        scores=score_judgement(judgement, opened.limits, year),
    )
