"""What a family declares: its name, its knobs and the function that makes proven instances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from assay.truth.instance import Instance


class Knobs(BaseModel):
    """Base of every family's parameters: frozen, typed, unknown keys refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class Constructor:
    """A family of instances.

    `make(knobs, seed)` returns proven instances: robust ones and, named as their twins, violated
    ones. It is a pure function of its arguments (same bytes on any number of processes) and
    raises `CannotCertify` or `BadInput` rather than return anything unproved.
    """

    name: str
    summary: str
    theorem: str
    knobs: type[Knobs]
    make: Callable[[Any, int], Sequence[Instance]]
    twins: bool = True
    """Whether every instance has a twin of the other answer."""
