"""Measure one cell of a sweep: a network with one value of the knob, its twin, all verifiers."""

from __future__ import annotations

import importlib
import os
import resource
import signal
import time
import traceback
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from difficulty_sweeps import ASKED, SWEEPS
from margin_bounds import margin_bounds

from assay.errors import CannotCertify, Unsupported
from assay.judge.catalogue import verifier
from assay.question import vnnlib
from assay.question.network import Network, load
from assay.question.property import Specification
from assay.suite.verified import require_verified
from assay.truth.families import family
from assay.truth.instance import Instance

_OPPOSITE = {"robust": "violated", "violated": "robust"}
_SEEDS_TRIED = 5
_OUT_OF_TIME = (-signal.SIGXCPU, -signal.SIGKILL)


@dataclass(frozen=True)
class Cell:
    """A place in a family's sweeps, by the numbers of the sweep and of the value in it."""

    family: str
    sweep: int
    value: int
    seed: int
    limit_cpu_s: int


def measured(cell: Cell) -> list[dict[str, Any]]:
    """One row an instance; a seed that cannot be certified is replaced by another."""
    constructor, sweep = family(cell.family), SWEEPS[cell.family][cell.sweep]
    chosen = sweep.knobs(sweep.values[cell.value])
    knobs = constructor.knobs.model_validate(chosen)
    for seed in range(cell.seed, cell.seed + 100 * _SEEDS_TRIED, 100):
        try:
            made = constructor.make(knobs, seed)
        except CannotCertify:
            continue
        return [{"seed": seed, **_row(instance, cell.limit_cpu_s)} for instance in made]
    raise CannotCertify(f"{cell.family}: no seed of {_SEEDS_TRIED} gives {chosen}")


def _row(instance: Instance, limit_cpu_s: int) -> dict[str, Any]:
    answer = instance.truth.answer
    network = load(instance.onnx, instance.name)
    specification = vnnlib.read(instance.vnnlib.decode(), instance.name)
    begun = time.process_time()
    require_verified(instance)
    row: dict[str, Any] = {
        "answer": answer,
        "margin": _short(float(instance.truth.margin)),
        "check_cpu_s": round(time.process_time() - begun, 3),
    }
    if answer == "robust":
        (case,) = specification.cases
        bounds = margin_bounds(network, case)
        row["interval_bound"], row["linear_bound"] = map(_short, bounds)
    row["verdicts"] = {
        name: _verdict(name, network, specification, limit_cpu_s) for name in ASKED[answer]
    }
    wrong = [name for name, said in row["verdicts"].items() if said == _OPPOSITE[answer]]
    if wrong:
        raise AssertionError(f"{wrong} contradict the proof of {instance.truth.parameters}")
    return row


def _short(value: float) -> float:
    """Four digits are enough for a plot."""
    return float(f"{value:.4g}")


def _verdict(name: str, network: Network, question: Specification, limit_cpu_s: int) -> str:
    """What a built-in verifier says, as `assay run` would ask it, less the start of Python.

    It runs in a process of its own whose clock and limit are CPU seconds, so that other work on
    the machine takes nothing from it.
    """
    taken = verifier(name).operators
    if taken is not None and not network.operators <= taken:
        return "unsupported"
    tool = importlib.import_module(f"assay.judge.builtin.{name}")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (limit_cpu_s, limit_cpu_s))
            time.monotonic = time.process_time  # what the verifiers' own deadlines go by
            os.write(writing, _said(tool, network, question, limit_cpu_s).encode())
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    ending = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if ending in _OUT_OF_TIME:
        return "timeout"
    if ending != 0:
        raise RuntimeError(f"{name} ended with {ending} on a network of {network.inputs} inputs")
    return said


def _said(tool: ModuleType, network: Network, question: Specification, limit_s: int) -> str:
    try:
        return str(tool.answer(network, question, limit_s).verdict)
    except Unsupported:
        return "unsupported"
