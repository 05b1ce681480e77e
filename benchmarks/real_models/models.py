"""Every model of the studies by its name.

    from real_models.models import model_named
    from real_models.datasets import DATASETS

    model = model_named("mnist_relu_3_50")
    images = DATASETS[model.data]("test")     # pixels uint8 [n, c, h, w], labels int64 [n]
    analysed = model.analysed()               # assay.analyse.model.Model on pixels 0 to 255
    scores = analysed.scores(torch.as_tensor(images.flat[:8]))

What the cache lacks is downloaded, or trained.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from assay.errors import BadInput
from real_models.cifar10_cnn import cifar10_cnn
from real_models.defective import RECIPES, defective
from real_models.efficientnet import efficientnet_lite0
from real_models.lenet5 import lenet5
from real_models.onnx_networks import DNNV_NETWORKS, dnnv_network
from real_models.real_model import RealModel

MODELS: Mapping[str, Callable[[], RealModel]] = {
    **{name: partial(dnnv_network, name) for name in DNNV_NETWORKS},
    "lenet5-clean": partial(lenet5, "clean"),
    "lenet5-adversarial": partial(lenet5, "adversarial"),
    "cifar-10-model": cifar10_cnn,
    "efficientnet-lite0": efficientnet_lite0,
    **{f"conv-{name}": partial(defective, name) for name in RECIPES},
}


def model_named(name: str) -> RealModel:
    """The model of this name, loaded; it is downloaded or trained when the cache lacks it."""
    if name not in MODELS:
        raise BadInput(f"model {name!r}: unknown; choose from {', '.join(MODELS)}")
    return MODELS[name]()
