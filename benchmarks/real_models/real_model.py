"""A model of the studies, and how often it is right."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from real_models.datasets import LabelledImages
from real_models.preparing import OnPixels, Preparation

BATCH = 250


@dataclass(frozen=True, eq=False)
class RealModel:
    """`network` takes prepared images [n, channels, height, width] and gives scores."""

    name: str
    data: str
    """The data set it was trained for, a key of `DATASETS`."""
    origin: str
    preparation: Preparation
    network: nn.Module
    onnx: Path | None = None
    """The same network as a file that takes what `network` takes, unless `onnx_on_pixels`."""
    onnx_on_pixels: bool = False

    @property
    def on_pixels(self) -> nn.Module:
        """The model as a function of pixels 0 to 255, ready for the analysers."""
        return OnPixels(self.preparation, self.network).eval()

    @property
    def parameters(self) -> int:
        """How many numbers were learnt; an ONNX network holds its own as frozen buffers."""
        learnt: list[torch.Tensor] = [*self.network.parameters()] or [*self.network.buffers()]
        return sum(tensor.numel() for tensor in learnt)


def predicted(model: nn.Module, images: LabelledImages, device: str = "cpu") -> torch.Tensor:
    """The class of highest score for every image, by a model that takes pixels."""
    placed = model.to(device)
    with torch.inference_mode():
        found = [
            placed(torch.as_tensor(batch).to(device)).argmax(dim=1).cpu()
            for batch in np.array_split(images.pixels, -(-len(images) // BATCH))
        ]
    return torch.cat(found)


def correct(model: nn.Module, images: LabelledImages, device: str = "cpu") -> int:
    """How many images are given their label."""
    return int((predicted(model, images, device) == torch.as_tensor(images.labels)).sum())
