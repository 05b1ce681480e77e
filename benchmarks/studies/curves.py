"""Which share of a data set is weakly robust at each radius (Figs. 3b and 4).

    python -m studies.curves --device cuda --jobs 6

Correctly classified test images, l_inf, one decision an image, radius and eps from the same
samples; the noise as in the paper, and for CIFAR-10 also within the valid pixels 0 to 255.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import numpy as np

from assay.analyse.inputs import Inputs
from assay.analyse.weakened.curve import (
    NOT_ROBUST,
    ROBUST,
    UNDECIDED,
    CurvePoint,
    InputDecision,
    curve_points,
)
from assay.analyse.weakened.curve_settings import CurveSettings
from assay.analyse.weakened.curving import curve_over
from assay.report.curve_chart import curve_chart
from studies.asking import BUDGET, images_for, loaded, promise_of
from studies.driving import Document, Row, Size, Study, chunks, main
from studies.tables import percent, table

NAME = "curves"
EPS = (0.001, 0.01, 0.05, 0.1, 0.15, 0.2)
COLOUR_RADII = (2.0, 4.0, 8.0, 12.75, 18.49, 24.0, 32.0, 48.0, 64.0, 76.5)
GREY_RADII = (16.0, 32.0, 48.0, 64.0, 80.0, 96.0, 128.0, 160.0, 192.0, 255.0)
GREY = ("mnist_relu_3_50", "conv-base", "lenet5-clean", "lenet5-adversarial")
IMAGES, AT_ONCE = 200, 10
CONFIDENCE = 0.95
_LETTERS = {ROBUST: "r", NOT_ROBUST: "n", UNDECIDED: "u"}


def parts(size: Size) -> list[Document]:
    if size.quick:
        return [_part("mnist_relu_3_50", False, (32.0, 128.0), (0.1,), size.of(4, 4))]
    wanted = chunks(size.of(IMAGES, 0), AT_ONCE)
    return [
        _part(model, clipped, radii, EPS, stop, start)
        for start, stop in wanted
        for model, clipped, radii in (
            ("cifar-10-model", False, COLOUR_RADII),
            ("cifar-10-model", True, COLOUR_RADII),
            *((model, False, GREY_RADII) for model in GREY),
        )
    ]


def _part(
    model: str,
    clipped: bool,
    radii: Sequence[float],
    eps: Sequence[float],
    stop: int,
    start: int = 0,
) -> Document:
    return {
        "model": model,
        "clipped": clipped,
        "radii": list(radii),
        "eps": list(eps),
        "images": [start, stop],
    }


def measure(part: Document, device: str) -> Document:
    images = images_for(part["model"])
    which = np.arange(*part["images"])
    data = Inputs(
        images.flat[which].astype(np.float64),
        images.labels[which],
        tuple(str(number) for number in which),
    )
    settings = CurveSettings(
        tuple(part["radii"]),
        tuple(promise_of(eps) for eps in part["eps"]),
        "inf",
        (0.0, 255.0) if part["clipped"] else None,
        points="all",
        budget=BUDGET,
    )
    decisions = curve_over(loaded(part["model"], device), data, settings).decisions
    letters: dict[str, str] = {}
    for d in decisions:
        if d.correct:
            letters[d.name] = letters.get(d.name, "") + _LETTERS[d.verdict]
    return {"verdicts": letters, "samples": sum(d.samples for d in decisions)}


def decisions_of(row: Row) -> Iterator[InputDecision]:
    """The decisions that the letters of a row stand for: by image, then radius, then eps."""
    part, said = row.part, {letter: verdict for verdict, letter in _LETTERS.items()}
    settings = [(radius, eps) for radius in part["radii"] for eps in part["eps"]]
    for name, letters in row.found["verdicts"].items():
        for letter, (radius, eps) in zip(letters, settings, strict=True):
            yield InputDecision(name, 0, True, radius, eps, said[letter], 0, 0)


def points_of(rows: Sequence[Row], model: str, clipped: bool) -> list[CurvePoint]:
    mine = [r for r in rows if r.part["model"] == model and r.part["clipped"] == clipped]
    decisions = [decision for row in mine for decision in decisions_of(row)]
    return curve_points(decisions, [promise_of(e) for e in mine[0].part["eps"]], CONFIDENCE)


def report(rows: Sequence[Row]) -> tuple[str, dict[str, str]]:
    text, pictures = "", {}
    for model, clipped in dict.fromkeys((r.part["model"], r.part["clipped"]) for r in rows):
        points = points_of(rows, model, clipped)
        noise = "uniform on the ball within 0 to 255" if clipped else "uniform on the ball"
        title = f"{model}, l_inf, {noise}, {points[0].inputs} images"
        name = f"curve-{model}{'-clipped' if clipped else ''}.svg"
        pictures[name] = curve_chart(points, title)
        text += f"\n**{title}**\n\n{_shares(points)}\n"
    return text, pictures


def _shares(points: Sequence[CurvePoint]) -> str:
    eps = sorted({p.promise.eps for p in points})
    at = {(p.radius, p.promise.eps): p for p in points}
    lines = [
        [f"{radius:g}", *(_cell(at[radius, e]) for e in eps)]
        for radius in sorted({p.radius for p in points})
    ]
    return table(["radius", *(f"eps {e:g}" for e in eps)], lines)


def _cell(point: CurvePoint) -> str:
    """The share called robust; the bounds; how many were not settled."""
    low, high = percent(point.least_below_eps, 0)[:-2], percent(point.most_below_inner, 0)
    unsettled = f", {point.undecided} open" if point.undecided else ""
    return f"{percent(point.share, 0)} ({low} to {high}{unsettled})"


STUDY = Study(NAME, parts, measure, report)

if __name__ == "__main__":
    sys.exit(main(STUDY))
