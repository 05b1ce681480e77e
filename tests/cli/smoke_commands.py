"""One short line for every command, and a folder in which all of them have something to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
from typer.main import get_command

from assay.cli.main import app
from assay.question.graph import mlp

Assay = Callable[..., "CompletedProcess[str]"]
MISSING = "which is not installed; get it with: pip install 'assay-robustness["
"""What a command says that needs an optional package."""
_LIAR = "liar=sh -c 'echo unsat > {result}' {onnx} {vnnlib}"
_NAME = "meap-00-000-robust"
_WRONG = "meap-00-000-violated"
_TWO = """name: t
timeout: 20
families:
  - {family: meap, fixed: {pairs: 2, inputs: 3, classes: 2, gamma: 1.0}}
"""
_RATE = """name: known
timeout: 20
families:
  - family: planted
    fixed: {kind: soft_box, inputs: 2, width: 0.3, neurons: 2, dilution: 0}
"""
_BALL = ("net.onnx", "x.npy", "--radius", "0.01")
_TRAIN = ("--examples", "2", "--window", "20", "--device", "cpu", "--restarts", "1", "--steps", "2")

COMMANDS: dict[str, tuple[str, ...]] = {
    "audit": ("milp", "--suite", "t.yaml", "--timeout", "20", "-o", "audited"),
    "build": ("t.yaml", "-o", "built", "--jobs", "1"),
    "check": ("bench",),
    "certify": ("net.onnx", "--centre", "point.txt", "-o", "certified"),
    "import": ("bench", "-o", "imported"),
    "export": ("bench", "--with-truth", "-o", "exported"),
    "seal": ("bench", "--allow-telltales", "-o", "sealed"),
    "unseal": ("sealed/questions", "--truths", "sealed/truths.tar", "-o", "opened"),
    "families": (),
    "suites": (),
    "verifiers": (),
    "verifiers install": ("milp",),
    "verifiers remove": ("milp",),
    "verifiers check": ("no-such-tool",),
    "run": ("bench", "-v", "milp", "-o", "run"),
    "score": ("run",),
    "report": ("run", "-o", "report.html"),
    "explain": ("bench", "--run", "run", "--resamples", "100"),
    "profile": ("bench", "--samples", "100"),
    "attack": ("bench", "--attacks", "random"),
    "power": ("bench", "--mutants", "full-queue", "--no-floors", "-o", "power.jsonl"),
    "shrink": ("lied", _WRONG, "--verifier-command", _LIAR, "--budget", "3"),
    "count": (f"bench/onnx/{_NAME}.onnx", f"bench/vnnlib/{_NAME}.vnnlib", "--time", "2"),
    "splitting": (*_BALL, "--particles", "50", "--repeats", "2"),
    "roma": (*_BALL, "--samples", "200"),
    "weakened decide": (*_BALL, "--eps", "0.1"),
    "weakened radius": (*_BALL, "--eps", "0.1"),
    "weakened curve": (
        *("net.onnx", "data.npz", "--points", "all", "--radii", "0.01", "--eps", "0.1"),
        *("-o", "curve"),
    ),
    "calibrate": (
        *("known", "-o", "calibrated", "--repeats", "20", "--samples-budget", "20000"),
        *("--analyser", "decide-sprt", "--jobs", "1"),
    ),
    "train": ("tiny_mlp", *_TRAIN, "--epochs", "2", "-o", "trained"),
}
REFUSED = {
    "verifiers install": "has no environment of its own to install",
    "verifiers remove": "has no environment in",
    "verifiers check": "there is no verifier 'no-such-tool'",
}
"""Commands whose line is bad input: what they would do takes minutes, or the network."""
NEEDS_TORCH = frozenset(
    {
        *("profile", "attack", "power", "shrink", "count", "splitting", "roma", "calibrate"),
        *("weakened decide", "weakened radius", "weakened curve", "train"),
    }
)


def all_commands() -> set[str]:
    """Every command of the program, as it is typed."""
    return {" ".join(path) for path in _leaves(get_command(app), ())}


def _leaves(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    inner = getattr(command, "commands", None)
    for name, each in (inner or {}).items():
        yield from _leaves(each, (*path, name))
    if inner is None or (path and command.invoke_without_command):
        yield path


def prepare(place: Path, assay: Assay) -> None:
    """Write what the lines refer to; commands that make it need no optional package."""
    place.mkdir(parents=True)
    (place / "t.yaml").write_text(_TWO)
    (place / "known.yaml").write_text(_RATE)
    (place / "point.txt").write_text("0.125 0.25 -0.25\n")
    (place / "net.onnx").write_bytes(mlp(_layers(3, 6, 5, 3)))
    np.save(place / "x.npy", np.array([0.125, 0.25, -0.25], np.float32))
    np.savez(place / "data.npz", inputs=np.zeros((2, 3), np.float32), labels=np.zeros(2, int))
    for words in (
        ("build", "t.yaml", "-o", "bench", "--jobs", "1"),
        ("build", "known.yaml", "-o", "known", "--jobs", "1"),
        ("run", "bench", "--verifier-command", _LIAR, "-o", "lied"),
    ):
        done = assay(*words, cwd=place)
        assert done.returncode == 0, done.stderr
    rows = [f"{name},ok,1,1,1,1,1\n" for name in (_NAME, _WRONG)]
    table = "instance,status,M_min,G_IBP,U,A_tau,d_eff\n" + "".join(rows)
    (place / "bench" / "profile.csv").write_text(table)


def _layers(*sizes: int) -> list[tuple[np.ndarray, np.ndarray]]:
    draw = np.random.default_rng(1)
    shapes = [((outputs, inputs), outputs) for inputs, outputs in pairwise(sizes)]
    return [
        tuple((np.round(draw.normal(size=shape) * 64) / 64).astype(np.float32) for shape in pair)
        for pair in shapes
    ]


def problem(name: str, done: CompletedProcess[str]) -> str:
    """What is wrong with how a command ended; empty where nothing is."""
    said = done.stderr.strip().splitlines()[-1:] or [""]
    told = f"{name}: exit {done.returncode}: {said[0]}"
    if name in REFUSED:
        return "" if done.returncode == 2 and REFUSED[name] in done.stderr else told
    if done.returncode in (0, 1):
        return "" if "Traceback" not in done.stderr else told
    return "" if done.returncode == 2 and MISSING in said[0] else told
