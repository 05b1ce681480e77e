"""An independent complete verifier reads the exported files and never contradicts a label."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from assay.truth.families import families, family

SECONDS = 5
LIMIT = 120
SETTINGS = {
    "exact_radius": [
        ({"inputs": 5, "classes": 3, "hidden": (8,), "fractions": (0.5, 0.9)}, 0),
        ({"inputs": 5, "classes": 3, "hidden": (6, 6), "fractions": (0.9, 0.99)}, 1),
        ({"inputs": 4, "classes": 2, "hidden": (5, 5), "weights": "trained"}, 2),
    ],
    "constant_box": [
        ({"inputs": 8, "classes": 3, "depth": 1, "width": 8, "latent": 2}, 0),
        ({"inputs": 6, "classes": 3, "depth": 2, "width": 8, "collapse": "hinges"}, 0),
        ({"inputs": 6, "classes": 2, "depth": 4, "width": 6, "latent": 3}, 1),
    ],
    "corners": [
        ({"inputs": 6, "classes": 3, "hinges": 8, "active": 4}, 0),
        ({"inputs": 6, "classes": 2, "hinges": 6, "active": 4, "window": 2}, 1),
        ({"inputs": 4, "classes": 4, "hinges": 6, "active": 3, "epsilon": 0.5}, 2),
    ],
    "meap": [
        ({"inputs": 3, "classes": 3, "pairs": 2}, 0),
        ({"inputs": 4, "classes": 3, "pairs": 3, "gamma": 1.0}, 0),
    ],
    # three classes: with one single inequality Marabou 2.0.0 is wrong on skips, in both directions
    "residual": [
        ({"inputs": 4, "classes": 3, "width": 2, "depth": 2}, 0),
        ({"inputs": 3, "features": 4, "classes": 3, "width": 2, "depth": 3}, 1),
        ({"inputs": 5, "classes": 3, "width": 3, "depth": 2, "mixing": "dense"}, 2),
    ],
}
SOLVE = f"""
import json, sys
from maraboupy import Marabou
options = Marabou.createOptions(verbosity=0, timeoutInSeconds={SECONDS})
for onnx, vnnlib in json.loads(sys.argv[1]):
    network = Marabou.read_onnx(onnx)
    code, values, statistics = network.solve(
        propertyFilename=vnnlib, verbose=False, options=options
    )
    print("ANSWER", code, flush=True)
"""


@pytest.fixture(scope="module", autouse=True)
def importable() -> None:
    """In a process of its own: the import is noisy and loads a large extension."""
    command = [sys.executable, "-c", "import maraboupy.Marabou"]
    tried = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert tried.returncode == 0, f"maraboupy cannot be imported: {tried.stderr}"


def answers(files: list[tuple[str, str]]) -> list[str]:
    """Marabou's verdict for each pair of an ONNX and a VNN-LIB file."""
    done = subprocess.run(
        [sys.executable, "-c", SOLVE, json.dumps(files)],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [line.split()[1] for line in done.stdout.splitlines() if line.startswith("ANSWER")]


@pytest.mark.parametrize("name", sorted(families()))
def test_marabou_never_contradicts_a_label(name: str, tmp_path: Path) -> None:
    constructor = family(name)
    if name not in SETTINGS:
        pytest.skip(f"no small setting of {name} is given here for Marabou")
    labels, files = [], []
    for values, seed in SETTINGS[name]:
        for instance in constructor.make(constructor.knobs.model_validate(values), seed):
            onnx, text = tmp_path / f"{len(files)}.onnx", tmp_path / f"{len(files)}.vnnlib"
            onnx.write_bytes(instance.onnx)
            text.write_bytes(instance.vnnlib)
            labels.append(instance.truth.answer)
            files.append((str(onnx), str(text)))
    verdicts = answers(files)
    assert len(verdicts) == len(labels)
    expected = {"robust": "unsat", "violated": "sat"}
    decided: Counter[str] = Counter()
    for (onnx_file, _), label, verdict in zip(files, labels, verdicts, strict=True):
        assert verdict in (expected[label], "TIMEOUT"), f"{onnx_file}: {label}, but {verdict}"
        decided[label] += verdict != "TIMEOUT"
    assert decided["robust"] >= 2
    assert decided["violated"] >= 2
