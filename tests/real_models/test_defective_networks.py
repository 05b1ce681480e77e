"""The networks that the studies train: their ONNX files, their data, their seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from real_models.conv_network import POOLED, STRIDED, onnx_bytes, small_network
from real_models.datasets import LabelledImages
from real_models.defective import defective, without_most_of_the_rare_class
from real_models.preparing import AS_THEY_ARE, MNIST_STANDARD, prepared
from real_models.real_model import correct
from real_models.training import Schedule, train
from torch import nn

from assay.analyse.model import module_model
from assay.analyse.preprocessing import Preprocessing
from assay.errors import BadInput
from assay.question.network import load
from assay.question.runtime import FloatRunner


def _images(count: int, seed: int = 0) -> LabelledImages:
    """Digits that a bright row tells apart."""
    random = np.random.default_rng(seed)
    labels = np.arange(count) % 10
    pixels = random.integers(0, 60, (count, 1, 28, 28), dtype=np.uint8)
    pixels[np.arange(count), 0, 2 * labels + 4] += 190
    return LabelledImages("rows", pixels, labels)


@pytest.mark.parametrize("downsampling", [POOLED, STRIDED])
@pytest.mark.parametrize("preprocessing", [MNIST_STANDARD, AS_THEY_ARE])
def test_the_onnx_file_takes_pixels_and_agrees(
    downsampling: str, preprocessing: Preprocessing
) -> None:
    torch.manual_seed(1)
    network = small_network(downsampling).eval()
    pixels = _images(20).pixels
    with torch.inference_mode():
        expected = network(prepared(torch.as_tensor(pixels), preprocessing)).numpy()
    runner = FloatRunner(load(onnx_bytes(network, preprocessing), "net"))
    found = runner.run(pixels.reshape(20, -1).astype(np.float32))
    assert runner.batched
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


def test_all_have_the_same_size() -> None:
    sizes = {
        sum(tensor.numel() for tensor in small_network(kind).parameters())
        for kind in (POOLED, STRIDED)
    }
    assert sizes == {147_146}


def _trained(epochs: int, threads: int) -> nn.Sequential:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        torch.manual_seed(0)
        network = small_network(STRIDED)
        schedule = Schedule(epochs, rate=2e-3, decay=0.9)
        train(network, MNIST_STANDARD, _images(200), schedule, seed=0, device="cpu")
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    return network


def test_training_does_not_depend_on_the_number_of_threads() -> None:
    one, two = (_trained(1, threads).state_dict() for threads in (1, 2))
    assert all(torch.equal(one[key], two[key]) for key in one)


def test_training_learns() -> None:
    network = _trained(8, threads=1)
    model = module_model(network, (1, 28, 28), preprocessing=MNIST_STANDARD)
    assert correct(model, _images(100, seed=1)) > 90


def test_the_rare_class_keeps_a_tenth() -> None:
    kept = without_most_of_the_rare_class(_images(1000), seed=3)
    counts = np.bincount(kept.labels, minlength=10)
    assert counts.tolist() == [100] * 5 + [10] + [100] * 4
    again = without_most_of_the_rare_class(_images(1000), seed=3)
    assert np.array_equal(kept.pixels, again.pixels)


def test_balanced_takes_as_many_of_each_class() -> None:
    chosen = _images(300).balanced(7, seed=2)
    assert chosen.labels.tolist() == sorted(list(range(10)) * 7)
    assert len({image.tobytes() for image in chosen.pixels}) == 70
    with pytest.raises(BadInput, match="class 0 has 30 images"):
        _images(300).balanced(31, seed=2)


def test_an_unknown_network_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_STUDIES", str(tmp_path))
    with pytest.raises(BadInput, match="'underfit': unknown; choose from base, overfit"):
        defective("underfit")
