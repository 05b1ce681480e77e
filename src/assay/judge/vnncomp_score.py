"""The score and ranking that VNN-COMP would give; a family of instances is one benchmark.

A right answer is worth 10 points, a wrong one or a `sat` without a valid witness -150, anything
else 0. A benchmark counts 100 * points / best points, never less than 0; the sum decides.

2026 (SCORING in github.com/VNN-COMP/vnncomp2026_results): outputs come from a replay in ONNX
Runtime and must violate with no tolerance; inputs may be out of the box by 1e-4 for the points,
but only a witness inside establishes `sat`, which then makes an `unsat` of others wrong.

2024 (arXiv:2412.19985, SCORING in github.com/ChristopherBrix/vnncomp2024_results): the same
points. A witness was accepted with 1e-4 on inputs and outputs if the outputs that it named were
within 0.1 % of the replay, and then was always filed as correct up to tolerance: it never made an
`unsat` of others wrong. Results do not keep what a witness claims about outputs, so one that only
that output tolerance saved is `no violation` here and is not paid.

Where a truth is known it decides instead of other tools' witnesses: an `unsat` of a violated
instance is wrong even if no tool found the counterexample, one of a robust instance never is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.judge.outcome import Settled
from assay.judge.task import WitnessClass
from assay.judge.witness_classes import CREDITED, ESTABLISHING
from assay.truth.record import Truth

Year = Literal["2026", "2024"]
CORRECT = 10
WRONG = -150


@dataclass(frozen=True)
class Rules:
    """Which witnesses earn points, and which settle that an instance is `sat`."""

    year: Year
    credited: frozenset[WitnessClass]
    establishing: frozenset[WitnessClass]


RULES: Mapping[Year, Rules] = {
    "2026": Rules("2026", CREDITED, ESTABLISHING),
    "2024": Rules("2024", CREDITED, frozenset()),
}


@dataclass(frozen=True)
class BenchmarkScore:
    """Points of one verifier in one benchmark; `percent` is of the best verifier's points."""

    benchmark: str
    points: int
    percent: float
    correct: int
    wrong: int


@dataclass(frozen=True)
class Standing:
    """A verifier's place; equal scores share a place."""

    rank: int
    verifier: str
    score: float
    benchmarks: tuple[BenchmarkScore, ...]


@dataclass(frozen=True)
class Entry:
    """One answer in the competition."""

    settled: Settled
    benchmark: str
    truth: Truth | None


def standings(
    entries: Iterable[Entry],
    rules: Rules,
    verifiers: Sequence[str] = (),
    benchmarks: Sequence[str] = (),
) -> tuple[Standing, ...]:
    """The ranking, best first; verifiers and benchmarks without any answer are named apart."""
    entries = list(entries)
    established = {e.settled.instance for e in entries if _establishes(e.settled, rules)}
    points: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for benchmark in benchmarks:
        points[benchmark].update({verifier: [] for verifier in verifiers})
    for entry in entries:
        value = _points(entry, rules, established)
        points[entry.benchmark][entry.settled.verifier].append(value)
    names = (*verifiers, *(entry.settled.verifier for entry in entries))
    shares: dict[str, list[BenchmarkScore]] = {name: [] for name in names}
    for benchmark in sorted(points):
        best = max(sum(values) for values in points[benchmark].values())
        for verifier, values in points[benchmark].items():
            shares[verifier].append(_share(benchmark, values, best))
    totals = {verifier: sum(s.percent for s in found) for verifier, found in shares.items()}
    return tuple(
        Standing(
            rank=1 + sum(other > totals[verifier] for other in totals.values()),
            verifier=verifier,
            score=totals[verifier],
            benchmarks=tuple(shares[verifier]),
        )
        for verifier in sorted(totals, key=lambda name: (-totals[name], name))
    )


def _share(benchmark: str, values: list[int], best: int) -> BenchmarkScore:
    total = sum(values)
    return BenchmarkScore(
        benchmark=benchmark,
        points=total,
        percent=max(0.0, 100 * total / best) if best > 0 else 0.0,
        correct=values.count(CORRECT),
        wrong=values.count(WRONG),
    )


def _establishes(settled: Settled, rules: Rules) -> bool:
    result = settled.result
    violated = result.counts and result.verdict == "violated"
    return violated and result.witness_class in rules.establishing


def _points(entry: Entry, rules: Rules, established: set[str]) -> int:
    settled = entry.settled
    result = settled.result
    if settled.outcome == "inconsistent" or not result.counts or result.verdict == "unknown":
        return 0
    if result.verdict == "violated" and result.witness_class is not None:
        good = result.witness_class in rules.credited
    elif entry.truth is not None:
        good = result.verdict == entry.truth.answer
    else:
        # A witness that nobody looked at is taken as good, as the competition's script does.
        good = result.verdict == "violated" or settled.instance not in established
    return CORRECT if good else WRONG
