"""Are defective networks told apart by their radii? (Section 8.2, Figs. 6 and 7.)

    python -m studies.defects --device cuda --jobs 8

.02-robustness radii of the same balanced MNIST test images: a good network and three flawed ones
(l_2), and one trained on few fives, by class (l_2 and l_inf). Images that a network gets wrong have
no radius there. Networks are compared on the images that both get right: the share on which the
flawed one's radius is smaller (exact sign test), and the mean difference.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from real_models.datasets import LabelledImages
from real_models.defective import RARE_CLASS
from scipy.stats import binomtest, mannwhitneyu

from studies.asking import (
    images_for,
    loaded,
    precision,
    radius_of,
    rightly_classified,
    search_of,
)
from studies.chart_lines import columns_of_dots
from studies.driving import Document, Row, Size, Study, chunks, main
from studies.tables import chance, percent, table

NAME = "defects"
EPS = 0.02
BASE, IMBALANCED = "conv-base", "conv-imbalanced"
SISTERS = ("conv-overfit", "conv-no-pooling", "conv-no-normalisation")
ASKED = (
    *((model, "2") for model in (BASE, *SISTERS, IMBALANCED)),
    (BASE, "inf"),
    (IMBALANCED, "inf"),
)
CLASSES, IMAGES, AT_ONCE, SEED = 10, 1000, 10, 0
Radii = Mapping[int, float]
"""By the number of the image; only those that the network gets right."""


def parts(size: Size) -> list[Document]:
    per_class = max(1, size.of(IMAGES, CLASSES) // CLASSES)
    wanted = ((BASE, "2"), (IMBALANCED, "2")) if size.quick else ASKED
    return [
        {
            "model": model,
            "norm": norm,
            "eps": 0.2 if size.quick else EPS,
            "per_class": per_class,
            "images": [start, stop],
            **precision(size),
        }
        for start, stop in chunks(per_class * CLASSES, AT_ONCE)
        for model, norm in wanted
    ]


@cache
def balanced(per_class: int) -> LabelledImages:
    """In turn one of each class, so that any beginning is balanced too."""
    chosen = images_for(BASE).balanced(per_class, SEED)
    return chosen.chosen(np.arange(len(chosen)).reshape(CLASSES, per_class).T.reshape(-1))


def measure(part: Document, device: str) -> Document:
    model = loaded(part["model"], device)
    which = np.arange(*part["images"])
    images = balanced(part["per_class"]).chosen(which)
    right = rightly_classified(part["model"], images, device)
    search = search_of(part["norm"], model.inputs, part)
    found = {
        int(number): radius_of(model, images.flat[i], [int(images.labels[i])], part["norm"], search)
        for i, number in enumerate(which)
        if right[i]
    }
    return {
        "labels": images.labels.tolist(),
        "radii": {str(number): one["radius"] for number, one in found.items()},
        "unbounded": sum(not one["bounded"] for one in found.values()),
        "unconfirmed": sum(not one["confirmed"] for one in found.values()),
        "robust_again": sum(bool(one["robust_above"]) for one in found.values()),
        "samples": sum(one["samples"] for one in found.values()),
    }


def radii_of(rows: Sequence[Row], model: str, norm: str) -> Radii:
    mine = [r for r in rows if (r.part["model"], r.part["norm"]) == (model, norm)]
    return {int(n): radius for row in mine for n, radius in row.found["radii"].items()}


def labels_of(rows: Sequence[Row]) -> Mapping[int, int]:
    return {
        row.part["images"][0] + i: label
        for row in rows
        for i, label in enumerate(row.found["labels"])
    }


def report(rows: Sequence[Row]) -> tuple[str, dict[str, str]]:
    norms = list(dict.fromkeys(r.part["norm"] for r in rows))
    models = list(dict.fromkeys(r.part["model"] for r in rows))
    base = radii_of(rows, BASE, "2")
    header = ["network", "images", "mean radius", "sd", "median", "mean difference", "smaller on"]
    header += ["p (sign test)"]
    text = table(header, (_line(model, radii_of(rows, model, "2"), base) for model in models))
    columns = {model: list(radii_of(rows, model, "2").values()) for model in models}
    pictures = {"defects.svg": columns_of_dots(columns, _title(rows, "2", "networks"))}
    for norm in norms:
        by_class, sentence = _classes(rows, norm)
        text += f"\n**{IMBALANCED} by class, l_{norm}** (beside {BASE})\n\n{by_class}\n{sentence}\n"
        dots = _by_class(radii_of(rows, IMBALANCED, norm), labels_of(rows))
        named = {str(label): values for label, values in dots.items()}
        name = f"imbalanced-l{norm}.svg"
        pictures[name] = columns_of_dots(named, _title(rows, norm, f"classes of {IMBALANCED}"))
    return text + "\n" + _beside(rows), pictures


def _title(rows: Sequence[Row], norm: str, of: str) -> str:
    return f"{rows[0].part['eps']:g}-robustness radii, l_{norm}, {of}; bars are means"


def _line(model: str, radii: Radii, base: Radii) -> list[str]:
    values = list(radii.values())
    cells = [model, f"{len(values)}", f"{statistics.mean(values):.0f}", f"{_sd(values):.0f}"]
    cells.append(f"{statistics.median(values):.0f}")
    if model == BASE:
        return [*cells, "", "", ""]
    changes = [radii[n] - base[n] for n in radii if n in base]
    smaller, different = sum(c < 0 for c in changes), sum(c != 0 for c in changes)
    test = binomtest(smaller, different) if different else None
    error = 1.96 * _sd(changes) / math.sqrt(len(changes))
    return [
        *cells,
        f"{statistics.mean(changes):+.0f} ± {error:.0f}",
        f"{smaller} of {different}",
        chance(float(test.pvalue)) if test else "",
    ]


def _sd(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def _by_class(values: Radii, labels: Mapping[int, int]) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {label: [] for label in range(CLASSES)}
    for number, value in values.items():
        found[labels[number]].append(value)
    return found


def _classes(rows: Sequence[Row], norm: str) -> tuple[str, str]:
    """Means by class, and whether the rare class lost more than the others against the base."""
    labels = labels_of(rows)
    rare, base = radii_of(rows, IMBALANCED, norm), radii_of(rows, BASE, norm)
    means = [_by_class(radii, labels) for radii in (base, rare)]
    lines = [
        [name, *(f"{statistics.mean(values):.0f}" if values else "" for values in mean.values())]
        for name, mean in zip((BASE, IMBALANCED), means, strict=True)
    ]
    changes = _by_class({n: rare[n] - base[n] for n in rare if n in base}, labels)
    few = changes.pop(RARE_CLASS)
    others = [change for values in changes.values() for change in values]
    if not few or not others:
        return table(["network", *map(str, range(CLASSES))], lines), ""
    test = mannwhitneyu(few, others, alternative="less")
    sentence = (
        f"Against {BASE}, radii change by {statistics.mean(few):+.1f} on average in class "
        f"{RARE_CLASS} ({len(few)} images) and by {statistics.mean(others):+.1f} in the others "
        f"({len(others)}); Mann-Whitney, class {RARE_CLASS} lost more: p {chance(test.pvalue)}."
    )
    return table(["network", *map(str, range(CLASSES))], lines), sentence


def _beside(rows: Sequence[Row]) -> str:
    radii = sum(len(row.found["radii"]) for row in rows)
    counts = {
        key: sum(row.found[key] for row in rows)
        for key in ("unbounded", "unconfirmed", "robust_again")
    }
    return (
        f"Of {radii:,} radii, {counts['unconfirmed']} were not confirmed by fresh samples, "
        f"{counts['robust_again']} balls were robust again at a larger radius that was checked "
        f"({percent(counts['robust_again'] / max(radii, 1), 2)}), and {counts['unbounded']} were "
        "robust at the largest radius tried."
    )


STUDY = Study(NAME, parts, measure, report)

if __name__ == "__main__":
    sys.exit(main(STUDY))
