"""Two claims of the evidence, each checked by plain sampling on the processor.

    python -m studies.spot_checks zone    # rates at radii of the defects study: 2 minutes
    python -m studies.spot_checks far     # rates around two cars, near and far: half a minute

`zone`: where a search of a radius ends, the failure rate lies between eps' and eps, so that a
second verdict may differ. `far`: the failure rate falls again as the ball grows.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence

import numpy as np
import torch

from assay.analyse.model import Model
from assay.analyse.regions import Ball
from assay.analyse.sampling import Sampler
from studies.asking import images_for, loaded, promise_of
from studies.defects import BASE, EPS, balanced, radii_of
from studies.driving import Row, rows_of
from studies.label_sets import CAR, SETS, TRUCK
from studies.page import KEPT
from studies.tables import table

ZONE_IMAGES, ZONE_SAMPLES, ZONE_SEED = 40, 8_000, 991
CARS = {9: [CAR, TRUCK], 82: [CAR]}
"""Test images whose radii jump as eps grows, with the labels that may be given."""
FAR_RADII = (20.0, 43.0, 63.0, 100.0, 200.0, 300.0, 412.0, 512.0)
FAR_SAMPLES, FAR_SEED = 500, 5
AT_ONCE = 2_000


def failures(model: Model, ball: Ball, labels: Sequence[int], samples: int, seed: int) -> int:
    """How many of so many random inputs of a ball get none of the labels."""
    sampler, failed = Sampler(ball, seed), 0
    for start in range(0, samples, AT_ONCE):
        scores = model.scores(sampler.take(min(AT_ONCE, samples - start)))
        failed += int((~torch.isin(scores.argmax(1), torch.tensor(labels))).sum())
    return failed


def zone(rows: Sequence[Row]) -> str:
    """Where the rates of found radii lie, one sentence."""
    model = loaded(BASE, "cpu")
    images = balanced(rows[0].part["per_class"])
    rates = []
    for number, radius in sorted(radii_of(rows, BASE, "inf").items()):
        if number < ZONE_IMAGES:
            ball = Ball(images.flat[number].astype(np.float64), radius, "inf")
            label = [int(images.labels[number])]
            rates.append(failures(model, ball, label, ZONE_SAMPLES, ZONE_SEED) / ZONE_SAMPLES)
    promise = promise_of(EPS)
    below = sum(rate < promise.eps_inner for rate in rates)
    above = sum(rate >= promise.eps for rate in rates)
    error = math.sqrt(promise.eps_inner * (1 - promise.eps_inner) / ZONE_SAMPLES)
    return (
        f"{len(rates)} radii: {len(rates) - below - above} rates in the zone, {below} below "
        f"(from {min(rates):.4f}), {above} above (up to {max(rates):.4f}); one sd is {error:.4f}"
    )


def far() -> Iterator[list[str]]:
    """A table's line a car: the failure rate in percent at each radius."""
    model, images = loaded("cifar-10-model", "cpu"), images_for("cifar-10-model")
    names = {tuple(labels): name for name, labels in SETS.items()}
    for number, labels in CARS.items():
        point = images.flat[number].astype(np.float64)
        failed = (
            failures(model, Ball(point, radius, "inf"), labels, FAR_SAMPLES, FAR_SEED)
            for radius in FAR_RADII
        )
        rates = (f"{100 * count / FAR_SAMPLES:.0f}" for count in failed)
        yield [str(number), names[tuple(labels)], *rates]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m studies.spot_checks")
    parser.add_argument("check", choices=("zone", "far"))
    if parser.parse_args().check == "zone":
        print(zone(rows_of(json.loads((KEPT / "defects.json").read_text()))))
    else:
        print(table(["test image", "label kept", *(f"{r:g}" for r in FAR_RADII)], far()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
