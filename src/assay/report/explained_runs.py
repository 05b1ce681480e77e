"""From a benchmark's profiles and runs of verifiers to the explanation of what went unsolved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.difficulty.explain import Outcomes, explained
from assay.difficulty.explanation import Explanation, Point
from assay.difficulty.profile_table import PROFILE_FILE, ProfileRow, read_profile_table
from assay.difficulty.trajectories import knobs_of
from assay.engine.work import Watcher
from assay.errors import BadInput
from assay.judge.judgement import Judgement, judge
from assay.judge.outcome import SOLVED, Outcome
from assay.judge.scored_runs import open_runs
from assay.suite.folder import BenchmarkFolder, FolderEntry
from assay.suite.proved_truths import Hashes, entry_truth
from assay.truth.record import Truth

_UNSOLVED: frozenset[Outcome] = frozenset({"timeout", "unknown", "out-of-memory"})


@dataclass(frozen=True)
class ExplainedRuns:
    """The explanation, and the sentence about tasks that were not run, if there are any."""

    explanation: Explanation
    incomplete: str


def explain_runs(
    benchmark: Path,
    runs: Sequence[Path],
    *,
    seed: int,
    resamples: int,
    watcher: Watcher | None = None,
) -> ExplainedRuns:
    """Hold runs of a benchmark against its profile.csv; `watcher` hears of truths being checked."""
    profiles = read_profile_table(benchmark)
    opened = open_runs(runs, benchmark, watcher=watcher)
    folder = opened.folder
    _refuse_strangers(folder, profiles)
    _refuse_other_bytes(folder, profiles, opened.hashes)
    results = (result for result, _ in opened.results())
    judgement = judge(results, opened.truths, folder.title, opened.asked)
    networks = networks_of(opened.hashes, opened.truths)
    points = [
        _point(entry, opened.hashes[entry.name], row.values, row.blind, networks[entry.name])
        for entry in folder.entries
        if (row := profiles.get(entry.name)) is not None and row.values is not None
    ]
    profiled = {point.instance for point in points}
    ran = {judged.settled.instance for judged in judgement.judged}
    if not ran & profiled:
        raise BadInput(
            f"{benchmark / PROFILE_FILE}: has no profile of an instance that was run; run `assay "
            f"profile {benchmark}` again, or run verifiers on instances that have one"
        )
    without = [entry.name for entry in folder.entries if entry.name not in profiled]
    found = explained(
        folder.title, points, _outcomes(judgement), without, seed=seed, resamples=resamples
    )
    return ExplainedRuns(found, judgement.incomplete)


def _refuse_strangers(folder: BenchmarkFolder, profiles: Iterable[str]) -> None:
    known = {entry.name for entry in folder.entries}
    stranger = next((name for name in profiles if name not in known), None)
    if stranger is not None:
        raise BadInput(
            f"{folder.path / PROFILE_FILE}: the benchmark has no instance {stranger!r}; run "
            f"`assay profile {folder.path}` again"
        )


def _refuse_other_bytes(
    folder: BenchmarkFolder, profiles: Mapping[str, ProfileRow], hashes: Hashes
) -> None:
    """A profile says which bytes it is about, unless an older version of Assay took it."""
    for name, row in profiles.items():
        taken_from = (row.others.get("onnx_sha256", ""), row.others.get("vnnlib_sha256", ""))
        if any(mine and mine != its for mine, its in zip(taken_from, hashes[name], strict=True)):
            raise BadInput(
                f"{folder.path / PROFILE_FILE}: the profile of {name} is about other bytes than "
                f"its files; run `assay profile {folder.path}` again"
            )


def networks_of(hashes: Hashes, truths: Mapping[str, Truth]) -> dict[str, str]:
    """For each instance, a name that it shares with its twins and with all of the same network."""
    leader: dict[str, str] = {}

    def lead(name: str) -> str:
        while leader.setdefault(name, name) != name:
            name = leader[name]
        return name

    for name, (network, _) in hashes.items():
        twin = truths[name].twin if name in truths else None
        for other in (network, twin):
            if other is not None:
                leader[lead(other)] = lead(name)
    return {name: lead(name) for name in hashes}


def _point(
    entry: FolderEntry,
    hashes: tuple[str, str],
    values: Mapping[str, float],
    blind: tuple[str, ...],
    network: str,
) -> Point:
    if entry.truth is None:
        return Point(entry.name, entry.onnx.stem, values, {}, None, network, blind)
    # The truths that a score needs come without parameters, which may be many.
    truth = entry_truth(entry, hashes)
    knobs = knobs_of(truth.parameters)
    return Point(entry.name, truth.family, values, knobs, truth.answer, network, blind)


def _outcomes(judgement: Judgement) -> list[Outcomes]:
    """One entry a verifier, also where it has no result at all."""
    words: dict[str, dict[str, str]] = defaultdict(dict)
    seconds: dict[str, dict[str, float]] = defaultdict(dict)
    for judged in judgement.judged:
        settled = judged.settled
        words[settled.verifier][settled.instance] = settled.outcome
        seconds[settled.verifier][settled.instance] = settled.wall_s
    return [
        Outcomes(
            verifier=label,
            outcomes={name: coarse(word) for name, word in words[label].items()},
            seconds=seconds[label],
            words=words[label],
        )
        for label in sorted(judgement.tools)
    ]


def coarse(outcome: str) -> str:
    """What an outcome of the judge counts as; wrong answers and crashes have other reasons."""
    if outcome in SOLVED:
        return "solved"
    return "unsolved" if outcome in _UNSOLVED else "left out"
