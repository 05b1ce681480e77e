"""Points with made-up profiles, and what a verifier did with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from assay.difficulty.components import NAMES
from assay.difficulty.explanation import Point


def point(
    name: str,
    family: str = "f",
    knobs: Mapping[str, float | str] | None = None,
    answer: str | None = None,
    **values: float,
) -> Point:
    return Point(name, family, {n: values.get(n, 1.0) for n in NAMES}, knobs or {}, answer)


def random_points(rng: np.random.Generator, count: int) -> list[Point]:
    """Independent components on their usual scales; A_tau has many zeros."""
    drawn = rng.normal(size=(count, len(NAMES)))
    columns = (
        np.exp(drawn[:, 0]),
        np.exp(4 * drawn[:, 1]),
        1 / (1 + np.exp(-drawn[:, 2])),
        np.round(np.maximum(0, 2 * drawn[:, 3]), 1),
        np.exp(drawn[:, 4]),
    )
    rows = np.stack(columns, axis=1)
    return [
        Point(f"i{number:04}", "f", dict(zip(NAMES, row.tolist(), strict=True)), {})
        for number, row in enumerate(rows)
    ]


def where(points: Sequence[Point], late: Callable[[Point], bool]) -> dict[str, str]:
    return {p.instance: "unsolved" if late(p) else "solved" for p in points}
