"""A target as torchattacks wants it: a classifier of images in [0, 1], attacked with radius 1/2.

The package assumes square images with values in [0, 1] and a label. So z in [0, 1] stands for the
point lower + z (upper - lower): the ball of radius 1/2 around the grey image is the whole box, and
an input that the box fixes does not move. Inputs fill a square image row by row, without its last
row and column (which the package's Square does not reach with its smallest squares); what is left
of it stands for nothing. The classes are those of `losses`, the right one is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata, util
from typing import Any

import torch
from torch import Tensor

from assay.attack.target import Target

PACKAGE, VERSION = "torchattacks", "3.5.1"
RADIUS = 0.5
Scores = Callable[[Target, Tensor], Tensor]


class ImageClassifier(torch.nn.Module):
    """[N, 1, side, side] -> [N, classes]; every query is watched by the target."""

    def __init__(self, target: Target, scores: Scores) -> None:
        super().__init__()
        self._target, self._scores = target, scores
        inner = math.isqrt(target.inputs - 1) + 1
        self.side = inner + 1
        number = torch.arange(target.inputs, device=target.device)
        self._pixels = number // inner * self.side + number % inner
        # The package asks the first parameter for the device.
        self.anchor = torch.nn.Parameter(torch.zeros(1, device=target.device), False)

    def forward(self, images: Tensor) -> Tensor:
        share = torch.nan_to_num(images.flatten(1)[:, self._pixels].double(), 0.5).clamp(0, 1)
        points = self._target.inside(share)
        found = self._scores(self._target, self._target.outputs(points))
        # The package fails where nothing depends on the image, as in a constant network.
        return (found + 0 * share.sum(1, keepdim=True)).float()

    def grey(self, count: int) -> tuple[Tensor, Tensor]:
        """So many centres of the box, and their right class."""
        size = (count, 1, self.side, self.side)
        device = self.anchor.device
        return torch.full(size, RADIUS, device=device), torch.zeros(
            count, dtype=torch.int64, device=device
        )


def missing() -> str:
    if util.find_spec(PACKAGE) is not None:
        return ""
    return f"not run: needs {PACKAGE}; pip install --no-deps {PACKAGE}=={VERSION}"


def installed() -> str:
    return metadata.version(PACKAGE) if not missing() else ""


def attack_images(target: Target, scores: Scores, kind: str, restarts: int, **options: Any) -> None:
    """Run an attack of the package from so many centres at once, its starts random."""
    with _package(target, scores) as (package, model):
        for rows in target.batches(restarts):
            seed = _seed(target)
            attack = getattr(package, kind)(model, eps=RADIUS, seed=seed, **options)
            attack(*model.grey(rows.stop - rows.start))


def attack_boundary(target: Target, scores: Scores, restarts: int, **options: Any) -> None:
    """FAB from the centre, which needs one row, and from random starts."""
    with _package(target, scores) as (package, model):
        attack = package.FAB(model, eps=RADIUS, seed=_seed(target), n_restarts=1, **options)
        attack(*model.grey(1))
        for rows in target.batches(restarts - 1):
            torch.manual_seed(_seed(target))
            with torch.no_grad():
                images = model.grey(rows.stop - rows.start)
                attack.attack_single_run(*images, use_rand_start=True)


@contextmanager
def _package(target: Target, scores: Scores) -> Iterator[tuple[Any, ImageClassifier]]:
    """It seeds the random numbers of everybody; those are as before in the end."""
    import torchattacks

    devices = [target.device] if target.device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        yield torchattacks, ImageClassifier(target, scores)


def _seed(target: Target) -> int:
    return int(torch.randint(2**31, (1,), generator=target.draw, device=target.device))
