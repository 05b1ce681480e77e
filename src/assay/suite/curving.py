"""Robustness curves over a data set: one decision an input, radius and eps, kept as they come.

A folder holds `decisions.jsonl`, which a stopped command goes on with, and at the end
`curve.csv` and `curve.json`.
"""

from __future__ import annotations

import csv
import io
import json
import math
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from assay import __version__
from assay.analyse.asked import Asked, around, asked_about
from assay.analyse.determinism import determinism_of
from assay.analyse.inputs import Inputs, refuse_labels
from assay.analyse.kept import LabelSet
from assay.analyse.model import Model
from assay.analyse.model_identity import identity_changes
from assay.analyse.promise import MOST_SAMPLES, Promise
from assay.analyse.randomness import stream_key
from assay.analyse.regions import Ball, Norm
from assay.analyse.resolution import precise_enough
from assay.analyse.rules import named, rule_for
from assay.analyse.weakened.curve import UNDECIDED, CurvePoint, InputDecision, curve_points
from assay.analyse.weakened.decide import decide_all
from assay.errors import BadInput
from assay.suite.line_journal import LineJournal, foreign, line_journal
from assay.suite.whole_file import write_whole
from assay.suite.workers import Watcher

DECISIONS, TABLE, DOCUMENT = "decisions.jsonl", "curve.csv", "curve.json"
CHOICES = ("correct", "misclassified", "all")


@dataclass(frozen=True)
class CurveSettings:
    """What is asked of every input of a data set."""

    radii: tuple[float, ...]
    promises: tuple[Promise, ...]
    norm: Norm
    valid: tuple[float, float] | None = None
    levels: int | None = None
    method: str = "confidence-sequence"
    points: str = "correct"
    most_inputs: int | None = None
    confidence: float = 0.95
    seed: int = 0
    budget: int = MOST_SAMPLES

    def __post_init__(self) -> None:
        named(self.method)
        if not self.radii or not self.promises:
            raise BadInput("a curve needs at least one radius and one eps; give them")
        if any(not (math.isfinite(r) and r > 0) for r in self.radii):
            raise BadInput("a radius is not above 0; give positive numbers")
        for name, values in (("radius", self.radii), ("eps", [p.eps for p in self.promises])):
            twice = [value for value, times in Counter(values).items() if times > 1]
            if twice:
                raise BadInput(
                    f"{name} {twice[0]:g} is given twice, and inputs would count twice with it; "
                    "give it once"
                )
        if self.points not in CHOICES:
            raise BadInput(f"points {self.points!r} is unknown; give one of {', '.join(CHOICES)}")
        if self.most_inputs is not None and self.most_inputs < 1:
            raise BadInput("a curve over no inputs says nothing; give at least 1")
        if self.budget < 1:
            raise BadInput(f"a budget of {self.budget} samples decides nothing; give at least 1")
        if not 0 < self.confidence < 1:
            raise BadInput(f"confidence {self.confidence:g} is not between 0 and 1; try 0.95")

    @property
    def document(self) -> dict[str, Any]:
        settings = {k: v for k, v in asdict(self).items() if k != "promises"}
        return json.loads(json.dumps({**settings, "promises": [asdict(p) for p in self.promises]}))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Curve:
    """All decisions and the curve; `already` were known from before."""

    head: dict[str, Any]
    decisions: tuple[InputDecision, ...]
    points: tuple[CurvePoint, ...]
    already: int
    seconds: float
    checks: dict[str, Any]
    """What was seen of the model before it was asked."""

    @property
    def promise_holds(self) -> bool:
        return named(self.head["method"]).holds


