"""What interval and linear bounds (no branching) make of the CNN families, as a Markdown table.

`python benchmarks/cnn_bounds.py` prints one row a setting: the margin that is certified, the lower
bounds that the two engines reach, and the seconds to build both twins and to check the robust one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch

from assay.bounds.interval import enclosing_box, output_bounds
from assay.bounds.linear import linear_margin_bounds
from assay.proof.checker import check
from assay.question import vnnlib
from assay.question.network import load
from assay.truth.families import family
from assay.truth.instance import Instance

Settings = Sequence[tuple[str, dict[str, object]]]
SETTINGS: Settings = [
    *(("contractive_cnn", {"mixing": "rows", "depth": d}) for d in (2, 4, 6, 8, 10)),
    *(("contractive_cnn", {"mixing": "hadamard", "depth": d}) for d in (1, 2, 4, 6, 8, 10)),
    *(("paired_bias", {"backbone": b, "pairs": 8}) for b in (1, 2, 3, 4)),
    *(("paired_bias", {"backbone": 1, "pairs": p}) for p in (2, 32)),
]


def bounds(instance: Instance) -> tuple[float, float]:
    """The least lower bound over the rivals, by intervals and by lines."""
    network = load(instance.onnx, instance.name)
    (case,) = vnnlib.read(instance.vnnlib.decode(), instance.name).cases
    rows = torch.zeros(len(case.violation.disjuncts), network.outputs, dtype=torch.float64)
    for row, (inequality,) in zip(rows, case.violation.disjuncts, strict=True):
        for index, coefficient in inequality.terms:
            row[index] = float(coefficient)
    ends = enclosing_box(case.box)
    low, high = output_bounds(network, *ends)
    intervals = rows.clamp(min=0) @ low[0] + rows.clamp(max=0) @ high[0]
    return float(intervals.min()), float(linear_margin_bounds(network, *ends, rows).min())


def print_table(settings: Settings) -> None:
    torch.set_num_threads(1)
    print("| family | setting | certified | interval | linear | build s | check s |")
    print("|---|---|---|---|---|---|---|")
    for name, values in settings:
        constructor = family(name)
        start = time.perf_counter()
        robust = constructor.make(constructor.knobs.model_validate(values), 0)[0]
        built = time.perf_counter() - start
        truth = robust.truth.to_json().encode()
        start = time.perf_counter()
        assert check(robust.onnx, robust.vnnlib, truth, None).status == "verified"
        checked = time.perf_counter() - start
        interval, linear = bounds(robust)
        setting = ", ".join(f"{k} {v}" for k, v in values.items())
        print(
            f"| {name} | {setting} | {float(robust.truth.margin):.3g} | {interval:.3g} "
            f"| {linear:.3g} | {built:.2f} | {checked:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    print_table(SETTINGS)
