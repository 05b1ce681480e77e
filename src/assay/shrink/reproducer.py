"""The folder that is handed on: a benchmark of one instance, and REPRODUCE.md."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from pathlib import Path

import numpy as np

from assay.question import vnnlib
from assay.question.convolution import ConvLayer
from assay.shrink.asking import Tool
from assay.shrink.proving import FAMILY, Proved
from assay.shrink.size import Size
from assay.shrink.steps import Elementwise, Matrix, Pool, Step
from assay.shrink.wrong_answer import WrongAnswer
from assay.suite.exchange.new_folder import new_folder
from assay.suite.journal import Plan, open_journal
from assay.suite.listing import document, row, versions
from assay.truth.record import Truth

REPRODUCE = "REPRODUCE.md"
_MOST_SHOWN = 100
"""Weights of a network that is written out."""


@dataclass(frozen=True)
class Confirmation:
    """What the tool got wrong, and how often it did so again about the shrunk question."""

    wrong: WrongAnswer
    tool: Tool
    times: int


@dataclass(frozen=True)
class Reproducer:
    best: Proved
    confirmation: Confirmation
    before: Size
    after: Size
    steps: Mapping[str, int]


def write_reproducer(target: Path, made: Reproducer, run: Path) -> None:
    """Write a new folder, whole or not at all."""
    wrong, instance = made.confirmation.wrong, made.best.instance
    asked = {
        "shrink": wrong.entry.name,
        "run": str(run.absolute()),
        "verifier": wrong.result.verifier,
        "onnx_sha256": wrong.truth.onnx_sha256,
        "vnnlib_sha256": wrong.truth.vnnlib_sha256,
    }
    plan = Plan(json.dumps(asked), 0, versions())
    with new_folder(target) as folder:
        with open_journal(folder, plan) as journal:
            journal.begin()
            record = journal.store(instance.name, FAMILY, 0, 0.0, [instance], ())
            rows = [row(one, wrong.timeout_s) for one in record.instances]
            journal.finish(rows, document(FAMILY, plan, [record], {}), complete=True)
        (folder / REPRODUCE).write_text(_text(made), encoding="utf-8")


def _text(made: Reproducer) -> str:
    return "\n".join(_lines(made)) + "\n"


def _lines(made: Reproducer) -> Iterator[str]:
    wrong, tool = made.confirmation.wrong, made.confirmation.tool
    name = tool.verifier.name
    yield f"# {name} is {wrong.outcome}"
    yield ""
    yield _sentence(name, tool.version, made.best.instance.truth, wrong)
    yield ""
    yield f"Shrunk from `{wrong.entry.name}`. {_confirmed(made.confirmation.times)}"
    yield ""
    yield "```console"
    yield "$ assay check ."
    yield f"$ assay run . {_option(made)} --timeout {wrong.timeout_s:g} -o run"
    yield "$ assay score run"
    yield "```"
    yield ""
    yield "| | before | after |"
    yield "|---|---|---|"
    for each in fields(Size):
        before, after = getattr(made.before, each.name), getattr(made.after, each.name)
        yield f"| {each.name.replace('_', ' ')} | {before:,} | {after:,} |"
    yield ""
    yield from _question(made.best)
    yield "## Versions"
    yield ""
    yield f"- {name} {tool.version}"
    yield from (f"- {package} {version}" for package, version in versions().items())
    yield ""
    yield "## Steps"
    yield ""
    yield from (f"- {step}: {count}" for step, count in made.steps.items())


def _confirmed(times: int) -> str:
    if times:
        return f"After the search the tool was asked {times} more times and was wrong each time."
    return "The answer was not confirmed after the search."


def _option(made: Reproducer) -> str:
    wrong = made.confirmation.wrong
    command = wrong.result.version.startswith("command ")
    return "--verifier-command ..." if command else f"-v {wrong.result.verifier}"


def _sentence(name: str, version: str, truth: Truth, wrong: WrongAnswer) -> str:
    told = f"`{name}` ({version}) says **{wrong.result.verdict}**"
    if wrong.outcome == "unsound":
        return (
            f"{told}, but the input below lies in the box and violates the property: its margin "
            f"is at most {_decimal(truth.margin)} in exact arithmetic."
        )
    if wrong.outcome == "bogus":
        return (
            f"{told}, but nothing in the box violates the property: its margin is at least "
            f"{_decimal(truth.margin)} everywhere, which `assay check` proves."
        )
    return f"{told}, which is right, but its witness shows no violation."


def _decimal(value: Fraction) -> str:
    return f"{float(value):.6g}"


def _question(best: Proved) -> Iterator[str]:
    """Box, property and weights in words, where they fit on a page."""
    draft, truth = best.draft, best.instance.truth
    weights = sum(array.size for array in draft.network.initializers.values())
    if draft.steps is None or weights + draft.network.inputs > _MOST_SHOWN:
        return
    yield "## The question"
    yield ""
    yield "```text"
    box = draft.case.box
    for i, (low, high) in enumerate(zip(box.lower, box.upper, strict=True)):
        at = f", witness {truth.witness[i]}" if truth.witness else ""
        yield f"X_{i} in [{vnnlib.decimal(low)}, {vnnlib.decimal(high)}]{at}"
    for step in draft.steps.items:
        yield from _described(step)
    lines = vnnlib.assertion_lines(box, draft.case.violation, "X_{}".format, "Y_{}".format)
    yield from [line for line in lines if "Y_" in line]
    yield "```"
    yield ""


def _described(step: Step) -> Iterator[str]:
    match step:
        case Matrix():
            yield "MatMul and Add" if step.added else "Gemm"
            for weights, offset in zip(step.weight.tolist(), step.offsets.tolist(), strict=True):
                yield f"  {weights} x + {offset}"
        case ConvLayer():
            yield f"Conv, strides {step.strides}, pads {step.pads}"
            yield f"  {np.asarray(step.kernel).tolist()} + {step.bias.tolist()}"
        case Pool():
            yield f"{step.operator} {asdict(step)}"
        case Elementwise():
            yield step.operator
        case _:
            yield "Flatten"
