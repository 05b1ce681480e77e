"""How much of a decision is spent in the model, and its speed beside the bare forward pass.

    python benchmarks/decide_overhead.py [--device cuda] [--seconds 5] [--markdown]

Two networks of a million parameters, on 784 and on 3,072 inputs. `decide` runs on a rate inside the
indifference zone until its budget is spent; the bare forward pass runs the same batches of one
fixed tensor. The machine should have nothing else to do.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from assay.analyse.asked import Asked, around
from assay.analyse.model import Model, module_model
from assay.analyse.promise import Promise
from assay.analyse.regions import NORMS, Norm
from assay.analyse.rules import rule_for
from assay.analyse.weakened.decide import decide
from assay.bounds.device import device_named

REPEATS = 5
RADII = {"1": 30.0, "2": 3.0, "inf": 0.1}


@dataclass(frozen=True)
class Measured:
    network: str
    norm: str
    batch: int
    samples_per_s: float
    forward_per_s: float
    model_share: float

    @property
    def beside(self) -> float:
        """Samples a second over those of the bare forward pass."""
        return self.samples_per_s / self.forward_per_s


def dense() -> tuple[nn.Module, tuple[int, ...]]:
    torch.manual_seed(0)
    layers = (nn.Linear(784, 700), nn.ReLU(), nn.Linear(700, 630), nn.ReLU(), nn.Linear(630, 10))
    return nn.Sequential(nn.Flatten(), *layers), (1, 28, 28)


def convolutional() -> tuple[nn.Module, tuple[int, ...]]:
    torch.manual_seed(0)
    layers = (
        nn.Conv2d(3, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(4096, 240),
        nn.ReLU(),
        nn.Linear(240, 10),
    )
    return nn.Sequential(*layers), (3, 32, 32)


NETWORKS: dict[str, Callable[[], tuple[nn.Module, tuple[int, ...]]]] = {
    "dense": dense,
    "convolutional": convolutional,
}


def never_decided(model: Model, norm: Norm) -> Asked:
    """Around a random point, with labels that make nothing fail: only the budget ends it."""
    point = np.random.default_rng(0).random(model.inputs)
    return around(model, point, tuple(range(9)), RADII[norm], norm)


def measured(name: str, norm: Norm, device: torch.device, seconds: float) -> Measured:
    module, shape = NETWORKS[name]()
    model = module_model(module, shape, name=name, device=device)
    asked = never_decided(model, norm)
    # So small an eps that no verdict comes before the budget is spent.
    rule = rule_for("confidence-sequence", Promise(1e-9, 5e-10))
    warm = decide(asked, rule, budget=50_000)
    budget = max(20_000, int(warm.drawn / warm.seconds * seconds / REPEATS))
    rates, shares = [], []
    for seed in range(REPEATS):
        found = decide(asked, rule, seed=seed, budget=budget)
        rates.append(found.drawn / found.seconds)
        shares.append(found.model_seconds / found.seconds)
    forward = statistics.median(bare(module, shape, model.rows, device) for _ in range(REPEATS))
    speed, share = statistics.median(rates), statistics.median(shares)
    return Measured(name, norm, model.rows, speed, forward, share)


def bare(module: nn.Module, shape: tuple[int, ...], rows: int, device: torch.device) -> float:
    """Inputs a second of the forward pass alone."""
    batch = torch.rand(rows, *shape, device=device)
    calls, spent = 0, 0.0
    with torch.inference_mode():
        module(batch)
        while spent < 0.5:
            begun = time.perf_counter()
            module(batch)
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            spent += time.perf_counter() - begun
            calls += 1
    return calls * rows / spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args()
    device = device_named(given.device)
    what = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    print(f"{what}, {torch.get_num_threads()} threads, torch {torch.__version__}")
    header = ("network", "norm", "batch", "samples/s", "forward/s", "ratio", "in the model")
    line = "| {} |" if given.markdown else "{}"
    joint = " | " if given.markdown else "  "
    print(line.format(joint.join(f"{cell:>13s}" for cell in header)))
    if given.markdown:
        print("|" + "---|" * len(header))
    for name in NETWORKS:
        for norm in NORMS:
            m = measured(name, norm, device, given.seconds)
            cells = (
                m.network,
                f"l{m.norm}",
                f"{m.batch:,}",
                f"{m.samples_per_s:,.0f}",
                f"{m.forward_per_s:,.0f}",
                f"{m.beside:.2f}",
                f"{m.model_share:.1%}",
            )
            print(line.format(joint.join(f"{cell:>13s}" for cell in cells)), flush=True)


if __name__ == "__main__":
    main()
