"""A few proven instances that are made in milliseconds, and results about them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from assay.judge.results import Result
from assay.question import vnnlib
from assay.question.network import Network, load
from assay.question.property import Specification
from assay.truth.families import family
from assay.truth.instance import Instance
from assay.truth.record import Truth

_SETTINGS = {
    "meap": ("meap", {"inputs": 3, "classes": 2, "pairs": 2, "gamma": 1.0}),
    "corners": (
        "corners",
        {"inputs": 6, "classes": 3, "hinges": 8, "active": 3, "hinge_l1": 1e6},
    ),
    "edge": ("corners", {"inputs": 6, "classes": 3, "hinges": 8, "active": 3, "gamma": 1e-9}),
}


@cache
def instance(setting: str, answer: str, seed: int = 0) -> Instance:
    """One instance of a family, named after setting, seed and answer; `edge` has guard real."""
    name, knobs = _SETTINGS[setting]
    constructor = family(name)
    made = constructor.make(constructor.knobs.model_validate(knobs), seed)
    found = next(i for i in made if i.truth.answer == answer)
    return found.renamed(f"{setting}-{seed}-{answer}", None)


def question(made: Instance) -> tuple[Network, Specification]:
    return load(made.onnx, made.name), vnnlib.read(made.vnnlib.decode(), made.name)


@cache
def truths(seeds: int = 3) -> dict[str, Truth]:
    """Both answers of all settings."""
    made = [
        instance(setting, answer, seed)
        for setting in _SETTINGS
        for seed in range(seeds)
        for answer in ("robust", "violated")
    ]
    return {i.name: i.truth for i in made}


def result(name: str, verdict: str | None = None, **changes: Any) -> Result:
    """A result about a known instance (or an unknown one); plain unless changed."""
    truth = truths().get(name)
    values: dict[str, Any] = {
        "instance": name,
        "verifier": "tool",
        "version": "1",
        "verdict": verdict,
        "ending": "answered",
        "wall_s": 1.0,
        "cpu_s": 1.0,
        "memory_mb": 10.0,
        "repeat": 0,
        "onnx_sha256": truth.onnx_sha256 if truth else "",
        "vnnlib_sha256": truth.vnnlib_sha256 if truth else "",
    }
    return Result(**(values | changes))


def write_folder(path: Path, made: list[Instance]) -> Path:
    """A benchmark folder with these instances, 30 seconds each."""
    for part in ("onnx", "vnnlib", "truth"):
        (path / part).mkdir(parents=True)
    for item in made:
        (path / "onnx" / f"{item.name}.onnx").write_bytes(item.onnx)
        (path / "vnnlib" / f"{item.name}.vnnlib").write_bytes(item.vnnlib)
        (path / "truth" / f"{item.name}.json").write_text(item.truth.to_json())
    rows = [f"onnx/{i.name}.onnx,vnnlib/{i.name}.vnnlib,30\n" for i in made]
    (path / "instances.csv").write_text("".join(rows))
    return path
