"""The networks that are exported from torch: small, each with what its name says."""

from __future__ import annotations

import torch
from torch import Tensor, nn

CLASSES = 3
IMAGE, ROW, SEQUENCE = (1, 8, 8), (6,), (5, 4)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), _head(16))


def mlp_gelu() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 16), nn.GELU(), _head(16))


def mlp_gelu_tanh() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 16), nn.GELU(approximate="tanh"), _head(16))


def mlp_layer_norm() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.GELU(), _head(16))


def cnn_batch_norm() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 8, 3, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        _head(8),
    )


def cnn_group_norm() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.ReLU(), nn.Flatten(), _head(256)
    )


def cnn_instance_norm() -> nn.Module:
    norm = nn.InstanceNorm2d(4, affine=True)
    return nn.Sequential(nn.Conv2d(1, 4, 3, stride=2), norm, nn.SiLU(), nn.Flatten(), _head(36))


def upsample(mode: str) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Upsample(scale_factor=2, mode=mode),
        nn.Conv2d(4, 2, 3, padding=1),
        nn.Flatten(),
        _head(128),
    )


def conv_transpose() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.ConvTranspose2d(4, 2, 2, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        _head(128),
    )


class Mobile(nn.Module):
    """Depthwise convolution, squeeze and excitation, hard swish: a block of MobileNetV3."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Conv2d(1, 8, 1)
        self.deep = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.norm = nn.BatchNorm2d(8)
        self.squeeze = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 2, 1), nn.ReLU(), nn.Conv2d(2, 8, 1)
        )
        self.head = _head(8)

    def forward(self, x: Tensor) -> Tensor:
        y = nn.functional.hardswish(self.norm(self.deep(self.wide(x))))
        y = y * nn.functional.hardsigmoid(self.squeeze(y))
        return self.head(y.mean((2, 3)))


class Residual(nn.Module):
    """Two convolutions around a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 4, 3, padding=1)
        self.second = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4))
        self.head = _head(64)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.first(x))
        y = torch.relu(y + self.second(y))
        return self.head(nn.functional.avg_pool2d(y, 2).flatten(1))


class Recurrent(nn.Module):
    """The last state of an LSTM or a GRU decides."""

    def __init__(self, cell: type[nn.LSTM] | type[nn.GRU]) -> None:
        super().__init__()
        self.cell = cell(4, 8, batch_first=True)
        self.head = _head(8)

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.cell(x)
        return self.head(states[:, -1])


class Encoder(nn.Module):
    """torch's own encoder layer of a transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Linear(4, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.head = _head(8)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layer(self.wide(x)).mean(1))


class Attention(nn.Module):
    """Scaled dot-product attention over the rows of a sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(4, 2, batch_first=True)
        self.head = _head(20)

    def forward(self, x: Tensor) -> Tensor:
        mixed, _ = self.layer(x, x, x, need_weights=False)
        return self.head((x + mixed).flatten(1))


class Vision(nn.Module):
    """Patches, a class token, attention: a small ViT."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(1, 8, 4, stride=4)
        self.token = nn.Parameter(torch.randn(1, 1, 8))
        self.places = nn.Parameter(torch.randn(1, 5, 8))
        self.layer = nn.TransformerEncoderLayer(
            8, 2, 16, dropout=0.0, batch_first=True, activation="gelu", norm_first=True
        )
        self.norm = nn.LayerNorm(8)
        self.head = _head(8)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.patches(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.token.expand(x.shape[0], -1, -1), tokens], 1) + self.places
        return self.head(self.norm(self.layer(tokens)[:, 0]))


def _head(width: int) -> nn.Linear:
    return nn.Linear(width, CLASSES)
