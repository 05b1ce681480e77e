"""PGD of Assay and of torchattacks on the same network: seconds for the same number of gradients.

    python benchmarks/attack_speed.py [--inputs 25] [--restarts 192] [--steps 100] [--device cpu]

Both take `restarts` starts at once through `steps` sign steps on the cross-entropy of a planted
robust network that neither can break, so each runs to its end. torchattacks gets the bare network
in float32; Assay watches every query for violations in float64, counts, and keeps the best points.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch

from assay.attack.losses import cross_entropy
from assay.attack.method import Effort
from assay.attack.projected_gradient import projected_gradient
from assay.attack.target import Target
from assay.bounds.device import device_named
from assay.difficulty.margin import MarginFunction
from assay.question.network import Network, load
from assay.question.property import Specification
from assay.question.torch_view import torch_view
from assay.question.vnnlib2 import read_any
from assay.truth.families import family

_REPEATS = 5


def question(inputs: int) -> tuple[Network, Specification, int]:
    planted = family("planted")
    knobs = planted.knobs.model_validate({"kind": "simplex", "inputs": inputs})
    robust = next(i for i in planted.make(knobs, 1) if i.truth.answer == "robust")
    specification = read_any(robust.vnnlib.decode(), robust.name)
    network = load(robust.onnx, robust.name)
    ((first, *_), *_) = specification.cases[0].violation.disjuncts
    label = next(index for index, factor in first.terms if factor > 0)
    return network, specification, label


class Bare(torch.nn.Module):
    """The network over [0, 1], and nothing else."""

    def __init__(self, network: Network, lower: torch.Tensor, upper: torch.Tensor) -> None:
        super().__init__()
        self.view = torch_view(network).to(lower.device)
        self.anchor = torch.nn.Parameter(torch.zeros(1, device=lower.device))
        self.lower, self.side = lower.float(), (upper - lower).float()

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = self.view(self.lower + images.flatten(1) * self.side)
        return outputs


def median_seconds(run: Callable[[], object], device: torch.device) -> float:
    times = []
    for _ in range(_REPEATS + 1):
        begun = time.perf_counter()
        run()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begun)
    return statistics.median(times[1:])


def main() -> None:
    import torchattacks

    options = argparse.ArgumentParser()
    options.add_argument("--inputs", type=int, default=25)
    options.add_argument("--restarts", type=int, default=192)
    options.add_argument("--steps", type=int, default=100)
    options.add_argument("--device", default="cpu")
    given = options.parse_args()
    torch.set_num_threads(1)
    device = device_named(given.device)
    network, specification, label = question(given.inputs)
    function = MarginFunction(network, specification.cases, device)
    attack = projected_gradient(cross_entropy)

    def ours() -> None:
        attack(Target(function, 0, 0, "pgd-ce"), Effort(given.restarts, given.steps))

    bare = Bare(network, function.lower[0], function.upper[0])
    theirs = torchattacks.PGD(bare, eps=0.5, alpha=0.1, steps=given.steps)
    images = torch.full((given.restarts, 1, 1, given.inputs), 0.5, device=device)
    labels = torch.full((given.restarts,), label, device=device)
    seconds = {
        "assay": median_seconds(ours, device),
        "torchattacks": median_seconds(lambda: theirs(images, labels), device),
    }
    print(json.dumps({**seconds, "ratio": seconds["torchattacks"] / seconds["assay"]}, indent=1))


if __name__ == "__main__":
    main()
