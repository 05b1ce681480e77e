"""From results and truths to tables: who is unsound, who is bogus, who solves how much how fast.

`score` is a pure function of its arguments. Instances with guard `real` (knife-edge) have rows,
ranking and comparisons of their own, and so have instances without a truth: an answer that
floating point decides, or that nobody can check, never makes a verifier unsound.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from assay.errors import BadInput
from assay.judge.judgement import Asked, Judged, Judgement, judge
from assay.judge.outcome import Outcome, Settled
from assay.judge.results import Result
from assay.judge.score_table import (
    ALL_FAMILIES,
    GROUPS,
    VIRTUAL_BEST,
    Finding,
    Group,
    Row,
    Scores,
    Split,
)
from assay.judge.significance import Comparison, compare
from assay.judge.vnncomp_score import RULES, Entry, Standing, Year, standings
from assay.truth.record import Truth


def score(
    results: Iterable[Result],
    truths: Mapping[str, Truth],
    timeouts: Mapping[str, float] | None = None,
    year: Year = "2026",
    benchmark: str = "benchmark",
    asked: Asked | None = None,
) -> Scores:
    """Score results against truths by the name of the instance.

    `timeouts` gives the limit of each instance in seconds; `benchmark` is the family of the
    instances that have no truth; `year` chooses the rules of VNN-COMP; `asked` says what a
    complete set of results has, so that what is missing counts as unsolved.
    """
    return score_judgement(judge(results, truths, benchmark, asked), timeouts or {}, year)


def score_judgement(
    judgement: Judgement, timeouts: Mapping[str, float], year: Year = "2026"
) -> Scores:
    """The same where the answers have been judged already."""
    judged, labels = judgement.judged, tuple(sorted(judgement.tools))
    if not judged:
        raise BadInput("there are no results to score; run a verifier first")
    rows: list[Row] = []
    ranking: dict[Group, tuple[Standing, ...]] = {}
    comparisons: dict[Group, tuple[Comparison, ...]] = {}
    for group in GROUPS:
        places = {name: p.family for name, p in judgement.places.items() if p.group == group}
        if not places:
            continue
        members = [j for j in judged if j.place.group == group]
        families = sorted(set(places.values()))
        for family in (*families, ALL_FAMILIES):
            names = sorted(n for n, found in places.items() if family in (found, ALL_FAMILIES))
            chosen = [j.settled for j in members if family in (j.place.family, ALL_FAMILIES)]
            rows += _rows(chosen, labels, names, family, group, timeouts)
        entries = [Entry(j.settled, j.place.family, j.place.truth) for j in members]
        ranking[group] = standings(entries, RULES[year], labels, families)
        comparisons[group] = compare(_by_verifier([j.settled for j in members]))
    return Scores(
        year=year,
        verifiers=labels,
        rows=tuple(rows),
        findings=_findings(judged),
        splits=_splits(judged),
        ranking=MappingProxyType(ranking),
        comparisons=MappingProxyType(comparisons),
        tasks=judgement.tasks,
        not_run=judgement.not_run,
        incomplete=judgement.incomplete,
    )


def _by_verifier(settled: Iterable[Settled]) -> dict[str, dict[str, Settled]]:
    table: dict[str, dict[str, Settled]] = defaultdict(dict)
    for item in settled:
        table[item.verifier][item.instance] = item
    return table


def _rows(
    settled: Sequence[Settled],
    labels: Sequence[str],
    instances: Sequence[str],
    family: str,
    group: Group,
    timeouts: Mapping[str, float],
) -> list[Row]:
    """A row for each verifier, and one for the best that all of them reach together."""
    table = _by_verifier(settled)
    solvers: dict[str, list[Settled]] = defaultdict(list)
    for item in settled:
        if item.solved:
            solvers[item.instance].append(item)
    best = {name: min(found, key=lambda s: s.wall_s) for name, found in solvers.items()}
    fastest = Counter(item.verifier for item in best.values())
    only = Counter(found[0].verifier for found in solvers.values() if len(found) == 1)
    found = {label: table.get(label, {}) for label in labels}
    if len(labels) > 1:
        found[VIRTUAL_BEST] = best
    return [
        _row(name, family, group, instances, its, timeouts, fastest, only)
        for name, its in found.items()
    ]


def _row(
    verifier: str,
    family: str,
    group: Group,
    instances: Sequence[str],
    found: Mapping[str, Settled],
    timeouts: Mapping[str, float],
    fastest: Mapping[str, int],
    only: Mapping[str, int],
) -> Row:
    counts = Counter(item.outcome for item in found.values())
    by_class: dict[Outcome, Counter[str]] = defaultdict(Counter)
    for item in found.values():
        if item.result.counts and item.result.verdict == "violated":
            by_class[item.outcome][item.witness_label] += 1
    solved = [item.wall_s for item in found.values() if item.solved]
    return Row(
        verifier=verifier,
        family=family,
        group=group,
        instances=len(instances),
        not_run=0 if verifier == VIRTUAL_BEST else len(instances) - len(found),
        disagree=sum(item.disagree for item in found.values()),
        counts=MappingProxyType(counts),
        by_class=MappingProxyType({o: MappingProxyType(c) for o, c in by_class.items()}),
        solved=len(solved),
        solved_s=sum(solved),
        par2_s=_par2(instances, found, timeouts),
        fastest=fastest.get(verifier, 0),
        only=only.get(verifier, 0),
    )


def _par2(
    instances: Sequence[str], found: Mapping[str, Settled], timeouts: Mapping[str, float]
) -> float | None:
    if any(name not in timeouts for name in instances):
        return None
    return statistics.fmean(
        found[name].wall_s if name in found and found[name].solved else 2 * timeouts[name]
        for name in instances
    )


def _findings(judged: Iterable[Judged]) -> tuple[Finding, ...]:
    """Wrong and unsupported answers, the worst first."""
    order: tuple[Outcome, ...] = ("unsound", "contradicted", "bogus", "unwitnessed", "inconsistent")
    found = [
        Finding(
            verifier=j.settled.verifier,
            instance=j.settled.instance,
            family=j.place.family,
            group=j.place.group,
            outcome=j.settled.outcome,
            witness=j.settled.witness_label if j.settled.result.verdict == "violated" else "",
            wall_s=j.settled.wall_s,
        )
        for j in judged
        if j.settled.outcome in order
    ]
    return tuple(
        sorted(
            found,
            key=lambda f: (
                GROUPS.index(f.group),
                order.index(f.outcome),
                f.verifier,
                f.instance,
            ),
        )
    )


def _splits(judged: Iterable[Judged]) -> tuple[Split, ...]:
    said: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    proven: set[str] = set()
    for item in (j.settled for j in judged if j.place.group == "no truth"):
        if item.result.counts:
            said[item.instance][str(item.result.verdict)].append(item.verifier)
        if item.outcome == "contradicted":
            proven.add(item.instance)
    return tuple(
        Split(name, tuple(votes["robust"]), tuple(votes["violated"]), name in proven)
        for name, votes in sorted(said.items())
        if votes.get("robust") and votes.get("violated")
    )
