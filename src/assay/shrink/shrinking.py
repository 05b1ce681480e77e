"""From a wrong answer in a run to a folder that reproduces it."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from assay.errors import BadInput
from assay.shrink.asking import Answered, Asker, Tool, open_asker
from assay.shrink.draft import Draft
from assay.shrink.passes import PASSES
from assay.shrink.proving import Proved, Prover
from assay.shrink.reproducer import Confirmation, Reproducer
from assay.shrink.search import Budget, BudgetSpent, Search, ShrinkWatcher, aimed
from assay.shrink.size import Size, size
from assay.shrink.target import open_target
from assay.shrink.wrong_answer import (
    BroughtTools,
    WrongAnswer,
    called_with,
    find_tool,
    find_wrong_answer,
)
from assay.truth.instance import Instance

SHRUNK = "shrunk"
_PATIENCE, _LEAST_S = 3.0, 5.0
"""A candidate is given up after so many times what the wrong answer took, and not before this."""
_CONFIRMATIONS = 2
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class Request:
    """What is asked; `verifier` may be left out where only one is wrong."""

    run: Path
    instance: str
    verifier: str | None = None
    benchmark: Path | None = None
    brought: BroughtTools = field(default_factory=BroughtTools)
    output: Path | None = None
    jobs: int = 1
    budget: Budget = field(default_factory=Budget)


@dataclass(frozen=True)
class Shrunk:
    """What came out, and why it ended: `fixpoint`, `budget`, `calls` or `stopped`.

    `written` is False where the folder already holds a question that is as small or smaller.
    """

    folder: Path
    instance: str
    verifier: str
    version: str
    outcome: str
    ended: str
    before: Size
    after: Size
    steps: Mapping[str, int]
    calls: int
    seconds: float
    confirmed: int
    written: bool


def shrink(request: Request, watcher: ShrinkWatcher | None = None) -> Shrunk:
    """Make the reproducer; Ctrl-C ends the search and keeps the best so far."""
    begun = time.monotonic()
    wrong = find_wrong_answer(request.run, request.instance, request.verifier, request.benchmark)
    name, version = wrong.result.verifier, wrong.result.version
    verifier = find_tool(name, version, request.brought)
    label = _NOT_IN_NAMES.sub("-", f"{request.instance}-{name}")
    output = request.output or request.run / SHRUNK / label
    target = open_target(output, request.run, wrong)
    patient = min(wrong.limits.wall_s, max(_LEAST_S, _PATIENCE * wrong.result.wall_s))
    tool = Tool(
        verifier,
        version,
        wrong.timeout_s,
        replace(wrong.limits, wall_s=patient),
        called_with(name, request.brought),
    )
    answers = request.run / SHRUNK / f"{label}.answers.jsonl"
    with open_asker(tool, wrong.truth.answer, request.jobs, answers) as asker:
        original = _original(wrong)
        again = asker.asked([original], afresh=True, limits=wrong.limits)[0]
        if again.outcome != wrong.outcome:
            raise BadInput(
                f"{name} is {wrong.outcome} about {request.instance} in the run, but "
                f"{again.outcome} when it is asked again: an answer that comes and goes cannot "
                "be shrunk"
            )
        search = _search(wrong, original, again, asker, request.budget, watcher)
        best, ended, confirmed = _searched(search, wrong)
        before, after = size(search.trail[0].draft), size(best.draft)
        confirmation = Confirmation(wrong, tool, confirmed)
        steps = search.taken
        written = target.write(Reproducer(best, confirmation, before, after, steps))
        return Shrunk(
            folder=output,
            instance=request.instance,
            verifier=name,
            version=version,
            outcome=wrong.outcome,
            ended=ended,
            before=before,
            after=after,
            steps=steps,
            calls=asker.calls,
            seconds=round(time.monotonic() - begun, 1),
            confirmed=confirmed,
            written=written,
        )


def _original(wrong: WrongAnswer) -> Instance:
    entry = wrong.entry
    assert entry.truth is not None
    beside = entry.truth.with_suffix(".bin")
    arrays = beside.read_bytes() if beside.exists() else None
    onnx, vnnlib = entry.onnx.read_bytes(), entry.vnnlib.read_bytes()
    # Its twin does not come along.
    return Instance(entry.name, onnx, vnnlib, replace(wrong.truth, twin=None), arrays)


def _search(
    wrong: WrongAnswer,
    original: Instance,
    again: Answered,
    asker: Asker,
    budget: Budget,
    watcher: ShrinkWatcher | None,
) -> Search:
    truth = wrong.truth
    prover = Prover(
        name=wrong.entry.name,
        answer=truth.answer,
        guard=truth.guard,
        kind=str(truth.certificate["kind"]),
        parameters={
            "instance": wrong.entry.name,
            "family": truth.family,
            "verifier": wrong.result.verifier,
            "outcome": wrong.outcome,
        },
    )
    draft = Draft(original.onnx, original.vnnlib, ())
    if truth.witness is not None:
        point = tuple(Fraction(text) for text in truth.witness)
        draft = replace(draft, point=point)
    else:
        box = draft.case.box
        middle = tuple((a + b) / 2 for a, b in zip(box.lower, box.upper, strict=True))
        draft = aimed(replace(draft, point=middle), again.witness)
    first = Proved(draft, original)
    return Search(prover, wrong.outcome, asker, budget, watcher or ShrinkWatcher(), [first])


def _searched(search: Search, wrong: WrongAnswer) -> tuple[Proved, str, int]:
    """Run the search, then ask about the best draft again; one that does not hold is undone.

    The best, why it ended, and how often it was confirmed.
    """
    try:
        try:
            search.run(PASSES)
            ended = "fixpoint"
        except BudgetSpent as spent:
            ended = spent.limit
        while True:
            twice = [search.best.instance] * _CONFIRMATIONS
            answers = search.asker.asked(twice, afresh=True, limits=wrong.limits)
            held = all(answered.outcome == wrong.outcome for answered in answers)
            if held or len(search.trail) == 1:
                best = search.prover.shorter_witness(search.best)
                return best, ended, _CONFIRMATIONS if held else 0
            search.undo()
    except KeyboardInterrupt:
        return search.best, "stopped", 0
