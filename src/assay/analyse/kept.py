"""How far scores keep a property: positive where it is kept; ties fail, as in VNN-LIB."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from assay.analyse.inputs import refuse_one_score
from assay.bounds.inequalities import Excesses
from assay.errors import BadInput
from assay.question.property import Violation


class Kept(Protocol):
    @property
    def description(self) -> dict[str, object]: ...

    def margins(self, scores: Tensor) -> Tensor:
        """One number an input, from scores [n, classes]."""
        ...


@dataclass(frozen=True)
class LabelSet:
    """The highest score belongs to one of these labels (the paper's Omega, section 7)."""

    labels: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.labels:
            raise BadInput("no label is given; name at least one")

    @property
    def description(self) -> dict[str, object]:
        return {"labels": list(self.labels)}

    def refuse(self, classes: int) -> None:
        """BadInput where a model with so many classes cannot be asked for these labels."""
        refuse_one_score(classes)
        wrong = [label for label in self.labels if not 0 <= label < classes]
        if wrong:
            raise BadInput(
                f"label {wrong[0]} does not exist: the model has classes 0 to {classes - 1}"
                "; give one of them"
            )
        if len(set(self.labels)) == classes:
            raise BadInput("every class is in the label set, so nothing can fail; leave one out")

    def margins(self, scores: Tensor) -> Tensor:
        classes = scores.shape[1]
        self.refuse(classes)
        inside = torch.zeros(classes, dtype=torch.bool, device=scores.device)
        inside[list(self.labels)] = True
        return scores[:, inside].amax(1) - scores[:, ~inside].amax(1)


@dataclass(frozen=True, eq=False)
class Unviolated:
    """The violation that a VNN-LIB file states does not hold."""

    violation: Violation
    _rows: dict[torch.device, Excesses] = field(default_factory=dict, init=False, repr=False)

    @property
    def description(self) -> dict[str, object]:
        return {"violation": f"{len(self.violation.disjuncts)} disjuncts"}

    def margins(self, scores: Tensor) -> Tensor:
        if scores.shape[1] != self.violation.outputs:
            raise BadInput(
                f"the model gives {scores.shape[1]} scores where the property has "
                f"{self.violation.outputs}; give the model that the property is about"
            )
        if scores.device not in self._rows:
            self._rows[scores.device] = Excesses.of(self.violation, scores.device)
        return self._rows[scores.device].at(scores.to(torch.float64)).amax(2).amin(1)
