"""Section 8.2 of the weakened-robustness paper: a good MNIST network and four flawed sisters.

All have two convolutions, two dense layers and the same 147,146 parameters. They differ in one
thing each, which their accuracy hardly shows. Trained here once, on one thread, so that the
weights do not depend on how many there are; on CUDA, where there is one, they differ a little.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from assay.analyse.preprocessing import Preprocessing
from assay.errors import BadInput
from real_models.cache import appearing_whole, cache_folder
from real_models.conv_network import POOLED, SHAPE, STRIDED, onnx_bytes, small_network
from real_models.datasets import LabelledImages, mnist
from real_models.preparing import AS_THEY_ARE, MNIST_STANDARD
from real_models.real_model import RealModel, correct
from real_models.training import Schedule, train

SEED = 0
RARE_CLASS, RARE_KEPT = 5, 0.1


@dataclass(frozen=True)
class Recipe:
    """What one of the five networks is made of."""

    schedule: Schedule
    downsampling: str = POOLED
    preprocessing: Preprocessing = MNIST_STANDARD
    imbalanced: bool = False
    starts_from: str | None = None


_WELL_TRAINED = Schedule(epochs=4, rate=1e-3, decay=0.5)
RECIPES: Mapping[str, Recipe] = {
    "base": Recipe(_WELL_TRAINED),
    # Trained on until it hardly errs on what it was trained on (5 of 60,000).
    "overfit": Recipe(Schedule(epochs=12, rate=1e-3, decay=0.8), starts_from="base"),
    "no-pooling": Recipe(_WELL_TRAINED, downsampling=STRIDED),
    "no-normalisation": Recipe(_WELL_TRAINED, preprocessing=AS_THEY_ARE),
    "imbalanced": Recipe(_WELL_TRAINED, imbalanced=True),
}


@dataclass(frozen=True)
class Trained:
    """What is known of a training that was done."""

    recipe: str
    device: str
    torch: str
    seconds: float
    training_images: int
    training_errors: int
    test_images: int
    test_correct: int


def defective(name: str, device: str | None = None) -> RealModel:
    """One of `RECIPES`, from the cache, or trained now (a minute or two; `overfit` four)."""
    weights = _kept_weights(name, device)
    recipe = RECIPES[name]
    network = small_network(recipe.downsampling).eval()
    with np.load(weights, allow_pickle=False) as arrays:
        network.load_state_dict({key: torch.tensor(arrays[key]) for key in arrays.files})
    onnx = weights.with_suffix(".onnx")
    if not onnx.exists():
        with appearing_whole(onnx) as draft:
            draft.write_bytes(onnx_bytes(network, recipe.preprocessing))
    return _as_model(name, network, onnx)


def _as_model(name: str, network: nn.Module, onnx: Path | None) -> RealModel:
    preprocessing = RECIPES[name].preprocessing
    return RealModel(f"conv-{name}", "mnist", "trained here", SHAPE, preprocessing, network, onnx)


def training_record(name: str) -> Trained:
    """How the network in the cache was trained."""
    record = _kept_weights(name, None).with_suffix(".json")
    return Trained(**json.loads(record.read_text()))


def without_most_of_the_rare_class(images: LabelledImages, seed: int) -> LabelledImages:
    """90 % of class 5 removed, as in Conv-Imbalance; the paper does so to both parts."""
    rare = np.flatnonzero(images.labels == RARE_CLASS)
    random = np.random.default_rng(seed)
    removed = random.choice(rare, round(len(rare) * (1 - RARE_KEPT)), replace=False)
    return images.chosen(np.setdiff1d(np.arange(len(images)), removed))


def part_for(name: str, part: str) -> LabelledImages:
    """The images that a network is trained (`train`) or judged (`test`) on."""
    images = mnist("train" if part == "train" else "test")
    return without_most_of_the_rare_class(images, SEED) if RECIPES[name].imbalanced else images


def _kept_weights(name: str, device: str | None) -> Path:
    if name not in RECIPES:
        raise BadInput(f"defective network {name!r}: unknown; choose from {', '.join(RECIPES)}")
    weights = cache_folder("trained") / f"conv-{name}.npz"
    if not weights.exists():
        chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
        _train_and_keep(name, weights, chosen)
    return weights


def _train_and_keep(name: str, weights: Path, device: str) -> None:
    recipe = RECIPES[name]
    torch.manual_seed(SEED)
    network = small_network(recipe.downsampling)
    if recipe.starts_from is not None:
        network.load_state_dict(defective(recipe.starts_from, device).network.state_dict())
    images, tests = part_for(name, "train"), part_for(name, "test")
    begun = time.perf_counter()
    train(network, recipe.preprocessing, images, recipe.schedule, seed=SEED, device=device)
    seconds = time.perf_counter() - begun
    state = {key: value.cpu().numpy() for key, value in network.state_dict().items()}
    model = _as_model(name, network, None).analysed(device)
    record = Trained(
        recipe=name,
        device=device,
        torch=torch.__version__,
        seconds=round(seconds, 1),
        training_images=len(images),
        training_errors=len(images) - correct(model, images),
        test_images=len(tests),
        test_correct=correct(model, tests),
    )
    with appearing_whole(weights.with_suffix(".json")) as draft:
        draft.write_text(json.dumps(asdict(record), indent=2) + "\n")
    with appearing_whole(weights) as draft:
        np.savez(draft, **state)
