"""What the paper's release says about the same questions: profiles and outcomes of five verifiers.

The release (github.com/dtroxell19/VeriStressGT) reads a box as its midpoint and one radius, the
median of all half-widths. Images are cut off at black and white, so that is not the box that is
asked about. `with_median_boxes` writes those questions, to compare numbers about the same thing.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.question import vnnlib
from assay.question.region import Box
from assay.suite.exchange.listed_files import write_list
from assay.suite.folder import BenchmarkFolder

VERIFIERS = ("abcrown", "marabou", "neuralsat", "nnenum", "pyrat")
FIELDS = {
    "M_min": "margin_sample_min",
    "G_IBP": "ibp_relative_gap",
    "U": "unstable_frac",
    "A_tau": "A_tau_local_log",
    "d_eff": "effective_grad_dim_mean",
    "L_IBP": "ibp_margin_lb",
}
"""Our columns by the names of the release."""
_FOLDERS = {"mnist_fc": "vnncomp_mnist_fc", "oval21": "oval21"}
_RUNS = {"mnist_fc": "mnist", "oval21": "oval21"}
_OUTCOMES = {"UNSAT": "robust", "SAT": "violated", "TIMEOUT": "timeout", "UNKNOWN": "timeout"}


@dataclass(frozen=True)
class Published:
    """One question: its numbers by our names, and the outcome of each verifier."""

    instance: str
    values: Mapping[str, float]
    seconds: float
    outcomes: Mapping[str, str]


def published(release: Path, benchmark: str) -> list[Published]:
    """In the order of the benchmark's list; instances are named as `assay import` names them."""
    root = release / "src" / "VeriStressGT"
    folder = root / "benchmarks" / _FOLDERS[benchmark]
    names = {i["id"]: _name(i) for i in _read(folder / "manifest.json")["instances"]}
    outcomes: dict[str, dict[str, str]] = {name: {} for name in names}
    for verifier in VERIFIERS:
        results = root / "runs_standardized" / f"{verifier}_{_RUNS[benchmark]}" / "results.jsonl"
        for line in results.read_text().splitlines():
            result = json.loads(line)
            found = _OUTCOMES.get(result["status"], "left out")
            outcomes[result["instance_id"]][verifier] = found
    return [
        Published(
            instance=names[key := Path(profile["vnnlib_path"]).parent.name],
            values={ours: float(profile[theirs]) for ours, theirs in FIELDS.items()},
            seconds=float(profile["estimation_time_s"]),
            outcomes=outcomes[key],
        )
        for profile in _read(folder / "difficulty_profiles.json")["instances"]
    ]


def with_median_boxes(whole: BenchmarkFolder, target: Path) -> None:
    """The benchmark with every box as the release reads it."""
    for part in ("onnx", "vnnlib"):
        (target / part).mkdir(parents=True)
    for entry in whole.entries:
        (target / "onnx" / entry.onnx.name).write_bytes(entry.onnx.read_bytes())
        (case,) = vnnlib.read(entry.vnnlib.read_text(), str(entry.vnnlib)).cases
        sides = list(zip(case.box.lower, case.box.upper, strict=True))
        radius = statistics.median((high - low) / 2 for low, high in sides)
        box = Box.around([(low + high) / 2 for low, high in sides], radius)
        (target / "vnnlib" / entry.vnnlib.name).write_text(vnnlib.write(box, case.violation))
    rows = [(f"onnx/{e.onnx.name}", f"vnnlib/{e.vnnlib.name}", e.timeout) for e in whole.entries]
    write_list(target, rows)


def _name(listed: Mapping[str, Any]) -> str:
    """The name that the import gives: those of the network and of the question."""
    told = listed.get("vnncomp") or {
        "onnx_rel": listed["args"]["onnx_basename"],
        "vnnlib_rel": listed["args"]["vnnlib_basename"],
    }
    onnx, question = Path(told["onnx_rel"]).stem, Path(told["vnnlib_rel"]).name
    return f"{onnx}--{question.removesuffix('.vnnlib')}"


def _read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text())
    return document
