"""Make the forty models: `python -m real_exports.make FOLDER`, an ONNX file and an input each."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from real_exports import keras_graphs, sklearn_exports, torch_exports


def make(folder: Path) -> dict[str, list[int]]:
    """The shape of one input of each model, by its name; also in FOLDER/models.json."""
    folder.mkdir(parents=True, exist_ok=True)
    shapes: dict[str, list[int]] = {}
    for source in (torch_exports, sklearn_exports, keras_graphs):
        for name, shape in source.export_all(folder):
            draw = np.random.default_rng(len(shapes))
            np.save(folder / f"{name}.npy", draw.uniform(0, 1, shape).astype(np.float32))
            shapes[name] = list(shape)
    (folder / "models.json").write_text(json.dumps(shapes, indent=1) + "\n")
    return shapes


if __name__ == "__main__":
    print(f"{len(make(Path(sys.argv[1])))} models")
