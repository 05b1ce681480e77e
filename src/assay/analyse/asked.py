"""What statistics are asked: how likely is a random input of a region to fail?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from assay.analyse.determinism import determinism_of
from assay.analyse.kept import Kept, LabelSet, Unviolated
from assay.analyse.model import Model, network_model, runnable_model
from assay.analyse.regions import Ball, BoxRegion, Norm, Region
from assay.analyse.resolution import precise_enough
from assay.analyse.sampling import Sampler
from assay.errors import BadInput
from assay.question.asked import read_specification, refuse_misfits
from assay.question.network import Network
from assay.question.operators.torch_module import TORCH_OPERATORS
from assay.question.property import Case, merged_by_box
from assay.question.runnable import Runnable, RunOptions
from assay.question.sampled_model import open_for_sampling


@dataclass(frozen=True, eq=False)
class Asked:
    """A model, what it must keep, and where the inputs come from."""

    model: Model
    kept: Kept
    region: Region

    def margins(self, points: Tensor) -> Tensor:
        """Positive where the property is kept, [n]; at most zero where it fails."""
        return self.margins_of(self.model.scores(points))

    def margins_of(self, scores: Tensor) -> Tensor:
        """The same from the scores of the points."""
        found = self.kept.margins(scores)
        if bool(torch.isnan(found).any()):
            raise BadInput(
                f"{self.model.name}: infinite scores have no difference; give logits or softmax"
            )
        return found

    def sampler(self, seed: int, purpose: str = "") -> Sampler:
        device, dtype = self.model.device, self.model.dtype
        return Sampler(self.region, seed, purpose=purpose, device=device, dtype=dtype)

    @property
    def description(self) -> dict[str, object]:
        """What a reader needs to ask the same again."""
        return {
            "model": self.model.name,
            **self.model.identity,
            "preprocessing": self.model.preprocessing.document,
            "device": self.model.device.type,
            "numbers": self.numbers,
            **determinism_of(self).document,
            "warnings": list(self.warnings),
            "measure": self.region.measure,
            "region": self.region.document,
            **self.kept.description,
        }

    @property
    def numbers(self) -> str:
        """What the model ran in: float16, float32 or float64."""
        return str(self.model.input_dtype).removeprefix("torch.")

    @property
    def warnings(self) -> Iterator[str]:
        """What a reader of any answer must know about the model."""
        if self.model.is_widened:
            yield (
                "float32 is too coarse to tell the points of this region apart; the model ran in "
                "float64, which may differ from what it says in float32."
            )
        found = determinism_of(self).warning
        if found:
            yield found


def asked_about(model: Model, kept: Kept, region: Region) -> Asked:
    """A question that can be sampled: with numbers that are fine enough, and a model that was
    looked at; every sampling command asks this way."""
    asked = Asked(precise_enough(model, region), kept, region)
    determinism_of(asked)
    return asked


def around(
    model: Model,
    point: np.ndarray,
    labels: tuple[int, ...] | None,
    radius: float,
    norm: Norm,
    *,
    valid: tuple[float, float] | None = None,
    levels: int | None = None,
) -> Asked:
    """Inputs near one input; without labels, the one that the model gives there must stay."""
    flat = np.asarray(point, np.float64).reshape(-1)
    region = Ball(flat, radius, norm, valid, levels)
    precise = precise_enough(model, region)
    there = predicted(precise, flat)
    kept = LabelSet((there,) if labels is None else labels)
    assert precise.classes is not None
    kept.refuse(precise.classes)
    return asked_about(precise, kept, region)


def predicted(model: Model, point: np.ndarray) -> int:
    """The class with the highest score at one input."""
    flat = torch.from_numpy(np.asarray(point, np.float64).reshape(1, -1))
    return int(model.scores(flat)[0].argmax())


def of_case(network: Network, case: Case, *, device: torch.device | None = None) -> Asked:
    """The violation rate of a box; in float64 where torch knows the operators."""
    known = network.operators <= set(TORCH_OPERATORS)
    dtype = torch.float64 if known else torch.float32
    model = network_model(network, device=device, dtype=dtype)
    return asked_about(model, Unviolated(case.violation), BoxRegion.enclosing(case.box))


def of_files(
    onnx: Path,
    vnnlib: Path,
    *,
    options: RunOptions | None = None,
    device: torch.device | None = None,
) -> Asked:
    """The question of two files; cases on one and the same box are one question."""
    cases = read_specification(vnnlib).cases
    case = only_case(cases, vnnlib)
    opened = open_for_sampling(onnx, (case.box.dimension,), options, torch.get_num_threads())
    refuse_misfits(opened, cases)
    if not isinstance(opened, Runnable):
        return of_case(opened, case, device=device)
    model = runnable_model(opened, options=options, device=device)
    return asked_about(model, Unviolated(case.violation), BoxRegion.enclosing(case.box))


def only_case(cases: tuple[Case, ...], place: Path) -> Case:
    merged = merged_by_box(cases)
    if len(merged) != 1:
        raise BadInput(
            f"{place}: asks about {len(merged)} boxes, and a rate belongs to one; give each box a "
            "file of its own"
        )
    return merged[0]
