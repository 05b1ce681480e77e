"""Weak robustness around inputs that the network gets wrong (section 8.3, Table 2 and Fig. 8).

    python -m studies.misclassified --device cuda --jobs 6

First the mean l_inf radius of images that a network gets right, for every eps; then the share of
the images that it gets wrong around which, at that radius, the *gold* label fails with a rate
below eps.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence

import numpy as np

from assay.analyse.asked import around
from assay.analyse.binomial import clopper_pearson
from assay.analyse.decision import Verdict
from assay.analyse.model import Model
from assay.analyse.rules import rule_for
from assay.analyse.weakened.decide import decide
from studies.asking import (
    BUDGET,
    first_correct,
    images_for,
    loaded,
    precision,
    promise_of,
    radius_of,
    rightly_classified,
    search_of,
)
from studies.driving import Document, Row, Size, Study, main
from studies.published import TABLE_2
from studies.tables import percent, table

NAME = "misclassified"
EPS = (0.01, 0.1, 0.15, 0.2)
MODELS = ("cifar-10-model", "conv-base")
CORRECT = 100
AMONG = 2000
"""Wrong images are those among the first so many of the test part."""


def parts(size: Size) -> list[Document]:
    models = ("mnist_relu_3_50",) if size.quick else MODELS
    eps = (0.2,) if size.quick else EPS
    return [
        {
            "model": model,
            "eps": e,
            "correct": size.of(CORRECT, 2),
            "among": 200 if size.quick else AMONG,
            **precision(size),
        }
        for model in models
        for e in eps
    ]


def measure(part: Document, device: str) -> Document:
    name, images = part["model"], images_for(part["model"])
    model, search = loaded(name, device), search_of("inf", loaded(name, device).inputs, part)
    radii = [
        radius_of(model, images.flat[n], [int(images.labels[n])], "inf", search)["radius"]
        for n in first_correct(name, part["correct"], device)
    ]
    first = images.chosen(np.arange(min(part["among"], len(images))))
    wrong = np.flatnonzero(~rightly_classified(name, first, device))
    mean = statistics.mean(radii)
    verdicts = [
        _verdict(model, first.flat[n], int(first.labels[n]), mean, part["eps"]) for n in wrong
    ]
    return {
        "radii": radii,
        "wrong": len(wrong),
        "robust": verdicts.count(Verdict.ROBUST),
        "unsettled": verdicts.count(None),
    }


def _verdict(
    model: Model, point: np.ndarray, label: int, radius: float, eps: float
) -> Verdict | None:
    asked = around(model, point, (label,), radius, "inf")
    rule = rule_for("confidence-sequence", promise_of(eps))
    return decide(asked, rule, budget=BUDGET).verdict


def report(rows: Sequence[Row]) -> tuple[str, dict[str, str]]:
    eps = list(dict.fromkeys(r.part["eps"] for r in rows))
    found = {(r.part["model"], r.part["eps"]): r.found for r in rows}
    models = list(dict.fromkeys(r.part["model"] for r in rows))
    radii = [[m, *(_mean(found[m, e]["radii"]) for e in eps)] for m in models]
    radii += [
        [f"{name} (paper)", *(f"{row[e]:g}" if e in row else "" for e in eps)]
        for name, row in TABLE_2.items()
    ]
    shares = [[m, found[m, eps[0]]["wrong"], *(_share(found[m, e]) for e in eps)] for m in models]
    head = [f"eps {e:g}" for e in eps]
    text = f"Mean l_inf radius of {rows[0].part['correct']} images classified rightly (Table 2)\n\n"
    text += table(["network", *head], radii)
    text += "\nWrong images that are eps-robust for the gold label at that radius (Fig. 8)\n\n"
    text += table(["network", "wrong images", *head], shares)
    return text, {}


def _mean(radii: Sequence[float]) -> str:
    error = 1.96 * statistics.stdev(radii) / len(radii) ** 0.5 if len(radii) > 1 else 0.0
    return f"{statistics.mean(radii):.1f} ± {error:.1f}"


def _share(found: Document) -> str:
    low, high = clopper_pearson(found["robust"], found["wrong"], 0.95)
    unsettled = f", {found['unsettled']} open" if found["unsettled"] else ""
    share = percent(found["robust"] / found["wrong"])
    return f"{share} ({percent(float(low))[:-2]} to {percent(float(high))}{unsettled})"


STUDY = Study(NAME, parts, measure, report)

if __name__ == "__main__":
    sys.exit(main(STUDY))
