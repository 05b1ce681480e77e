"""Small benchmark folders, ours and as others lay them out."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

from assay.suite.exchange.listed_files import write_list
from assay.suite.folder import BenchmarkFolder
from assay.truth.families import family
from assay.truth.instance import Instance

_KNOBS = {
    "meap": {"inputs": 3, "classes": 2, "pairs": 2, "gamma": 1.0},
    "corners": {"inputs": 6, "classes": 3, "hinges": 8, "active": 3, "hinge_l1": 1e6},
    "exact_radius": {"inputs": 4, "hidden": [6], "classes": 3, "fractions": [0.9]},
}


@cache
def instances(*families: str) -> tuple[Instance, ...]:
    """Both answers of each family, named as the builder names them."""
    found = []
    for name in families:
        constructor = family(name)
        for made in constructor.make(constructor.knobs.model_validate(_KNOBS[name]), 3):
            stem = f"{name}-00-000"
            found.append(made.renamed(f"{stem}-{made.name}", f"{stem}-{made.truth.twin}"))
    return tuple(found)


def our_folder(path: Path, *families: str, timeout: float = 30) -> BenchmarkFolder:
    """A benchmark folder with truths."""
    for part in ("onnx", "vnnlib", "truth"):
        (path / part).mkdir(parents=True)
    made = instances(*(families or ("meap", "corners")))
    for item in made:
        (path / "onnx" / f"{item.name}.onnx").write_bytes(item.onnx)
        (path / "vnnlib" / f"{item.name}.vnnlib").write_bytes(item.vnnlib)
        (path / "truth" / f"{item.name}.json").write_text(item.truth.to_json())
        if item.arrays is not None:
            (path / "truth" / f"{item.name}.bin").write_bytes(item.arrays)
    write_list(path, [(f"onnx/{i.name}.onnx", f"vnnlib/{i.name}.vnnlib", timeout) for i in made])
    return BenchmarkFolder.open(path)


def their_folder(path: Path, files: dict[str, bytes], rows: str) -> Path:
    """A folder as VNN-COMP has it; files whose names end in .gz are packed."""
    for name, data in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    path.mkdir(parents=True, exist_ok=True)
    (path / "instances.csv").write_text(rows)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def beside(folder: Path) -> list[str]:
    """What lies in the folder, hidden leftovers included."""
    return sorted(path.name for path in folder.iterdir())
