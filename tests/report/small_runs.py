"""A small benchmark with hand-made truths that hold, and runs of tools that never ran."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from assay.judge.results import Result
from assay.judge.run_folder import benchmark_sha256
from assay.question.graph import mlp
from assay.suite.folder import BenchmarkFolder
from assay.truth.instance import sha256
from assay.truth.record import Answer, Guard, Truth

_DEAD = (np.ones((1, 1), np.float32), np.full(1, -2, np.float32))
_SCORES = (np.zeros((2, 1), np.float32), np.array([1, 0], np.float32))
ONNX = mlp([_DEAD, _SCORES])
"""On [0, 1] its outputs are 1 and 0."""
_DECLARED = "".join(f"(declare-const {name} Real)\n" for name in ("X_0", "Y_0", "Y_1"))
_BOX = "(assert (>= X_0 0))\n(assert (<= X_0 1))\n"
VNNLIB: dict[Answer, bytes] = {
    "robust": f"{_DECLARED}{_BOX}(assert (<= Y_0 Y_1))\n".encode(),
    "violated": f"{_DECLARED}{_BOX}(assert (<= Y_1 Y_0))\n".encode(),
}


def truth(answer: Answer, guard: Guard = "float32", family: str = "meap") -> Truth:
    margin = Fraction(1, 3) if answer == "robust" else Fraction(-1, 7)
    kind = {"kind": "witness" if answer == "violated" else "constant_box"}
    witness = ("0.25",) if answer == "violated" else None
    digests = (sha256(ONNX), sha256(VNNLIB[answer]))
    return Truth(answer, margin, guard, family, {"width": 3}, 7, None, *digests, kind, witness)


def benchmark(path: Path, truths: dict[str, Truth | None]) -> Path:
    for part in ("onnx", "vnnlib", "truth"):
        (path / part).mkdir(parents=True)
    for name, known in truths.items():
        (path / f"onnx/{name}.onnx").write_bytes(ONNX)
        asked = known.answer if known else "robust"
        (path / f"vnnlib/{name}.vnnlib").write_bytes(VNNLIB[asked])
        if known:
            (path / f"truth/{name}.json").write_text(known.to_json())
    rows = [f"onnx/{name}.onnx,vnnlib/{name}.vnnlib,30\n" for name in truths]
    (path / "instances.csv").write_text("".join(rows))
    return path


def result(instance: str, verdict: str | None, verifier: str = "tool", **changes: Any) -> Result:
    values = {
        "version": "1.0",
        "ending": "answered",
        "wall_s": 1.5,
        "cpu_s": 1.0,
        "memory_mb": 20.0,
        "repeat": 0,
        "onnx_sha256": sha256(ONNX),
        "vnnlib_sha256": "",
        "command": (f"/opt/{verifier}", instance),
        "log": f"logs/{verifier}/{instance}.{changes.get('repeat', 0)}.log",
    }
    return Result(instance=instance, verifier=verifier, verdict=verdict, **(values | changes))  # type: ignore[arg-type]


def run(path: Path, bench: Path, results: Iterable[Result], log: str = "") -> Path:
    """What these results would have left behind; they are about the files of the benchmark."""
    path.mkdir()
    folder = BenchmarkFolder.open(bench)
    questions = {entry.name: sha256(entry.vnnlib.read_bytes()) for entry in folder.entries}
    digest = benchmark_sha256(folder)
    plan = {"benchmark": str(bench), "benchmark_sha256": digest, "timeout_s": 20}
    verifiers: dict[str, str] = {}
    with (path / "results.jsonl").open("w") as stream:
        for item in results:
            asked = questions.get(item.instance, "")
            stream.write(replace(item, vnnlib_sha256=asked).to_line())
            verifiers[item.verifier] = item.version
            if log:
                (path / item.log).parent.mkdir(parents=True, exist_ok=True)
                (path / item.log).write_text(log)
    record = plan | {"memory_mb": 2048.0, "verifiers": verifiers}
    (path / "run.json").write_text(json.dumps(record))
    return path


def answers(verifier: str, wrong: bool) -> Iterator[Result]:
    yield result("a-robust", "robust", verifier)
    if wrong:
        yield result("a-violated", "robust", verifier)
    else:
        yield result("a-violated", "violated", verifier, witness=("0.5",), witness_class="exact")
    yield result("b-robust", None, verifier, ending="timeout", wall_s=20.0, detail="met the limit")
    yield result("edge-violated", "robust", verifier)
    yield result("foreign", "robust", verifier)
