"""The nine architectures of SoundnessBench's Table 1, and two small ones that a CPU trains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Activation = Literal["relu", "tanh", "sigmoid"]
Shape = tuple[int, ...]
SIDE = 5
"""Height and width of the images."""


@dataclass(frozen=True)
class Conv:
    """3 x 3, stride 1, one ring of padding: images keep their size."""

    filters: int


@dataclass(frozen=True)
class Pool:
    """The average of 3 x 3 places at stride 1; places outside the image count as zeros."""


@dataclass(frozen=True)
class Dense:
    width: int


@dataclass(frozen=True)
class Chain:
    """Layers one after another, the activation behind every one but pools and the last."""

    name: str
    layers: tuple[Conv | Pool | Dense, ...]
    activation: Activation = "relu"
    flat_inputs: int = 10
    """Number of inputs where the first layer is dense."""

    @property
    def takes_images(self) -> bool:
        return isinstance(self.layers[0], Conv)


@dataclass(frozen=True)
class Transformer:
    """Every pixel is a token, beside one of the class; normalised over the batch."""

    name: str
    width: int = 16
    heads: int = 2
    depth: int = 2
    expansion: int = 2
    takes_images: bool = True


Architecture = Chain | Transformer
_HEAD = (Dense(1000), Dense(100), Dense(20))
_WIDE = Dense(1000)

ARCHITECTURES: dict[str, Architecture] = {
    architecture.name: architecture
    for architecture in (
        Chain("cnn_1_conv", (Conv(10), *_HEAD)),
        Chain("cnn_2_conv", (Conv(5), Conv(10), *_HEAD)),
        Chain("cnn_3_conv", (Conv(5), Conv(10), Conv(20), *_HEAD)),
        Chain("cnn_avgpool", (Conv(10), Pool(), *_HEAD)),
        Chain("mlp_4_hidden", (Dense(100), *[_WIDE] * 3, Dense(20))),
        Chain("mlp_5_hidden", (Dense(100), *[_WIDE] * 4, Dense(20))),
        Chain("cnn_tanh", (Conv(10), *_HEAD), "tanh"),
        Chain("cnn_sigmoid", (Conv(10), *_HEAD), "sigmoid"),
        Transformer("vit"),
        Chain("tiny_mlp", (Dense(32), Dense(32)), flat_inputs=4),
        Chain("tiny_cnn", (Conv(2), Pool(), Dense(32)), "tanh"),
    )
}


TINY = ("tiny_mlp", "tiny_cnn")
"""So small that one thread runs them fastest."""


def input_shape(architecture: Architecture, channels: int) -> Shape:
    if architecture.takes_images:
        return (channels, SIDE, SIDE)
    assert isinstance(architecture, Chain)
    return (architecture.flat_inputs,)


def size(shape: Sequence[int]) -> int:
    return math.prod(shape)
