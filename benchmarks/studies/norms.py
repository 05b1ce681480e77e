"""Radii of one photograph by norm and eps (Fig. 5).

    python -m studies.norms --device cuda

EfficientNet-Lite0 on ImageNet-size photographs that it gets right; l_1, l_2 and l_inf.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from assay.analyse.regions import NORMS
from studies.asking import (
    equal_noise,
    first_correct,
    images_for,
    loaded,
    precision,
    radius_of,
    search_of,
)
from studies.chart_lines import lines_over_eps
from studies.driving import Document, Row, Size, Study, main
from studies.tables import table

NAME = "norms"
EPS = (0.001, 0.01, 0.05, 0.1, 0.2, 0.4, 0.8)
PHOTOGRAPHS = 1
FINEST, BUDGET = 2.0, 20_000
"""Coarser than elsewhere: 20,000 samples of this network take seconds on a GPU."""


def parts(size: Size) -> list[Document]:
    model = "mnist_relu_3_50" if size.quick else "efficientnet-lite0"
    eps = (0.1, 0.8) if size.quick else EPS
    return [
        {
            "model": model,
            "number": number,
            "norm": norm,
            "eps": e,
            **precision(size, FINEST, BUDGET),
        }
        for number in range(size.of(PHOTOGRAPHS, 1))
        for e in eps
        for norm in NORMS
    ]


def measure(part: Document, device: str) -> Document:
    model, images = loaded(part["model"], device), images_for(part["model"])
    which = int(first_correct(part["model"], part["number"] + 1, device)[part["number"]])
    label, norm = int(images.labels[which]), part["norm"]
    search = search_of(norm, model.inputs, part)
    found = radius_of(model, images.flat[which], [label], norm, search)
    return {"image": which, "label": label, "dimension": model.inputs, **found}


def report(rows: Sequence[Row]) -> tuple[str, dict[str, str]]:
    text, pictures = "", {}
    for model, number in dict.fromkeys((r.part["model"], r.part["number"]) for r in rows):
        mine = [r for r in rows if (r.part["model"], r.part["number"]) == (model, number)]
        found = {(r.part["norm"], r.part["eps"]): r.found for r in mine}
        eps = sorted({e for _, e in found})
        first = mine[0].found
        lines = [[f"{e:g}", *(_cell(found[norm, e], norm) for norm in NORMS)] for e in eps]
        text += f"\n**{model}, test image {first['image']} (class {first['label']})**\n\n"
        text += table(["eps", *(f"l_{norm}" for norm in NORMS)], lines)
        series = {f"l_{norm}": [(e, _noise(found[norm, e], norm)) for e in eps] for norm in NORMS}
        title = f"{model}, image {first['image']}: radii of equal noise (l_inf scale)"
        pictures[f"norms-{number}.svg"] = lines_over_eps(series, title)
    return text, pictures


def _noise(found: Document, norm: str) -> float:
    """The radius divided by that of equal noise: the l_inf radius as strong."""
    return float(found["radius"]) / equal_noise(norm, found["dimension"])  # type: ignore[arg-type]


def _cell(found: Document, norm: str) -> str:
    more = "" if found["bounded"] else "at least "
    scaled = "" if norm == "inf" else f" ({_noise(found, norm):.1f})"
    return f"{more}{found['radius']:,.0f}{scaled}"


STUDY = Study(NAME, parts, measure, report)

if __name__ == "__main__":
    sys.exit(main(STUDY))
