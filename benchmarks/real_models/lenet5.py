"""Advertorch's LeNet5 for MNIST, trained on clean or on adversarial images (LGPL weights)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import nn

from real_models.fetching import unpacked
from real_models.packages import ADVERTORCH
from real_models.preparing import UNIT
from real_models.real_model import RealModel


def lenet5(training: Literal["clean", "adversarial"]) -> RealModel:
    network = nn.Sequential()
    for block, (inside, outside) in enumerate(((1, 32), (32, 64)), start=1):
        network.add_module(f"conv{block}", nn.Conv2d(inside, outside, 3, padding=1))
        network.add_module(f"relu{block}", nn.ReLU())
        network.add_module(f"maxpool{block}", nn.MaxPool2d(2))
    network.add_module("flatten", nn.Flatten())
    network.add_module("linear1", nn.Linear(7 * 7 * 64, 200))
    network.add_module("relu3", nn.ReLU())
    network.add_module("linear2", nn.Linear(200, 10))
    folder = unpacked(ADVERTORCH) / "advertorch-0.2.3" / "advertorch_examples" / "trained_models"
    file = {"clean": "mnist_lenet5_clntrained.pt", "adversarial": "mnist_lenet5_advtrained.pt"}
    weights = torch.load(folder / file[training], map_location="cpu", weights_only=True)
    network.load_state_dict(weights)
    name = f"lenet5-{training}"
    return RealModel(name, "mnist", ADVERTORCH.label, (1, 28, 28), UNIT, network.eval())
