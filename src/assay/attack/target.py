"""What an attack sees: one box of a question, through a network that watches every query.

An attack returns nothing. Each forward pass goes through `Target.outputs`, which counts it, keeps
the lowest margin, and ends the attack with `Found` at the first point that is a violation in exact
arithmetic after its inputs were rounded to float32. A violation in float64 that exact arithmetic
cannot decide is remembered. Backward passes are counted as they happen, so attacks of other
packages are counted alike.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterator
from fractions import Fraction

import torch
from torch import Tensor

from assay.attack.black_box import BlackBox
from assay.difficulty.margin import MarginFunction
from assay.question.operators.torch_module import TorchNetwork
from assay.question.point_evaluation import PointEvaluation

Point = tuple[Fraction, ...]
_NUMBERS_AT_ONCE = {"cpu": 2**21, "cuda": 2**28}
"""That one batch may keep for its gradients: 16 MiB and 2 GiB."""
_POINTS_AT_ONCE = {"cpu": 4096, "cuda": 2**18}
_NEARLY = 1e-12
"""Relative to the outputs: how close to a violation is worth an exact look."""
_MOST_LOOKS = 16
"""Exact evaluations an attack may waste on points that only float64 takes for violations."""


class Found(Exception):
    """The attack is over: at `point` the exact margin is at most `margin`, which violates."""

    def __init__(self, point: Point, margin: Fraction) -> None:
        super().__init__(f"a violation, margin {float(margin):g}")
        self.point, self.margin = point, margin


class Seen(Exception):
    """The attack is over: a violation in float32 that exact arithmetic cannot follow."""


class Target:
    """One case of a question; same seed and name, same random numbers."""

    def __init__(
        self, function: MarginFunction | BlackBox, case: int, seed: int, name: str
    ) -> None:
        self._function, self._number, self._case = function, case, function.cases[case]
        self._excesses = function.case_excesses(case)
        self.lower, self.upper = function.lower[case], function.upper[case]
        self.device = self.lower.device
        self.draw = torch.Generator(self.device).manual_seed(_stream(function, case, seed, name))
        self.margin = math.inf
        self.queries = self.gradients = 0
        room = _NUMBERS_AT_ONCE[self.device.type] // function.numbers
        self.at_once = max(1, min(_POINTS_AT_ONCE[self.device.type], room))
        self._looks, self._refuted = 0, math.inf
        self.undecided = ""
        """What exact arithmetic could not decide: the last violation in float64 of that kind."""

    @property
    def inputs(self) -> int:
        return len(self.lower)

    @property
    def disjuncts(self) -> int:
        return len(self._excesses.thresholds)

    @property
    def free(self) -> Tensor:
        """The numbers of the inputs that the box lets vary."""
        return (self.upper > self.lower).nonzero().flatten()

    def outputs(self, points: Tensor) -> Tensor:
        """The network's outputs at points of the box, [N, outputs]; all of it is counted."""
        self._count(points)
        found: Tensor = self._function.view(points)
        self._watch(points, found)
        return found

    def with_units(
        self, points: Tensor, operators: Collection[str]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The same, and what the nodes with these operators take, [N, units] by name."""
        self._count(points)
        view = self._function.view
        assert isinstance(view, TorchNetwork)
        found, taken = view.with_arguments(points, operators)
        self._watch(points, found)
        return found, taken

    def arguments_of(self, operators: Collection[str]) -> set[str]:
        """The names of what nodes with these operators take first."""
        network = self._function.network
        assert network is not None
        return {node.inputs[0] for node in network.nodes if node.op_type in operators}

    def gaps(self, outputs: Tensor) -> Tensor:
        """How far each disjunct is from holding, [N, disjuncts]; zero and below violate."""
        return self._excesses.at(outputs).amax(2)

    def uniform(self, count: int) -> Tensor:
        """Random points of the box."""
        size = (count, self.inputs)
        share = torch.rand(size, generator=self.draw, dtype=torch.float64, device=self.device)
        return self.inside(share)

    def inside(self, share: Tensor) -> Tensor:
        """Where shares in [0, 1] of the box's sides lie; written so that one is the upper bound."""
        return self.kept(self.lower * (1 - share) + self.upper * share)

    def kept(self, points: Tensor) -> Tensor:
        return torch.minimum(torch.maximum(points, self.lower), self.upper)

    def batches(self, rows: int) -> Iterator[slice]:
        for start in range(0, rows, self.at_once):
            yield slice(start, min(rows, start + self.at_once))

    def _watch(self, points: Tensor, outputs: Tensor) -> None:
        with torch.no_grad():
            margins = self.gaps(outputs.detach()).amin(1)
            margins = torch.where(torch.isfinite(margins), margins, math.inf)
            row = int(margins.argmin())
            lowest = float(margins[row])
        self.margin = min(self.margin, lowest)
        near = _NEARLY * (1 + float(outputs.detach()[row].abs().amax()))
        if lowest <= near and lowest < self._refuted and self._looks < _MOST_LOOKS:
            self._look(points[row].detach(), lowest)

    def _look(self, point: Tensor, margin: float) -> None:
        rounded = self._case.box.nearest_float32(point.tolist())
        exact, notes = None, [""]
        if self._function.network is not None:
            evaluation = PointEvaluation(self._function.network, rounded)
            exact, notes = evaluation.margin(self._case.violation), evaluation.notes
        if exact is not None and exact[1] <= 0:
            raise Found(rounded, exact[1])
        if exact is None and isinstance(self._function, BlackBox):
            self._seen(self._function.float32_margin(self._number, rounded))
        if margin <= 0 and (exact is None or exact[0] <= 0):
            self.undecided = f"margin {margin:.6g}; {'; '.join(notes)}"
        self._looks, self._refuted = self._looks + 1, margin

    def _seen(self, margin: Fraction | None) -> None:
        """A violation of the float32 numbers that ONNX Runtime computes ends the attack."""
        if margin is not None and margin <= 0:
            self.undecided = (
                f"margin {float(margin):.6g} in float32, as ONNX Runtime computes it; Assay has "
                "no exact arithmetic for this network yet"
            )
            raise Seen

    def _count(self, points: Tensor) -> None:
        """Count queries now, and gradients when a backward pass gets to the points."""
        self.queries += len(points)

        def count(_: Tensor) -> None:
            self.gradients += len(points)

        if points.requires_grad:
            points.register_hook(count)  # type: ignore[no-untyped-call]


def _stream(function: MarginFunction | BlackBox, case: int, seed: int, name: str) -> int:
    """A number that depends on nothing but the question, the seed and the attack."""
    digest = hashlib.sha256(f"attack|{seed}|{name}|{case}|".encode())
    digest.update(bytes.fromhex(function.sha256))
    for end in (function.lower[case], function.upper[case]):
        digest.update(end.cpu().numpy().tobytes())
    return int.from_bytes(digest.digest()[:7], "little")
