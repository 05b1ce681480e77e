"""A trained network on disk: NAME.onnx, and NAME.json with its examples and how it was made."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import BadInput
from assay.truth.training.examples import GRID, Examples
from assay.truth.training.settings import Schedule, Setting

SHIPPED = Path(__file__).with_name("shipped")
Facts = dict[str, Any]
_SCHEMA = 1


@dataclass(frozen=True)
class Trained:
    """`kept`: the examples whose counterexample no attack found that was run on the network.

    `facts` names those attacks: the training's own last one, and after `assay train` the battery.
    """

    name: str
    onnx: bytes
    examples: Examples
    kept: tuple[int, ...]
    schedule: Schedule
    setting: Setting
    facts: Facts
    """Whatever was measured: epochs, seconds, counts, the machine."""

    def write(self, folder: Path) -> None:
        (folder / f"{self.name}.onnx").write_bytes(self.onnx)
        (folder / f"{self.name}.json").write_bytes(self.document())

    def document(self) -> bytes:
        """NAME.json."""

        def on_grid(values: np.ndarray) -> Any:
            return np.rint(values.astype(np.float64) / GRID).astype(int).tolist()

        document = {
            "schema": _SCHEMA,
            "schedule": asdict(self.schedule),
            "setting": asdict(self.setting),
            "kept": list(self.kept),
            "facts": self.facts,
            "grid": str(Fraction(GRID)),
            "epsilon": round(self.examples.epsilon / GRID),
            "labels": self.examples.labels.tolist(),
            "targets": self.examples.targets.tolist(),
            "centres": on_grid(self.examples.centres),
            "counterexamples": on_grid(self.examples.counterexamples),
        }
        return json.dumps(document).encode() + b"\n"


def shipped() -> list[str]:
    """The names of the networks that come with Assay."""
    return sorted(path.stem for path in SHIPPED.glob("*.onnx"))


def read_shipped(name: str) -> Trained:
    return read(SHIPPED / f"{name}.onnx")


def read(path: Path) -> Trained:
    """A network that `Trained.write` wrote, by the path of its ONNX file."""
    beside = path.with_suffix(".json")
    try:
        onnx = path.read_bytes()
        document = json.loads(beside.read_text(encoding="utf-8"))
        if document.pop("schema") != _SCHEMA:
            raise ValueError("another version")
        examples = Examples(
            document["epsilon"] * GRID,
            _from_grid(document["centres"]),
            np.array(document["labels"], np.int64),
            np.array(document["targets"], np.int64),
            _from_grid(document["counterexamples"]),
        )
        return Trained(
            path.stem,
            onnx,
            examples,
            tuple(document["kept"]),
            Schedule(**document["schedule"]),
            Setting(**document["setting"]),
            document["facts"],
        )
    except OSError as error:
        raise BadInput(
            f"{error.filename}: cannot be read ({error.strerror}); give NAME.onnx of a folder that "
            "assay train wrote, with NAME.json beside it"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput(
            f"{beside}: is no record of a trained network ({error}); train it again"
        ) from None


def _from_grid(values: list[list[int]]) -> np.ndarray:
    array = np.array(values)
    if array.dtype.kind != "i" or array.ndim != 2 or np.abs(array).max(initial=0) >= 1 << 24:
        raise ValueError("points are not lists of integers")
    return (array * GRID).astype(np.float32)