def chosen_inputs(model: Model, data: Inputs, settings: CurveSettings) -> tuple[Inputs, np.ndarray]:
    """The inputs that the curve is about, in order, and whether each is classified correctly."""
    flat = torch.from_numpy(data.points.reshape(len(data), -1))
    scores = model.scores(flat)
    predicted = scores.argmax(1).cpu().numpy()
    refuse_labels(data, scores.shape[1])
    correct = np.asarray(predicted == data.labels)
    wanted = {"correct": correct, "misclassified": ~correct, "all": np.ones_like(correct)}
    which = np.flatnonzero(wanted[settings.points])
    if not len(which):
        raise BadInput(
            f"none of the {len(data)} inputs is {settings.points} under {model.name}; give others, "
            "or check the preprocessing"
        )
    if settings.most_inputs is not None and settings.most_inputs < len(which):
        draw = np.random.default_rng(list(stream_key(settings.seed, "inputs of a curve")))
        which = np.sort(draw.choice(which, settings.most_inputs, replace=False))
    return data.chosen(which), correct[which]


def curve_over(
    model: Model,
    data: Inputs,
    settings: CurveSettings,
    folder: Path | None = None,
    watcher: Watcher | None = None,
) -> Curve:
    """Decide everything that is not known yet; with a folder, what is decided is kept in it."""
    begun = time.perf_counter()
    chosen, correct = chosen_inputs(model, data, settings)
    narrowest = _narrowest(model, chosen, settings)
    head = {
        "assay": __version__,
        "model": model.name,
        **model.identity,
        "preprocessing": model.preprocessing.document,
        "device": model.device.type,
        "inputs": "".join(f"{word:08x}" for word in stream_key(chosen.points, chosen.labels)),
        **settings.document,
    }
    head = json.loads(json.dumps(head))
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"{folder}: cannot be made ({error.strerror}); choose another") from None
        place = folder / DECISIONS
        context: Any = line_journal(place, f"{folder}: another command is at work in it; wait")
    else:
        context = nullcontext()
    with context as journal:
        known = {} if journal is None else _known(journal, head, place)
        decisions = _decided(model, chosen, correct, settings, journal, known, watcher or Watcher())
        holds = named(settings.method).holds
        points = curve_points(decisions, settings.promises, settings.confidence, holds=holds)
        seconds = time.perf_counter() - begun
        checks = {
            "numbers": narrowest.numbers,
            **determinism_of(narrowest).document,
            "warnings": list(narrowest.warnings),
        }
        curve = Curve(head, tuple(decisions), tuple(points), len(known), seconds, checks)
        if folder is not None:
            write_whole(folder / TABLE, _table(points).encode())
            write_whole(folder / DOCUMENT, json.dumps(document_of(curve), indent=1).encode())
    return curve


def _narrowest(model: Model, data: Inputs, settings: CurveSettings) -> Asked:
    """The first question that needs the finest numbers; what would stop the curve half-way is said
    before it begins."""
    found: Asked | None = None
    for name, point, label in zip(data.names, data.points, data.labels, strict=True):
        try:
            ball = Ball(
                point.reshape(-1),
                min(settings.radii),
                settings.norm,
                settings.valid,
                settings.levels,
            )
            if settings.levels is not None:
                ball.grid()
            precise = precise_enough(model, ball)
            if found is None or (precise.is_widened and not found.model.is_widened):
                found = asked_about(precise, LabelSet((int(label),)), ball)
        except BadInput as error:
            raise BadInput(f"{name}: {error}") from None
    assert found is not None
    return found


def document_of(curve: Curve) -> dict[str, Any]:
    points = [{**asdict(p), "share": p.share} for p in curve.points]
    return {
        **curve.head,
        "promise_holds": curve.promise_holds,
        **curve.checks,
        "seconds": round(curve.seconds, 3),
        "curve": points,
        "decisions": _with_intervals(curve),
    }


def _with_intervals(curve: Curve) -> list[dict[str, Any]]:
    """Every decision, with the interval of its failure rate."""
    found = []
    for promise in dict.fromkeys(point.promise for point in curve.points):
        mine = [d for d in curve.decisions if d.eps == promise.eps]
        sequence = rule_for(curve.head["method"], promise).sequence
        low, high = sequence.interval([d.samples for d in mine], [d.failures for d in mine])
        ends = zip(low.tolist(), high.tolist(), strict=True)
        found += [{**asdict(d), "interval": list(end)} for d, end in zip(mine, ends, strict=True)]
    return found


