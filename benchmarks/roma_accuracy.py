"""RoMA against counting on models of known failure rate: errors, acceptance, and time.

    python benchmarks/roma_accuracy.py

`ball`: one coordinate of the l2 ball in 400 dimensions, whose margins are nearly normal and whose
rate is exact. `relu`: a random ReLU network with three classes, rate by 10^6 samples. `pocket`: 30
inputs, margins nearly normal but for a box of failures of volume 1e-4 exactly, away from the tail.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from assay.analyse.asked import Asked, around
from assay.analyse.model import callable_model
from assay.analyse.regions import Norm
from assay.analyse.roma_counted import RomaSettings, assess

_BALL, _BOX = 400, 30


@dataclass(frozen=True, eq=False)
class Known:
    name: str
    asked: Asked
    rate: float


def asked(
    scores: Callable[[np.ndarray], np.ndarray], inputs: int, radius: float, norm: Norm
) -> Asked:
    return around(callable_model(scores, (inputs,)), np.zeros(inputs), (0,), radius, norm)


def ball(rate: float) -> Known:
    """2 P(x_1 > t) = I_{1 - t^2}((d + 1) / 2, 1 / 2)."""
    offset = np.sqrt(1 - betaincinv((_BALL + 1) / 2, 0.5, 2 * rate))

    def scores(x: np.ndarray) -> np.ndarray:
        return np.stack([x[:, 0] + offset, np.zeros(len(x))], 1)

    return Known(f"ball {rate:g}", asked(scores, _BALL, 1.0, "2"), rate)


def relu() -> Known:
    draw = np.random.default_rng(0)
    first = draw.normal(size=(_BOX, 24)) / _BOX**0.5
    last = draw.normal(size=(24, 3)) / 24**0.5

    def scores(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.maximum(x @ first, 0) @ last + [0.55, 0, 0])

    question = asked(scores, _BOX, 0.5, "inf")
    return Known("relu", question, assess(question, RomaSettings(10**6, seed=99)).counted.rate)


def pocket() -> Known:
    def scores(x: np.ndarray) -> np.ndarray:
        inside = (x[:, 0] > 0.98) & (x[:, 1] > 0.98)
        margin = np.where(inside, -1.0, 31 + x.sum(1))
        return np.stack([margin, np.zeros(len(x))], 1)

    return Known("pocket", asked(scores, _BOX, 1.0, "inf"), 1e-4)


def row(known: Known, samples: int, runs: int) -> str:
    known.asked.model.seconds = 0.0
    begun = time.perf_counter()
    found = [assess(known.asked, RomaSettings(samples, seed=seed)) for seed in range(runs)]
    beyond = (time.perf_counter() - begun - known.asked.model.seconds) / runs

    def error(rates: list[float]) -> str:
        return f"{np.sqrt(np.mean((np.array(rates) / known.rate - 1) ** 2)):.2f}"

    normal = np.mean([f.extrapolation.basis == "normal" for f in found])
    accepted = np.mean([f.extrapolation.accepted for f in found])
    covered = np.mean([f.counted.covers(known.rate) for f in found])
    cells = (
        known.name,
        f"{known.rate:.3g}",
        f"{samples:,}",
        f"{np.median([f.failure_rate for f in found]):.2g}",
        error([f.failure_rate for f in found]),
        error([f.counted.rate for f in found]),
        f"{normal:.0%}",
        f"{accepted:.0%}",
        f"{covered:.1%}",
        f"{1e3 * beyond:.1f}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    runs = parser.parse_args().runs
    print(
        "| model | rate | n | RoMA, median | RoMA's error | counting's error | normal | accepted |",
        end="",
    )
    print(" interval covers | ms beyond the model |")
    print("|---" * 10 + "|")
    for known in (ball(0.1), ball(0.01), ball(0.001), relu(), pocket()):
        for samples in (100, 1000, 10_000):
            print(row(known, samples, max(40, runs * 100 // samples)), flush=True)


if __name__ == "__main__":
    main()
