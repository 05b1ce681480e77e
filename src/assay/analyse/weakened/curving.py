"""Robustness curves over a data set: one decision an input, radius and eps, kept as they come.

A folder holds `decisions.jsonl`, which a stopped command goes on with, and at the end
`curve.csv` and `curve.json`.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from assay import __version__
from assay.analyse.asked import Asked, asked_about
from assay.analyse.determinism import determinism_of
from assay.analyse.inputs import Inputs, refuse_labels
from assay.analyse.kept import LabelSet
from assay.analyse.model import Model
from assay.analyse.model_identity import identity_changes
from assay.analyse.randomness import stream_key
from assay.analyse.regions import Ball
from assay.analyse.resolution import precise_enough
from assay.analyse.rules import named, rule_for
from assay.analyse.weakened.curve import CurvePoint, InputDecision, curve_points
from assay.analyse.weakened.curve_row import READS, CurveItem, decide_item, decided_about
from assay.analyse.weakened.curve_settings import CurveSettings
from assay.engine.processes import Jobs, outcomes_of
from assay.engine.work import Outcome, Watcher, Work
from assay.errors import BadInput
from assay.store.line_file import Line
from assay.store.row_journal import RowJournal, row_journal
from assay.store.whole_file import made_folder, write_whole

DECISIONS, TABLE, DOCUMENT = "decisions.jsonl", "curve.csv", "curve.json"


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
    jobs: Jobs = 1,
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
    with nullcontext() if folder is None else _held(folder) as journal:
        known = {} if journal is None else _known(journal, head)
        already, heard = len(known), watcher or Watcher()
        decisions = _decided(model, chosen, correct, settings, journal, known, heard, jobs)
        holds = named(settings.method).holds
        points = curve_points(decisions, settings.promises, settings.confidence, holds=holds)
        seconds = time.perf_counter() - begun
        checks = {
            "numbers": narrowest.numbers,
            **determinism_of(narrowest).document,
            "warnings": list(narrowest.warnings),
        }
        curve = Curve(head, tuple(decisions), tuple(points), already, seconds, checks)
        if folder is not None:
            write_whole(folder / TABLE, _table(points).encode())
            write_whole(folder / DOCUMENT, json.dumps(document_of(curve), indent=1).encode())
    return curve


def _held(folder: Path) -> AbstractContextManager[RowJournal]:
    busy = f"{folder}: another command is at work in it; wait"
    return row_journal(made_folder(folder) / DECISIONS, busy)


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


def _known(journal: RowJournal, head: dict[str, Any]) -> dict[_Key, list[InputDecision]]:
    def other(before: Line) -> str:
        return f"a curve {_difference(before, head)}; choose another folder, or move this one away"

    journal.resume(head, mark="promises", command="assay weakened curve", other=other)
    found: dict[_Key, list[InputDecision]] = {}
    for line in journal.rows():
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
    journal: RowJournal | None,
    known: dict[_Key, list[InputDecision]],
    watcher: Watcher,
    jobs: Jobs,
) -> list[InputDecision]:
    watcher.begin(len(data) * len(settings.radii), len(known))
    purposes = _purposes(data)
    items = [
        CurveItem(
            model.source,
            i,
            name,
            data.points[i],
            int(data.labels[i]),
            bool(correct[i]),
            radius,
            purposes[i],
            settings,
        )
        for i, name in enumerate(data.names)
        for radius in settings.radii
        if (i, radius) not in known
    ]
    with closing(_outcomes(model, items, watcher, jobs)) as outcomes:
        for outcome in outcomes:
            item, parts = outcome.item, outcome.required(outcome.item.title)
            if journal is not None:
                row = {"input": item.number, "decisions": [asdict(part) for part in parts]}
                journal.append(row)
            known[item.number, item.radius] = parts
            watcher.finished(item.title, outcome.seconds)
    order = ((i, radius) for i in range(len(data)) for radius in settings.radii)
    return [part for key in order for part in known[key]]


def _outcomes(
    model: Model, items: Sequence[CurveItem], watcher: Watcher, jobs: Jobs
) -> Generator[Outcome[CurveItem, list[InputDecision]], None, None]:
    """Where the model can be opened again, and is not on a GPU, in other processes."""
    if jobs != 1 and model.source is not None and model.device.type == "cpu":
        work: Work[CurveItem, list[InputDecision]] = Work(
            decide_item, READS, lambda item: item.source.files if item.source else ()
        )
        yield from outcomes_of(work, items, jobs, watcher, lambda item: item.title)
        return
    for item in items:
        begun = time.perf_counter()
        watcher.started(item.title)
        found = decided_about(model, item)
        yield Outcome(item, time.perf_counter() - begun, found)


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
