"""The MNIST networks in the tests of DNNV: ONNX files for one image."""

from __future__ import annotations

from torch import nn

from assay.question.network import load_file
from assay.question.torch_view import torch_view
from real_models.fetching import unpacked
from real_models.packages import DNNV
from real_models.preparing import MINUS_ONE_TO_ONE, UNIT
from real_models.real_model import RealModel

_FILES = {
    "mnist_relu_3_50": UNIT,
    "convSmallRELU__Point": UNIT,
    "mnist_300_200_100": MINUS_ONE_TO_ONE,
}
DNNV_NETWORKS = tuple(_FILES)


def dnnv_network(name: str) -> RealModel:
    """One of `DNNV_NETWORKS`; the last layer of mnist_relu_3_50 is a ReLU, so scores can tie."""
    folder = unpacked(DNNV) / "dnnv-0.6.0" / "tests" / "system_tests" / "artifacts" / "networks"
    path = folder / f"{name}.onnx"
    network = nn.Sequential(nn.Flatten(), torch_view(load_file(path))).eval()
    return RealModel(name, "mnist", DNNV.label, (1, 28, 28), _FILES[name], network, path)
