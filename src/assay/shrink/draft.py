"""A question while it is being shrunk: the bytes of both files, and the input that it turns on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from assay.errors import Unsupported
from assay.question import vnnlib, vnnlib2
from assay.question.asked import refuse_misfits
from assay.question.network import Network, load
from assay.question.property import Case, Violation
from assay.question.region import Box
from assay.shrink.steps import Steps, read_steps
from assay.truth.instance import sha256

Point = tuple[Fraction, ...]


@dataclass(frozen=True)
class Draft:
    """`point` is the exact witness of a violated truth; otherwise what the tool takes for one."""

    onnx: bytes
    vnnlib: bytes
    point: Point

    @property
    def key(self) -> tuple[str, str]:
        return sha256(self.onnx), sha256(self.vnnlib)

    @cached_property
    def network(self) -> Network:
        return load(self.onnx, "the network")

    @cached_property
    def case(self) -> Case:
        """The box and the violation; Unsupported where several boxes are asked about."""
        specification = vnnlib2.read_any(self.vnnlib.decode(), "the property")
        refuse_misfits(self.network, specification.cases)
        if len(specification.cases) != 1:
            raise Unsupported("the property asks about several boxes")
        return specification.cases[0]

    @cached_property
    def steps(self) -> Steps | None:
        """The network taken apart, None where it is more than a row of steps."""
        try:
            return read_steps(self.network)
        except Unsupported:
            return None

    def fixed(self) -> list[int]:
        """The inputs that have one value only."""
        box = self.case.box
        return [i for i in range(box.dimension) if box.lower[i] == box.upper[i]]

    def free(self) -> list[int]:
        box = self.case.box
        return [i for i in range(box.dimension) if box.lower[i] < box.upper[i]]

    def with_box(self, box: Box) -> Draft:
        """Another box; the point moves into it."""
        text = vnnlib.write(box, self.case.violation)
        return replace(self, vnnlib=text.encode(), point=box.nearest(self.point))

    def with_intervals(self, changed: dict[int, tuple[Fraction, Fraction]]) -> Draft:
        """Other intervals for some inputs."""
        box = self.case.box
        ends = [
            changed.get(i, pair) for i, pair in enumerate(zip(box.lower, box.upper, strict=True))
        ]
        return self.with_box(Box(tuple(e[0] for e in ends), tuple(e[1] for e in ends)))

    def with_violation(self, violation: Violation) -> Draft:
        return replace(self, vnnlib=vnnlib.write(self.case.box, violation).encode())

    def with_steps(self, steps: Steps | None) -> Draft | None:
        return None if steps is None else replace(self, onnx=steps.onnx())

    def with_inputs(self, steps: Steps | None, kept: Sequence[int]) -> Draft | None:
        """A network that takes only some of the inputs."""
        if steps is None:
            return None
        box = self.case.box
        less = Box(tuple(box.lower[i] for i in kept), tuple(box.upper[i] for i in kept))
        text = vnnlib.write(less, self.case.violation)
        return Draft(steps.onnx(), text.encode(), tuple(self.point[i] for i in kept))
