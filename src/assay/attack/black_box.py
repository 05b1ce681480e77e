"""A question whose network torch cannot run: what ONNX Runtime answers, without gradients.

Attacks that need no gradient search it all the same. A point counts as found only where exact
arithmetic can follow the network; elsewhere a violation is reported as what it is, one of the
float32 numbers that ONNX Runtime computes at that very point.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from assay.bounds.inequalities import Excesses
from assay.difficulty.margin import asked_cases, excesses_of, inward_ends, tensor_sizes
from assay.question.network import Network
from assay.question.property import Case
from assay.question.runnable import Runnable
from assay.question.runtime import FloatRunner


class BlackBox:
    """What `Target` asks of a `MarginFunction`, on the processor; `reason` says why not that."""

    def __init__(self, network: Network | Runnable, cases: tuple[Case, ...], reason: str) -> None:
        self.place, self.sha256, self.reason = network.place, network.sha256, reason
        self.network = network if isinstance(network, Network) else None
        self._runner = FloatRunner(network) if isinstance(network, Network) else network
        self.cases = asked_cases(cases, network.place)
        self.lower, self.upper = inward_ends(self.cases)
        self._excesses = [excesses_of(network.place, case.violation) for case in self.cases]
        self.numbers = (
            sum(tensor_sizes(network))
            if isinstance(network, Network)
            else network.inputs + network.outputs
        )

    def case_excesses(self, case: int) -> Excesses:
        return self._excesses[case]

    def view(self, points: Tensor) -> Tensor:
        """Outputs at the float32 numbers nearest to the points."""
        rounded = points.detach().to("cpu", torch.float32).numpy()
        return torch.from_numpy(np.asarray(self._runner.run(rounded), np.float64))

    def float32_margin(self, case: int, point: tuple[Fraction, ...]) -> Fraction | None:
        """The margin of what ONNX Runtime computes at a point of float32 numbers, exactly."""
        numbers = np.array([[float(value) for value in point]], np.float32)
        outputs = self._runner.run(numbers)[0]
        if not np.isfinite(outputs).all():
            return None
        return self.cases[case].violation.margin([Fraction(float(v)) for v in outputs])
