"""Attack every label of a benchmark folder: 10^5 points an instance, the best ones exactly.

    python benchmarks/attack_labels.py FOLDER [--points 100000]

Robust: random points, random corners, signed-gradient corners and multi-restart PGD in float64;
the lowest few are evaluated in rationals (in balls, where a network leaves them) and must keep the
certified margin. Where the guard is float32, as many float32 evaluations in ONNX Runtime must
agree with the label. Violated: the witness must violate in rationals or balls, and in ONNX Runtime
where the guard is float32.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import torch

from assay.question import vnnlib
from assay.question.balls import Bounds
from assay.question.network import Network, load_file
from assay.question.point_evaluation import PointEvaluation
from assay.question.property import Case
from assay.question.runtime import FloatRunner
from assay.question.torch_view import torch_view
from assay.suite.folder import BenchmarkFolder
from assay.truth.record import Truth

_RESTARTS = 100
_EXACT = 5


@dataclass(frozen=True)
class Attacked:
    """What the attack saw: the lowest exact margin, and how often float32 contradicts the label."""

    name: str
    truth: Truth
    lowest: Fraction
    contradictions: int

    @property
    def holds(self) -> bool:
        kept = self.lowest >= self.truth.margin
        if self.truth.answer == "violated":
            kept = self.lowest <= self.truth.margin
        return kept and self.contradictions == 0


def margins(case: Case, outputs: np.ndarray) -> np.ndarray:
    """The property's margin for each row of outputs."""
    columns = [
        np.max(
            [
                sum(float(c) * outputs[:, i] for i, c in inequality.terms) - float(inequality.bound)
                for inequality in disjunct
            ],
            axis=0,
        )
        for disjunct in case.violation.disjuncts
    ]
    return np.min(columns, axis=0)


def candidates(
    case: Case, view: torch.nn.Module, points: int, draw: np.random.Generator
) -> Iterator[np.ndarray]:
    """Batches of points in the box: uniform, corners, gradient corners, PGD."""
    low = np.array([float(v) for v in case.box.lower])
    high = np.array([float(v) for v in case.box.upper])
    for _ in range(4):
        yield draw.uniform(low, high, size=(points // 10, len(low)))
        yield np.where(draw.integers(0, 2, size=(points // 20, len(low))) == 1, high, low)
    steps = max(points * 4 // 10 // _RESTARTS, 1)
    x = draw.uniform(low, high, size=(_RESTARTS, len(low)))
    rivals = [disjunct[0].terms for disjunct in case.violation.disjuncts]
    weights = np.zeros((len(rivals), case.violation.outputs))
    for row, terms in enumerate(rivals):
        for i, c in terms:
            weights[row, i] = float(c)
    for step in range(steps):
        leaf = torch.tensor(x, dtype=torch.float64, requires_grad=True)
        scores = view(leaf) @ torch.tensor(weights.T)
        scores.min(dim=1).values.sum().backward()
        gradient = leaf.grad.numpy()
        yield np.where(gradient > 0, low, high) if step % 10 == 0 else x
        size = (high - low) * 0.3 * 0.5 ** (step % 100 / 12)
        x = np.clip(x - size * np.sign(gradient), low, high)
        if step % 100 == 99:
            x = draw.uniform(low, high, size=x.shape)


def real_margin(network: Network, case: Case, point: Iterable[Fraction]) -> Bounds:
    """The margin at a point, enclosed."""
    found = PointEvaluation(network, list(point)).margin(case.violation)
    assert found is not None
    return found


def attack(name: str, onnx: Path, question: Path, truth: Truth, points: int) -> Attacked:
    network = load_file(onnx)
    (case,) = vnnlib.read(question.read_text(), str(question)).cases
    runner = FloatRunner(network)
    guarded = truth.guard == "float32"
    if truth.answer == "violated":
        witness = [Fraction(text) for text in truth.witness or ()]
        assert case.box.contains(witness)
        row = np.array([[float(w) for w in witness]], dtype=np.float32)
        wrong = guarded and bool((margins(case, runner.run(row)) > 0).any())
        return Attacked(name, truth, real_margin(network, case, witness)[1], int(wrong))
    view = torch_view(network, torch.float64)
    draw = np.random.default_rng(1)
    best: list[tuple[float, np.ndarray]] = []
    contradictions = 0
    for batch in candidates(case, view, points, draw):
        with torch.no_grad():
            found = margins(case, view(torch.tensor(batch)).numpy())
        for index in np.argsort(found)[:_EXACT]:
            best.append((float(found[index]), batch[index]))
        best = sorted(best, key=lambda pair: pair[0])[:_EXACT]
        if guarded:
            single = batch.astype(np.float32)
            inside = np.all(
                (single >= np.array([float(v) for v in case.box.lower]))
                & (single <= np.array([float(v) for v in case.box.upper])),
                axis=1,
            )
            contradictions += int((margins(case, runner.run(single[inside])) <= 0).sum())
    lowest = min(
        real_margin(network, case, (Fraction(float(v)) for v in point))[0] for _, point in best
    )
    return Attacked(name, truth, lowest, contradictions)


def attack_folder(folder: Path, points: int) -> Iterator[Attacked]:
    for entry in BenchmarkFolder.open(folder).entries:
        text = (folder / "truth" / f"{entry.name}.json").read_text()
        truth = Truth.from_json(text, entry.name)
        yield attack(entry.name, entry.onnx, entry.vnnlib, truth, points)


def summary(results: list[Attacked]) -> list[tuple[str, ...]]:
    """A row for each family and answer."""
    groups: dict[tuple[str, str], list[Attacked]] = defaultdict(list)
    for result in results:
        groups[result.truth.family, result.truth.answer].append(result)
    rows = []
    for (name, answer), group in sorted(groups.items()):
        ratios = sorted(float(r.lowest / r.truth.margin) for r in group)
        rows.append(
            (
                name,
                answer,
                str(len(group)),
                str(sum(r.holds for r in group)),
                str(sum(r.truth.guard == "float32" for r in group)),
                f"{ratios[0]:.4g}",
                f"{ratios[len(ratios) // 2]:.4g}",
            )
        )
    return rows


HEADER = (
    "family",
    "answer",
    "instances",
    "labels that hold",
    "guard float32",
    "lowest found / certified margin, least",
    "median",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    results = []
    for result in attack_folder(arguments.folder, arguments.points):
        results.append(result)
        if not result.holds:
            print(f"{result.name}: lowest {result.lowest}, {result.contradictions} contradictions")
    rows = summary(results)
    print(json.dumps(rows) if arguments.json else "\n".join(" | ".join(r) for r in (HEADER, *rows)))
    if not all(result.holds for result in results):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
