"""Random points of the box, uniform."""

from __future__ import annotations

import torch

from assay.attack.method import Attack, Effort
from assay.attack.target import Target


def _run(target: Target, effort: Effort) -> None:
    with torch.no_grad():
        for rows in target.batches(effort.restarts):
            target.outputs(target.uniform(rows.stop - rows.start))


ATTACK = Attack("random", "uniform random points of the box", Effort(50_000), _run, gradients=False)
