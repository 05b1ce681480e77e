"""The CIFAR-10 network of the package cifar-10-model, a Keras file read into torch layers.

Six convolutions, each followed by ReLU and batch normalisation, then three dense layers. The last
one too ends in a ReLU: where no class scores above zero all scores tie.
"""

from __future__ import annotations

import torch
from torch import nn

from real_models.fetching import imported, unpacked
from real_models.packages import CIFAR10_MODEL, HDF5_READER
from real_models.preparing import AS_THEY_ARE
from real_models.real_model import RealModel

_KERAS_EPSILON = 1e-3
_POOLED = (1, 3)
"""Convolutions followed by a 2 x 2 maximum."""


class _KerasWeights:
    """The tensors of the file's layers, by the names Keras gives them."""

    def __init__(self) -> None:
        reader = imported("pyfive", HDF5_READER)
        trained = unpacked(CIFAR10_MODEL) / "cifar_10_model" / "trained_models"
        self._layers = reader.File(str(trained / "cnn_model.h5"))["model_weights"]

    def __call__(self, kind: str, number: int, tensor: str) -> torch.Tensor:
        layer = kind if number == 0 else f"{kind}_{number}"
        return torch.tensor(self._layers[layer][layer][f"{tensor}:0"][...])


def cifar10_cnn() -> RealModel:
    weights = _KerasWeights()
    layers: list[nn.Module] = []
    for number in range(6):
        layers += [_convolution(weights, number), nn.ReLU(), _normalisation(weights, number)]
        if number in _POOLED:
            layers.append(nn.MaxPool2d(2))
    layers.append(nn.Flatten())
    for number in range(3):
        layers += [_dense(weights, number), nn.ReLU()]
    network = nn.Sequential(*layers).eval()
    name, label = "cifar-10-model", CIFAR10_MODEL.label
    return RealModel(name, "cifar10", label, (3, 32, 32), AS_THEY_ARE, network)


def _convolution(weights: _KerasWeights, number: int) -> nn.Conv2d:
    kernel = weights("conv2d", number, "kernel").permute(3, 2, 0, 1)
    outside, inside, height, _ = kernel.shape
    layer = nn.Conv2d(inside, outside, height)
    layer.load_state_dict({"weight": kernel, "bias": weights("conv2d", number, "bias")})
    return layer


def _normalisation(weights: _KerasWeights, number: int) -> nn.BatchNorm2d:
    kind = "batch_normalization"
    state = {
        "weight": weights(kind, number, "gamma"),
        "bias": weights(kind, number, "beta"),
        "running_mean": weights(kind, number, "moving_mean"),
        "running_var": weights(kind, number, "moving_variance"),
    }
    layer = nn.BatchNorm2d(len(state["bias"]), eps=_KERAS_EPSILON)
    layer.load_state_dict(state, strict=False)
    return layer


def _dense(weights: _KerasWeights, number: int) -> nn.Linear:
    kernel = weights("dense", number, "kernel").T
    layer = nn.Linear(kernel.shape[1], kernel.shape[0])
    layer.load_state_dict({"weight": kernel, "bias": weights("dense", number, "bias")})
    return layer
