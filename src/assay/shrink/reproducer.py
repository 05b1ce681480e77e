"""What came out of the search, and REPRODUCE.md about it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction

import numpy as np

from assay.question import vnnlib
from assay.question.convolution import ConvLayer
from assay.question.network import Network
from assay.shrink.asking import Tool
from assay.shrink.proving import Proved
from assay.shrink.size import Size
from assay.shrink.steps import Elementwise, Matrix, Pool, Step
from assay.shrink.wrong_answer import WrongAnswer
from assay.suite.listing import versions
from assay.truth.record import Truth

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


def text(made: Reproducer) -> str:
    """What REPRODUCE.md says."""
    return "\n".join(_lines(made)) + "\n"


def _lines(made: Reproducer) -> Iterator[str]:
    wrong, tool = made.confirmation.wrong, made.confirmation.tool
    name = tool.verifier.name
    yield f"# {name} is {wrong.outcome}"
    yield ""
    yield _sentence(name, tool.version, made.best.instance.truth, wrong)
    yield ""
    shrunk = "Shrunk from" if made.steps else "Nothing could be shrunk: this is still"
    yield f"{shrunk} `{wrong.entry.name}`. {_confirmed(made.confirmation.times)}"
    yield ""
    yield "```console"
    yield "$ assay check ."
    yield f"$ assay run . {_options(made)} -o ../{wrong.entry.name}-run"
    yield f"$ assay score ../{wrong.entry.name}-run"
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


def _options(made: Reproducer) -> str:
    wrong, tool = made.confirmation.wrong, made.confirmation.tool
    limits = ["--timeout", f"{wrong.timeout_s:g}", "--memory", f"{wrong.limits.memory_mb / 1024:g}"]
    if wrong.limits.cpu_s is not None:
        limits += ["--cpu-time", f"{wrong.limits.cpu_s:g}"]
    return shlex.join([*tool.options, *limits])


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
    if weights + draft.network.inputs > _MOST_SHOWN:
        return
    yield "## The question"
    yield ""
    yield "```text"
    box = draft.case.box
    for i, (low, high) in enumerate(zip(box.lower, box.upper, strict=True)):
        at = f", witness {truth.witness[i]}" if truth.witness else ""
        yield f"X_{i} in [{vnnlib.decimal(low)}, {vnnlib.decimal(high)}]{at}"
    if draft.steps is None:
        yield from _graph(draft.network)
    else:
        for step in draft.steps.items:
            yield from _described(step)
    lines = vnnlib.assertion_lines(box, draft.case.violation, "X_{}".format, "Y_{}".format)
    yield from [line for line in lines if "Y_" in line]
    yield "```"
    yield ""


def _graph(network: Network) -> Iterator[str]:
    """A network that branches, node by node."""
    for name, array in network.initializers.items():
        yield f"{name} = {array.tolist()}"
    for node in network.nodes:
        options = [f"{key}={value}" for key, value in node.attributes.items()]
        yield f"{', '.join(node.outputs)} = {node.op_type}({', '.join((*node.inputs, *options))})"


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
