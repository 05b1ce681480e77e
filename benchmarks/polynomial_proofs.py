"""Measure the polynomial family: proofs that close by delta, and seconds by size.

Usage: python benchmarks/polynomial_proofs.py SEEDS
"""

from __future__ import annotations

import sys
from time import perf_counter

from assay.errors import CannotCertify
from assay.proof.checker import check
from assay.truth.polynomial import PolynomialKnobs, make

DEGREES = (2, 3, 6, 10, 14, 17, 20, 22)
DELTAS = (5e-3, 1e-3, 1e-4, 1e-6)
SIZES = (
    (50, 50, 10, 1e-3),
    (100, 100, 2, 1e-3),
    (100, 100, 10, 1e-4),
    (100, 100, 22, 1e-4),
    (100, 100, 22, 1e-6),
    (100, 500, 10, 1e-3),
    (300, 500, 2, 1e-4),
    (300, 500, 22, 1e-4),
)


def proved(draw: str, delta: float, seeds: int) -> str:
    """How many of so many networks become instances, and how many of these need a tree."""
    count = trees = guarded = 0
    for degree in DEGREES:
        for seed in range(seeds):
            knobs = PolynomialKnobs.model_validate(
                {"degree": degree, "delta": delta, "draw": draw, "leaves": 64, "points": 1}
            )
            try:
                robust = make(knobs, seed)[0]
            except CannotCertify:
                continue
            count += 1
            trees += robust.arrays is not None
            guarded += robust.truth.guard == "float32"
    return f"{count} of {len(DEGREES) * seeds} ({trees} by trees, {guarded} guarded)"


def main(seeds: int) -> None:
    for draw in ("plain", "compensated"):
        cells = " | ".join(proved(draw, delta, seeds) for delta in DELTAS)
        print(f"| {draw} | {cells} |", flush=True)
    for inputs, hidden, degree, delta in SIZES:
        knobs = PolynomialKnobs.model_validate(
            {"inputs": inputs, "hidden": hidden, "degree": degree, "delta": delta}
        )
        start = perf_counter()
        robust = make(knobs, 0)[0]
        built = perf_counter()
        check(robust.onnx, robust.vnnlib, robust.truth.to_json().encode(), robust.arrays)
        done = perf_counter()
        place = f"{inputs}, {hidden}, {degree}, {delta:g}"
        print(f"| {place} | {built - start:.2f} | {done - built:.2f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
