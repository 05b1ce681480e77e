"""From the pixels 0 to 255 that a study perturbs to the numbers that a network was trained on."""

from __future__ import annotations

import torch

from assay.analyse.preprocessing import Preprocessing

AS_THEY_ARE = Preprocessing()
UNIT = Preprocessing(scale=255)
MINUS_ONE_TO_ONE = Preprocessing(scale=255, mean=(0.5,), std=(0.5,))
MNIST_STANDARD = Preprocessing(scale=255, mean=(0.1307,), std=(0.3081,))
"""Zero mean and unit variance over the pixels of MNIST's training part."""


def prepared(pixels: torch.Tensor, preprocessing: Preprocessing) -> torch.Tensor:
    """Grey images [n, 1, height, width] as float32 inputs for training."""
    (mean,), (std,) = preprocessing.mean or (0.0,), preprocessing.std or (1.0,)
    return (pixels.float() / preprocessing.scale - mean) / std
