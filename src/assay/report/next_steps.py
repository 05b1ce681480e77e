"""What to do about a wrong answer: see it again, see why it is wrong, make it small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from pathlib import Path

from assay.errors import BadInput, Unsupported
from assay.judge.outcome import Outcome
from assay.judge.results import Result
from assay.judge.witness import parsed_witness
from assay.judge.witness_classes import ESTABLISHING
from assay.question.balls import Bounds
from assay.question.network import load
from assay.question.point_evaluation import PointEvaluation
from assay.report.commands_to_copy import (
    KnownTool,
    known_tool,
    remark,
    reproduce_command,
    shrink_command,
)
from assay.report.material import Material, Task
from assay.suite.folder import FolderEntry
from assay.suite.proved_truths import entry_truth

WRONG: tuple[Outcome, ...] = ("unsound", "contradicted", "bogus", "unwitnessed")
_SHRINKABLE: tuple[Outcome, ...] = ("unsound", "bogus", "unwitnessed")
_LARGEST_NETWORK = 2_000_000
_MOST_WORK = 4_000_000
"""Bytes of networks that are evaluated exactly for one page; a megabyte takes seconds."""
_MOST_OUTPUTS = 20
_LONGEST_EXACT = 40
_DIGITS = Context(prec=60)


@dataclass(frozen=True)
class Outputs:
    """The network at one point: output by output over the real numbers, and in ONNX Runtime."""

    where: str
    rows: tuple[tuple[str, str, str], ...]
    left_out: int


@dataclass(frozen=True)
class NextSteps:
    """Commands to copy, and the network's outputs; `outputs` is None where it cannot be had."""

    reproduce: str
    shrink: str
    remark: str
    outputs: Outputs | None

    def document(self) -> dict[str, object]:
        found: dict[str, object] = {"reproduce": self.reproduce, "shrink": self.shrink}
        if self.remark:
            found["remark"] = self.remark
        if self.outputs is not None:
            found["where"], found["outputs"] = self.outputs.where, self.outputs.rows
            found["leftOut"] = self.outputs.left_out
        return found


def next_steps(material: Material) -> dict[tuple[str, str], NextSteps]:
    """By verifier and instance, for every wrong answer, the worst first."""
    wrong = sorted(
        (task for task in material.tasks if task.settled.outcome in WRONG),
        key=lambda task: WRONG.index(task.settled.outcome),
    )
    left = _MOST_WORK
    found = {}
    for task in wrong:
        entry = material.entries.get(task.settled.instance)
        if entry is None:
            continue
        result = task.full()
        outputs = None
        size = _size(entry.onnx)
        if size <= min(left, _LARGEST_NETWORK):
            left -= size
            outputs = _outputs(material, task, entry, result)
        plan = material.plans[material.runs.index(task.source.run)]
        before = Path(str(plan.get("benchmark", "")))
        tool = known_tool(plan, result.verifier)
        found[task.key] = NextSteps(
            reproduce=reproduce_command(result.command, entry, before, material.folder.path),
            shrink=_shrink_command(material, task, tool, before),
            remark=remark(result.verifier, tool),
            outputs=outputs,
        )
    return found


def _shrink_command(material: Material, task: Task, tool: KnownTool, before: Path) -> str:
    if task.settled.outcome not in _SHRINKABLE or task.settled.instance not in material.truths:
        return ""
    folder = material.folder.path
    moved = folder if before.resolve() != folder.resolve() else None
    name = task.settled.result.verifier
    return shrink_command(task.source.run, task.settled.instance, name, moved, tool)


def _outputs(material: Material, task: Task, entry: FolderEntry, result: Result) -> Outputs | None:
    witness, where = _point(material, task, entry, result)
    if not witness:
        return None
    try:
        network = load(entry.onnx.read_bytes(), str(entry.onnx))
        point = parsed_witness(witness, network.inputs)
        if point is None:
            return None
        evaluation = PointEvaluation(network, point)
        real, float32 = evaluation.outputs(), evaluation.float32_outputs
    except (BadInput, Unsupported, OSError):
        return None
    count = network.outputs
    rows = tuple(
        (
            f"Y_{n}",
            "not computed" if real is None else _interval_text(real[n]),
            "not computed" if float32 is None else f"{float(float32[n]):.9g}",
        )
        for n in range(min(count, _MOST_OUTPUTS))
    )
    return Outputs(where, rows, max(0, count - _MOST_OUTPUTS))


def _point(
    material: Material, task: Task, entry: FolderEntry, result: Result
) -> tuple[Sequence[str] | None, str]:
    """The point that shows who is right, and what it is."""
    outcome = task.settled.outcome
    if outcome == "unsound" and entry.truth is not None:
        truth = entry_truth(entry)
        margin = _exact_text(truth.margin)
        return truth.witness, (
            f"at the exact counterexample (margin at most {margin}: zero or below is a violation)"
        )
    if outcome == "contradicted":
        for other in material.tasks:
            answer = other.settled.result
            if answer.instance == task.settled.instance and answer.witness_class in ESTABLISHING:
                return other.full().witness, f"at the counterexample of {other.settled.verifier}"
        return None, ""
    return result.witness, "at the point that it calls a counterexample"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return _LARGEST_NETWORK + 1


def _interval_text(bounds: Bounds) -> str:
    low, high = bounds
    if low == high:
        return _exact_text(low)
    return f"{float(low):.9g} to {float(high):.9g}" if float(low) != float(high) else _about(low)


def _exact_text(value: Fraction) -> str:
    """All digits where they are few; otherwise rounded, and marked so."""
    context = _DIGITS.copy()
    context.traps[Inexact] = False
    text = format(context.divide(Decimal(value.numerator), Decimal(value.denominator)), "f")
    if context.flags[Inexact] or len(text) > _LONGEST_EXACT:
        return _about(value)
    return text


def _about(value: Fraction) -> str:
    try:
        return f"≈{float(value):.17g}"
    except OverflowError:
        return "beyond 1e308"
