"""Radii of a car when a truck will do (section 8.5, Fig. 11).

    python -m studies.label_sets --device cuda

CIFAR-10, l_inf: the label must stay `automobile`, or may be `automobile` or `truck`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from studies.asking import images_for, loaded, precision, radius_of, rightly_classified, search_of
from studies.chart_lines import lines_over_eps
from studies.driving import Document, Row, Size, Study, main
from studies.tables import table

NAME = "label_sets"
CAR, TRUCK = 1, 9
EPS = (0.001, 0.01, 0.05, 0.1, 0.15, 0.2)
CARS, AMONG = 5, 300
SETS = {"car": [CAR], "car or truck": [CAR, TRUCK]}


def parts(size: Size) -> list[Document]:
    # With a small network the same code is tried on digits: a 1 that may be read as a 9.
    model = "mnist_relu_3_50" if size.quick else "cifar-10-model"
    eps = (0.1,) if size.quick else EPS
    return [
        {"model": model, "car": car, "eps": e, "kept": kept, **precision(size)}
        for car in range(size.of(CARS, 1))
        for e in eps
        for kept in SETS
    ]


def measure(part: Document, device: str) -> Document:
    model, images = loaded(part["model"], device), images_for(part["model"])
    first = images.chosen(np.arange(min(AMONG, len(images))))
    right = rightly_classified(part["model"], first, device) & (first.labels == CAR)
    which = int(np.flatnonzero(right)[part["car"]])
    search = search_of("inf", model.inputs, part)
    found = radius_of(model, images.flat[which], SETS[part["kept"]], "inf", search)
    return {"image": which, **found}


def report(rows: Sequence[Row]) -> tuple[str, dict[str, str]]:
    found = {(r.part["car"], r.part["eps"], r.part["kept"]): r.found for r in rows}
    eps = sorted({e for _, e, _ in found})
    cars = sorted({car for car, _, _ in found})
    lines = [
        [f"{found[car, eps[0], 'car']['image']}", kept] + [_cell(found[car, e, kept]) for e in eps]
        for car in cars
        for kept in SETS
    ]
    middle = {
        kept: [(e, _median([found[car, e, kept] for car in cars])) for e in eps] for kept in SETS
    }
    lines += [["median", kept, *(_cell(one) for _, one in middle[kept])] for kept in SETS]
    text = table(["test image", "label kept", *(f"eps {e:g}" for e in eps)], lines)
    title = f"{rows[0].part['model']}, l_inf: median radius of {len(cars)} cars"
    drawn = {kept: [(e, one["radius"]) for e, one in middle[kept]] for kept in SETS}
    return text, {"label-sets.svg": lines_over_eps(drawn, title)}


def _median(found: Sequence[Document]) -> Document:
    """Not the mean: some radii are lower bounds, and some lie far outside of the pixels."""
    return sorted(found, key=lambda one: float(one["radius"]))[(len(found) - 1) // 2]


def _cell(found: Document) -> str:
    return f"{'' if found['bounded'] else 'at least '}{found['radius']:.1f}"


STUDY = Study(NAME, parts, measure, report)

if __name__ == "__main__":
    sys.exit(main(STUDY))