# The place of an input among those chosen (names and inputs may come twice), and a radius.
_Key = tuple[int, float]


def _known(
    journal: LineJournal, head: dict[str, Any], place: Path
) -> dict[_Key, list[InputDecision]]:
    if journal.head is None:
        journal.restart(head)
        return {}
    if "promises" not in journal.head:
        raise foreign(place, "assay weakened curve")
    if journal.head != head and not journal.lines:
        journal.restart(head)  # an attempt that decided nothing
        return {}
    if journal.head != head:
        raise BadInput(
            f"{place}: holds a curve {_difference(journal.head, head)}; choose another folder, or "
            "move this one away"
        )
    found: dict[_Key, list[InputDecision]] = {}
    for line in journal.lines:
        try:
            parts = [InputDecision(**part) for part in line["decisions"]]
            found[line["input"], parts[0].radius] = parts
        except (KeyError, TypeError, IndexError):
            continue
    return found


def _difference(before: dict[str, Any], now: dict[str, Any]) -> str:
    different = sorted(k for k in {*now, *before} if now.get(k) != before.get(k))
    changed = list(identity_changes(before, now))
    if "model" in different or not changed:
        return f"with another {', '.join(different)}"
    return f"of {now['model']} as it was before {' and '.join(changed)} changed"


def _decided(
    model: Model,
    data: Inputs,
    correct: np.ndarray,
    settings: CurveSettings,
    journal: LineJournal | None,
    known: dict[_Key, list[InputDecision]],
    watcher: Watcher,
) -> list[InputDecision]:
    rules = [rule_for(settings.method, promise) for promise in settings.promises]
    watcher.begin(len(data) * len(settings.radii), len(known))
    found: list[InputDecision] = []
    purposes = _purposes(data)
    for i, name in enumerate(data.names):
        label = int(data.labels[i])
        for radius in settings.radii:
            parts = known.get((i, radius))
            if parts is None:
                begun, title = time.perf_counter(), f"{name} at {radius:g}"
                watcher.started(title)
                asked = around(
                    model,
                    data.points[i],
                    (label,),
                    radius,
                    settings.norm,
                    valid=settings.valid,
                    levels=settings.levels,
                )
                said = decide_all(
                    asked,
                    rules,
                    seed=settings.seed,
                    purpose=purposes[i],
                    budget=settings.budget,
                )
                parts = [
                    InputDecision(
                        name,
                        label,
                        bool(correct[i]),
                        radius,
                        d.rule.promise.eps,
                        UNDECIDED if d.verdict is None else d.verdict.value,
                        d.samples,
                        d.failures,
                    )
                    for d in said
                ]
                if journal is not None:
                    journal.append({"input": i, "decisions": [asdict(part) for part in parts]})
                watcher.finished(title, time.perf_counter() - begun)
            found.extend(parts)
    return found


def _purposes(data: Inputs) -> list[str]:
    """What tells the random numbers of equal inputs apart: the bounds of a curve need decisions
    that are independent of each other, also where a data set holds an input twice."""
    seen: Counter[tuple[int, ...]] = Counter()
    found = []
    for point in data.points:
        key = stream_key(point)
        copy = seen[key]
        seen[key] += 1
        found.append(f"copy {copy}" if copy else "")
    return found


def _table(points: Sequence[CurvePoint]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["radius", "eps", "eps_inner", "inputs", "robust", "undecided", "share", "lower", "upper"]
    )
    for p in points:
        writer.writerow(
            [
                p.radius,
                p.promise.eps,
                p.promise.eps_inner,
                p.inputs,
                p.robust,
                p.undecided,
                f"{p.share:.6g}",
                f"{p.least_below_eps:.6g}",
                f"{p.most_below_inner:.6g}",
            ]
        )
    return out.getvalue()
