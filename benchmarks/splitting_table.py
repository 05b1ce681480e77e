"""Splitting against questions whose failure probability is known exactly: the table of the docs.

    python benchmarks/splitting_table.py [--seeds 1] [-o TABLE.md]

Planted questions of `assay.truth.planted` and half-spaces of boxes and balls, all with the default
settings of `assay splitting`. "off" is the distance of the estimate from the truth in its own
standard errors; "stuck" counts repeats that found no slope. With more seeds, every row is repeated
and the worst of "off" is shown.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy import special

from assay.analyse.asked import Asked, of_files
from assay.analyse.kept import LabelSet
from assay.analyse.model import callable_model
from assay.analyse.regions import Ball, BoxRegion, Region
from assay.analyse.splitting import Splitting, SplittingSettings, split
from assay.truth.planted import PlantedKnobs, make

HEADER = "| question | inputs | truth | estimate | rel. s.e. | off | stuck | queries | s |"
PLANTED = {
    "soft box": PlantedKnobs(inputs=5, width=0.2),
    "soft box with a tip": PlantedKnobs(inputs=4, tip=True, height=0.5, width=0.3),
    "soft box with a sharp tip": PlantedKnobs(inputs=3, tip=True, height=0.01, width=0.3),
    "rotated box": PlantedKnobs(kind="rotated_box", inputs=5, width=0.3),
    "simplex": PlantedKnobs(kind="simplex", inputs=4, width=0.3),
    "tent, 1,024 islands": PlantedKnobs(kind="tent", inputs=5),
    "three soft boxes": PlantedKnobs(inputs=5, plants=3, width=0.2),
    "lock of 10 bits": PlantedKnobs(kind="xor_lock", inputs=10, parities=11),
    "simplex on a plateau": PlantedKnobs(kind="simplex", inputs=5, width=0.3),
    "tent, 65,536 islands": PlantedKnobs(kind="tent", inputs=8),
    "soft box on a plateau": PlantedKnobs(inputs=10),
    "lock of 16 bits": PlantedKnobs(kind="xor_lock", inputs=16, parities=17),
    "soft box on a wide plateau": PlantedKnobs(inputs=20, width=0.3),
}


def planted(knobs: PlantedKnobs) -> tuple[Asked, float]:
    instance = next(made for made in make(knobs, 0) if made.truth.violation_probability)
    known = instance.truth.violation_probability
    assert known is not None
    with tempfile.TemporaryDirectory() as folder:
        onnx, vnnlib = Path(folder, "net.onnx"), Path(folder, "query.vnnlib")
        onnx.write_bytes(instance.onnx)
        vnnlib.write_bytes(instance.vnnlib)
        return of_files(onnx, vnnlib), float(Fraction(next(iter(known.values()))))


def half_space(region: Region, direction: np.ndarray, threshold: float) -> Asked:
    def scores(points: np.ndarray) -> np.ndarray:
        beyond = points.astype(np.float64) @ direction - threshold
        return np.stack([-beyond, np.zeros(len(points))], 1)

    return Asked(callable_model(scores, (region.dimension,)), LabelSet((0,)), region)


def half_spaces() -> dict[str, tuple[Asked, float]]:
    found = {}
    for dimension, threshold in ((20, 15), (100, 67)):
        box = BoxRegion(np.zeros(dimension), np.ones(dimension))
        above = dimension - threshold
        share = Fraction(0)
        for k in range(above + 1):
            share += (-1) ** k * math.comb(dimension, k) * Fraction(above - k) ** dimension
        truth = float(share / math.factorial(dimension))
        found[f"half-space of a box, {dimension}"] = (
            half_space(box, np.ones(dimension), threshold),
            truth,
        )
    ball = Ball(np.zeros(784), 1.0, "2")
    truth = float(special.betainc(785 / 2, 0.5, 1 - 0.2**2) / 2)
    found["half-space of an l2 ball"] = (half_space(ball, np.eye(784)[0], 0.2), truth)
    polytope = Ball(np.zeros(60), 1.0, "1")
    found["half-space of an l1 ball"] = (half_space(polytope, np.eye(60)[0], 0.25), 0.75**60 / 2)
    return found


def decoy() -> tuple[Asked, float]:
    """Margins fall towards a corner in which nothing fails; failures are a cube elsewhere."""

    def scores(points: np.ndarray) -> np.ndarray:
        needle = 50 * (abs(points - 0.8).max(1) - 0.1)
        return np.stack([np.minimum(needle, 0.1 + points.mean(1)), np.zeros(len(points))], 1)

    box = BoxRegion(np.zeros(8), np.ones(8))
    return Asked(callable_model(scores, (8,)), LabelSet((0,)), box), 0.2**8


def off(found: Splitting, truth: float) -> float:
    if found.relative_error is None:
        return math.inf
    return abs(found.estimate - truth) / (found.estimate * found.relative_error)


def row(name: str, asked: Asked, truth: float, seeds: int) -> str:
    settings = SplittingSettings()
    runs = [split(asked, replace(settings, seed=seed)) for seed in range(seeds)]
    first = runs[0]
    error = first.relative_error
    worst = max(off(run, truth) for run in runs)
    cells = (
        name,
        asked.region.dimension,
        f"{truth:.2e}",
        f"below {first.below:.1e}" if error is None else f"{first.estimate:.2e}",
        "" if error is None else f"{error:.0%}",
        "" if math.isinf(worst) else f"{worst:.1f}",
        first.endings.get("stuck", 0),
        f"{first.queries:,}",
        f"{first.seconds:.1f}",
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    lines = [HEADER, "|---" * (HEADER.count("|") - 1) + "|"]
    print("\n".join(lines), flush=True)
    questions = {
        **half_spaces(),
        **{name: planted(knobs) for name, knobs in PLANTED.items()},
        "cube beside a decoy": decoy(),
    }
    for name, (asked, truth) in questions.items():
        lines.append(row(name, asked, truth, options.seeds))
        print(lines[-1], flush=True)
    if options.output is not None:
        options.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
