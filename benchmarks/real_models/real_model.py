"""A model of the studies, and how often it is right."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from assay.analyse.model import Model, module_model
from assay.analyse.preprocessing import Preprocessing
from real_models.datasets import LabelledImages


@dataclass(frozen=True, eq=False)
class RealModel:
    """`network` takes what `preprocessing` makes of pixels, as [n, *shape], and gives scores."""

    name: str
    data: str
    """The data set it was trained for, a key of `DATASETS`."""
    origin: str
    shape: tuple[int, int, int]
    preprocessing: Preprocessing
    network: nn.Module
    onnx: Path | None = None
    """The same network as a file; one that was trained here has its preprocessing inside."""

    def analysed(self, device: str = "cpu") -> Model:
        """What the analysers take: a function of pixels 0 to 255."""
        return module_model(
            self.network,
            self.shape,
            name=self.name,
            device=torch.device(device),
            preprocessing=self.preprocessing,
        )

    @property
    def parameters(self) -> int:
        """How many numbers were learnt; an ONNX network holds its own as frozen buffers."""
        learnt: list[torch.Tensor] = [*self.network.parameters()] or [*self.network.buffers()]
        return sum(tensor.numel() for tensor in learnt)


def predicted(model: Model, images: LabelledImages) -> torch.Tensor:
    """The class of highest score for every image."""
    return model.scores(torch.as_tensor(images.flat)).argmax(dim=1).cpu()


def correct(model: Model, images: LabelledImages) -> int:
    """How many images are given their label."""
    return int((predicted(model, images) == torch.as_tensor(images.labels)).sum())
