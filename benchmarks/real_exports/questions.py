"""A VNN-LIB question about a model: near its input it keeps the class that it gives there."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from assay.question.model_file import read_model
from assay.question.runnable import Runnable

RADIUS = 0.05


def write_question(onnx: Path, point: Path, target: Path) -> None:
    centre = np.load(point)
    model = Runnable(read_model(onnx), centre.shape)
    flat = centre.reshape(1, -1)
    label = int(model.run(flat)[0].argmax())
    lines = [f"(declare-const X_{i} Real)" for i in range(flat.size)]
    lines += [f"(declare-const Y_{k} Real)" for k in range(model.outputs)]
    for i, value in enumerate(flat[0].astype(float)):
        lines.append(f"(assert (>= X_{i} {value - RADIUS:.6f}))")
        lines.append(f"(assert (<= X_{i} {value + RADIUS:.6f}))")
    others = (f"(and (>= Y_{k} Y_{label}))" for k in range(model.outputs) if k != label)
    target.write_text("\n".join([*lines, f"(assert (or {' '.join(others)}))"]) + "\n")
