"""Explanations made by hand, or by a formula: no verifier runs for a test of a drawing."""

from __future__ import annotations

import math
import random
from itertools import combinations

from assay.difficulty.components import NAMES
from assay.difficulty.explanation import (
    Diagnosis,
    Explanation,
    InteractionMap,
    Point,
    Separation,
    Trajectory,
    VerifierExplanation,
)

PAIRS = (("U", "d_eff"), *(pair for pair in combinations(NAMES, 2) if pair != ("U", "d_eff")))

_WORDS = [
    {"solved": "proved", "unsolved": word, "left out": "crashed"} for word in ("timeout", "unknown")
]


def explanation(
    count: int = 60,
    tools: tuple[str, ...] = ("ab-crown", "marabou", "nnenum"),
    *,
    families: tuple[str, ...] = ("meap", "corners"),
    benchmark: str = "quick",
    unsolved: bool = True,
    prefix: str = "",
) -> Explanation:
    """`count` instances with odd values among them; tools time out where a number is large."""
    points = tuple(_point(n, count, families[n % len(families)], prefix) for n in range(count))
    return Explanation(
        benchmark=benchmark,
        points=points,
        verifiers=tuple(_verifier(v, tools[v], points, unsolved) for v in range(len(tools))),
        trajectories=tuple(_trajectory(family, points) for family in families),
        without_profile=("odd-operator",),
        confidence=0.95,
        resamples=1000,
        seed=0,
    )


def _point(number: int, count: int, family: str, prefix: str) -> Point:
    draw = random.Random(number)
    t = number / max(1, count - 1)
    values = {
        "M_min": 10 ** (-1 - 3 * t) * draw.uniform(0.5, 2) if number % 17 != 5 else -1e-4,
        "G_IBP": math.inf if number % 23 == 22 else 10 ** (6 * t) * draw.uniform(0.5, 2),
        "U": min(1.0, t * draw.uniform(0.4, 1)),
        "A_tau": math.log(1 + 999 * t) * draw.uniform(0.5, 1),
        "d_eff": 0.0 if number == 3 else 2 + 90 * t * draw.uniform(0.1, 1),
    }
    width = 2 ** (1 + number * 8 // max(1, count))
    knobs: dict[str, float | str] = {"width": width, "order": "first" if number % 2 else "last"}
    return Point(f"{prefix}{family}-w{width}-{number:04}", family, values, knobs)


def _verifier(
    number: int, name: str, points: tuple[Point, ...], unsolved: bool
) -> VerifierExplanation:
    draw = random.Random(100 + number)
    outcomes, times = {}, {}
    for place, point in enumerate(points):
        hard = (place + 0.5) / len(points) + draw.uniform(-0.35, 0.35)
        outcome = "unsolved" if unsolved and hard > 0.5 + 0.12 * number else "solved"
        if draw.random() < 0.05 * number:
            outcome = "left out"
        outcomes[point.instance] = outcome
        times[point.instance] = 60.0 if outcome == "unsolved" else 40 * draw.random() ** 3
    late = "unsolved" in outcomes.values()
    aucs = dict(zip(NAMES, (0.24, 0.91, 0.74, 0.55, 0.66), strict=True))
    return VerifierExplanation(
        verifier=name,
        outcomes=outcomes,
        words={n: _WORDS[number % 2][o] for n, o in outcomes.items()},
        seconds=times,
        separations=tuple(
            Separation(component, auc, max(0.0, auc - 0.09), min(1.0, auc + 0.07 + 0.02 * number))
            for component, auc in aucs.items()
        )
        if late
        else (),
        maps=tuple(interaction(x, y, outcomes, points) for x, y in PAIRS),
        diagnosis=Diagnosis(
            "times out where G_IBP is above 2e3 while U is below .2: loose bounds, not branching",
            ("9 of 10 timeouts have G_IBP above 2e3", "1 of 30 solved ones has"),
            ("G_IBP", "U"),
        )
        if late
        else Diagnosis("solves everything that it was given", (), ()),
    )


def interaction(
    x: str, y: str, outcomes: dict[str, str], points: tuple[Point, ...], bins: int = 5
) -> InteractionMap:
    edges = [_edges([point.values[name] for point in points], bins) for name in (x, y)]
    late = [[0] * bins for _ in range(bins)]
    counts = [[0] * bins for _ in range(bins)]
    for point in points:
        outcome = outcomes[point.instance]
        if outcome == "left out":
            continue
        column, row = (_bin(point.values[n], e) for n, e in zip((x, y), edges, strict=True))
        counts[row][column] += 1
        late[row][column] += outcome == "unsolved"
    return InteractionMap(
        x, y, edges[0], edges[1], tuple(map(tuple, late)), tuple(map(tuple, counts))
    )


def _edges(values: list[float], bins: int) -> tuple[float, ...]:
    ordered = sorted(values)
    return tuple(ordered[round(n * (len(ordered) - 1) / bins)] for n in range(bins + 1))


def _bin(value: float, edges: tuple[float, ...]) -> int:
    return min(len(edges) - 2, max(0, sum(value >= edge for edge in edges) - 1))


def _trajectory(family: str, points: tuple[Point, ...]) -> Trajectory:
    own = [point for point in points if point.family == family]
    knob = "width" if family == "meap" else None
    steps = [point.knobs["width"] if knob else n + 1 for n, point in enumerate(own)]
    return Trajectory(family, knob, tuple(point.instance for point in own), tuple(steps))
