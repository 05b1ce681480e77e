"""The verdict on each verifier, soundness first, in a form that the template only has to print."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.judge.outcome import SOLVED, Outcome
from assay.judge.score_table import ALL_FAMILIES, Finding, Row, Scores
from assay.report.material import Material
from assay.report.wording import WORST_FIRST

Level = Literal["unsound", "bogus", "unwitnessed", "sound", "plain"]
_LEVELS: tuple[Level, ...] = ("unsound", "bogus", "unwitnessed", "sound", "plain")
_SHOWN_INSTANCES = 3


@dataclass(frozen=True)
class _Fault:
    """A kind of answer that no verifier should give, and how the banner speaks of it."""

    outcome: Outcome
    level: Level
    headline: str
    noun: str
    predicate: str


_FAULTS = (
    _Fault(
        "unsound", "unsound", "Unsound", "wrong proof", "of robustness: a counterexample exists"
    ),
    _Fault("contradicted", "unsound", "Contradicted", "proof", "against another's exact witness"),
    _Fault("bogus", "bogus", "Bogus", "false alarm", "where a proof of robustness exists"),
    _Fault(
        "unwitnessed",
        "unwitnessed",
        "Unwitnessed",
        "claim",
        "of a violation without a valid witness",
    ),
)


@dataclass(frozen=True)
class Segment:
    """One outcome in a bar of outcomes; `share` is in percent of the instances."""

    outcome: str
    count: int
    share: float


@dataclass(frozen=True)
class Banner:
    """One verifier's verdict; `level` decides colour and order."""

    verifier: str
    version: str
    level: Level
    headline: str
    sentence: str
    examples: tuple[Finding, ...]
    more: int
    wrong: tuple[Outcome, ...]
    instances: int
    solved: int
    figures: tuple[tuple[str, str], ...]
    segments: tuple[Segment, ...]
    aside: str


def banners(material: Material) -> list[Banner]:
    """The worst first, then those who solve the most."""
    times: dict[str, list[float]] = {}
    for task in material.tasks:
        if task.group != "real" and task.settled.outcome in SOLVED:
            times.setdefault(task.settled.verifier, []).append(task.settled.wall_s)
    found = [
        _banner(material, verifier, times.get(verifier, []))
        for verifier in material.scores.verifiers
    ]
    return sorted(found, key=lambda b: (_LEVELS.index(b.level), -b.solved, b.verifier))


def segments(rows: Sequence[Row]) -> tuple[Segment, ...]:
    """The outcomes of these rows as parts of a bar, the worst first, what was not run last."""
    total = sum(row.instances for row in rows)
    counts = [(str(o), sum(row.count(o) for row in rows)) for o in WORST_FIRST]
    counts.append(("not run", sum(row.not_run for row in rows)))
    return tuple(Segment(name, n, 100 * n / total) for name, n in counts if n)


def _banner(material: Material, verifier: str, times: Sequence[float]) -> Banner:
    scores = material.scores
    rows = [r for r in scores.rows if r.verifier == verifier and r.family == ALL_FAMILIES]
    judged = [row for row in rows if row.group != "real"]
    level, headline, sentence, wrong = _verdict(judged)
    worst = [
        f
        for f in scores.findings
        if f.verifier == verifier and f.group != "real" and f.outcome in wrong
    ]
    solved = sum(row.solved for row in judged)
    return Banner(
        verifier=verifier,
        version=material.tools[verifier][1],
        level=level,
        headline=headline,
        sentence=sentence,
        examples=tuple(worst[:_SHOWN_INSTANCES]),
        more=len(worst[_SHOWN_INSTANCES:]),
        wrong=wrong,
        instances=sum(row.instances for row in judged),
        solved=solved,
        figures=_figures(judged, times),
        segments=segments(judged) if judged else (),
        aside=_aside(scores, verifier),
    )


def _verdict(rows: Sequence[Row]) -> tuple[Level, str, str, tuple[Outcome, ...]]:
    """Level, headline, sentence and the outcomes behind them; the worst fault leads."""

    def total(outcome: Outcome) -> int:
        return sum(row.count(outcome) for row in rows)

    faults = [fault for fault in _FAULTS if total(fault.outcome)]
    if faults:
        sentences = [f"{_many(total(f.outcome), f.noun)} {f.predicate}." for f in faults]
        wrong = tuple(f.outcome for f in faults if f.level == faults[0].level)
        return faults[0].level, faults[0].headline, " ".join(sentences), wrong
    answers = sum(row.solved for row in rows) + total("falsified within tolerance")
    if not answers:
        return "plain", "No answer", "It answered nothing that could be judged.", ()
    if all(row.group == "no truth" for row in rows):
        return "plain", "Not judged", "There is no truth to hold its answers against.", ()
    return "sound", "No wrong answer", f"None among {_many(answers, 'answer')}.", ()


def _figures(rows: Sequence[Row], times: Sequence[float]) -> tuple[tuple[str, str], ...]:
    def total(*outcomes: Outcome) -> str:
        return f"{sum(row.count(o) for row in rows for o in outcomes):,}"

    figures = [
        ("proved", total("proved", "says robust")),
        ("falsified", total("falsified", "falsified unchecked", "says violated")),
        ("timeouts", total("timeout")),
    ]
    broken = sum(row.count(o) for row in rows for o in ("crashed", "out-of-memory", "garbled"))
    if broken:
        figures.append(("crashed", f"{broken:,}"))
    if times:
        figures.append(("median time", seconds(statistics.median(times))))
    par2 = [row for row in rows if row.par2_s is not None]
    if par2:
        mean = sum((r.par2_s or 0) * r.instances for r in par2) / sum(r.instances for r in par2)
        figures.append(("PAR2", seconds(mean)))
    return tuple(figures)


def _aside(scores: Scores, verifier: str) -> str:
    """What is said about knife-edge instances: never loud."""
    for row in scores.rows:
        if (row.verifier, row.group, row.family) == (verifier, "real", ALL_FAMILIES):
            other = row.count("unsound") + row.count("bogus")
            text = (
                f"{_many(row.instances, 'knife-edge instance')} (only real arithmetic decides "
                f"them, not float32) scored apart: {row.solved:,} solved"
            )
            return f"{text}, {other:,} answered against real arithmetic" if other else text
    return ""


def seconds(value: float) -> str:
    if value < 0.01:
        return f"{1000 * value:.1f} ms"
    if value < 100:
        return f"{value:.3g} s"
    return f"{value:,.0f} s"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
