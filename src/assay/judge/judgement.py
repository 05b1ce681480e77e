"""Every answer held against the truth: one outcome a verifier and instance, and what is missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.errors import BadInput
from assay.judge.outcome import Settled, outcome, settle
from assay.judge.results import Result
from assay.judge.score_table import Group
from assay.truth.record import Truth

_WHATEVER_ELSE_IS_MISSING = ("unsound", "contradicted", "bogus")


@dataclass(frozen=True)
class Asked:
    """What was asked: each verifier, by name and version, so many times about every instance.

    `missing` ends the sentence about tasks without a result.
    """

    instances: Sequence[str]
    repeats: Mapping[tuple[str, str], int]
    missing: str = "were not run; run the same `assay run` again"


@dataclass(frozen=True)
class Place:
    """Where an instance counts."""

    group: Group
    family: str
    truth: Truth | None


@dataclass(frozen=True)
class Judged:
    """One settled outcome with the place where it counts."""

    settled: Settled
    place: Place


@dataclass(frozen=True)
class Judgement:
    """All outcomes; `tools` gives name and version behind each label, run or not."""

    judged: tuple[Judged, ...]
    tools: Mapping[str, tuple[str, str]]
    places: Mapping[str, Place]
    tasks: int
    not_run: int
    missing: str

    @property
    def incomplete(self) -> str:
        """The sentence about what is missing; empty when nothing is."""
        return f"{self.not_run} of {self.tasks} tasks {self.missing}" if self.not_run else ""


def judge(
    results: Iterable[Result],
    truths: Mapping[str, Truth],
    benchmark: str,
    asked: Asked | None = None,
) -> Judgement:
    """Settle every verifier's repeats on every instance.

    Without `asked`, every verifier that has a result was asked once about every instance that has
    one. `benchmark` is the family of the instances that have no truth.
    """
    tasks: dict[tuple[str, str, str], list[Result]] = defaultdict(list)
    established: set[str] = set()
    for result in results:
        _refuse_other_bytes(result, truths.get(result.instance))
        tasks[result.verifier, result.version, result.instance].append(result)
        if result.counts and result.verdict == "violated" and result.witness_class == "exact":
            established.add(result.instance)
    if asked is None:
        names = dict.fromkeys(instance for _, _, instance in tasks)
        asked = Asked(tuple(names), {(name, version): 1 for name, version, _ in tasks})
    places = {name: _place(truths.get(name), benchmark) for name in asked.instances}
    labels = _labels(asked.repeats)
    judged = []
    for (verifier, version, instance), repeats in sorted(tasks.items()):
        place = places[instance]
        settled = settle(labels[verifier, version], repeats, place.truth, established)
        if _is_decided(settled, repeats, asked.repeats[verifier, version], place, established):
            judged.append(Judged(settled, place))
    whole = len(places) * sum(asked.repeats.values())
    done = sum(min(len(found), asked.repeats[key[:2]]) for key, found in tasks.items())
    return Judgement(
        judged=tuple(judged),
        tools={label: tool for tool, label in labels.items()},
        places=places,
        tasks=whole,
        not_run=whole - done,
        missing=asked.missing,
    )


def _labels(tools: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Two versions of a verifier are two verifiers."""
    versions: dict[str, int] = defaultdict(int)
    tools = sorted(tools)
    for name, _ in tools:
        versions[name] += 1
    return {
        (name, version): name if versions[name] == 1 else f"{name} {version}"
        for name, version in tools
    }


def _place(truth: Truth | None, benchmark: str) -> Place:
    if truth is None:
        return Place("no truth", benchmark, None)
    return Place(truth.guard, truth.family, truth)


def _is_decided(
    settled: Settled,
    repeats: Sequence[Result],
    asked: int,
    place: Place,
    established: Collection[str],
) -> bool:
    """Whether repeats that are still missing could not change the outcome."""
    if len(repeats) >= asked or settled.outcome in _WHATEVER_ELSE_IS_MISSING:
        return True
    alike = sum(outcome(r, place.truth, established) == settled.outcome for r in repeats)
    return 2 * alike > asked


def _refuse_other_bytes(result: Result, truth: Truth | None) -> None:
    if truth is None:
        return
    if (result.onnx_sha256, result.vnnlib_sha256) != (truth.onnx_sha256, truth.vnnlib_sha256):
        raise BadInput(
            f"{result.instance}: the result of {result.verifier} is about other files than "
            f"truth/{result.instance}.json; score it against the benchmark that was run"
        )
