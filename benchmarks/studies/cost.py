"""Seconds and samples of a decision and of a radius by eps (section 8.4, Table 4).

    python -m studies.cost --device cuda

l_inf, images that a network gets right. Decisions are made at three radii, from easy to hopeless,
and averaged; a radius is a whole search with its checks. Beside our rule stand the fixed number of
samples of the smallest exact binomial test and the number N of the paper, whose errors do not
hold. Run it alone on the machine, with one job.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence

from assay.analyse.asked import around
from assay.analyse.binomial import smallest_test
from assay.analyse.rules import rule_for
from assay.analyse.rules.paper import printed_test
from assay.analyse.weakened.decide import decide
from studies.asking import (
    BUDGET,
    first_correct,
    images_for,
    loaded,
    precision,
    promise_of,
    radius_of,
    search_of,
    warmed,
)
from studies.driving import Document, Row, Size, Study, main
from studies.published import TABLE_4
from studies.tables import seconds_text, table

NAME = "cost"
EPS = (0.001, 0.01, 0.1, 0.2)
RADII = (4.0, 16.0, 64.0)
MODELS = {
    "mnist_relu_3_50": (10, BUDGET),
    "conv-base": (10, BUDGET),
    "lenet5-clean": (10, BUDGET),
    "cifar-10-model": (10, BUDGET),
    "efficientnet-lite0": (2, 30_000),
}
"""With the number of images each is timed on, and the most samples of one decision."""


def parts(size: Size) -> list[Document]:
    models = {"mnist_relu_3_50": (2, BUDGET)} if size.quick else MODELS
    return [
        {"model": model, "eps": e, "images": size.of(images, 2), **precision(size, budget=budget)}
        for model, (images, budget) in models.items()
        for e in ((0.1,) if size.quick else EPS)
    ]


def measure(part: Document, device: str) -> Document:
    name, images = part["model"], images_for(part["model"])
    model = warmed(loaded(name, device))
    rule = rule_for("confidence-sequence", promise_of(part["eps"]))
    search = search_of("inf", model.inputs, part)
    rule_for(search.method, search.each).between(0, BUDGET)
    decided, searched = [], []
    for number in first_correct(name, part["images"], device):
        point, label = images.flat[number], int(images.labels[number])
        for radius in RADII:
            asked = around(model, point, (label,), radius, "inf")
            decided.append(decide(asked, rule, budget=part["budget"]))
        searched.append(radius_of(model, point, [label], "inf", search))
    return {
        "decide_s": statistics.mean(d.seconds for d in decided),
        "decide_samples": statistics.mean(d.samples for d in decided),
        "samples_per_s": sum(d.drawn for d in decided) / sum(d.seconds for d in decided),
        "radius_s": statistics.mean(found["seconds"] for found in searched),
        "radius_samples": statistics.mean(found["samples"] for found in searched),
        "radius_decisions": statistics.mean(found["decisions"] for found in searched),
        "unsettled": sum(found["unsettled"] for found in searched)
        + sum(d.verdict is None for d in decided),
    }


def report(rows: Sequence[Row]) -> tuple[str, dict[str, str]]:
    header = ["network", "eps", "samples", "exact fixed N", "paper's N", "decide s"]
    header += ["radius samples", "decisions", "radius s", "open"]
    text = table(header, map(_line, rows))
    text += "\nThe paper's seconds (Table 4, GeForce RTX 2080 Ti), decide / radius\n\n"
    text += table(
        ["network", "data", *(f"eps {e:g}" for e in EPS)],
        (
            [t.network, t.data, *(f"{t.decide_s[e]:g} / {t.radius_s[e]:g}" for e in EPS)]
            for t in TABLE_4
        ),
    )
    return text, {}


def _line(row: Row) -> list[str]:
    found, promise = row.found, promise_of(row.part["eps"])
    return [
        row.part["model"],
        f"{promise.eps:g}",
        f"{found['decide_samples']:,.0f}",
        f"{smallest_test(promise).samples:,}",
        f"{printed_test(promise).samples:,}",
        seconds_text(found["decide_s"]),
        f"{found['radius_samples']:,.0f}",
        f"{found['radius_decisions']:.0f}",
        seconds_text(found["radius_s"]),
        f"{found['unsettled']}",
    ]


STUDY = Study(NAME, parts, measure, report)

if __name__ == "__main__":
    sys.exit(main(STUDY))
