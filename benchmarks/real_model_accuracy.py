"""Load the real models of the studies and print what each gets right.

    python benchmarks/real_model_accuracy.py [MODEL ...] [--device cuda]

Downloads (about 220 MB in all) and trains what the cache lacks: see `real_models/cache.py`.
"""

from __future__ import annotations

import argparse
import sys
import time

import torch
from real_models.datasets import DATASETS
from real_models.defective import part_for
from real_models.models import MODELS, model_named
from real_models.real_model import correct

from assay.errors import AssayError


def row(name: str, device: str) -> str:
    begun = time.perf_counter()
    model = model_named(name)
    loaded = time.perf_counter() - begun
    images = (
        part_for("imbalanced", "test")
        if name == "conv-imbalanced"
        else DATASETS[model.data]("test")
    )
    begun = time.perf_counter()
    right = correct(model.analysed(device), images)
    seconds = time.perf_counter() - begun
    share = f"{right}/{len(images)} = {100 * right / len(images):.2f} %"
    cells = (name, model.origin, f"{model.parameters:,}", share, f"{loaded:.1f}", f"{seconds:.1f}")
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", default=list(MODELS))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    print("| model | from | parameters | right | s to load | s to classify |")
    print("|---|---|---|---|---|---|")
    try:
        for name in arguments.models:
            print(row(name, arguments.device), flush=True)
    except AssayError as problem:
        print(problem, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
