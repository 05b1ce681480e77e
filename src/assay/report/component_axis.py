"""The axis of one component: what its scale cannot hold lies in bands of its own at the edges.

A logarithmic axis has no place for zero and below, and none has one for infinity. Such values are
drawn all the same, in a band above or below the scale, and marked: a chart that leaves out the
hardest instances would lie.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from assay.difficulty.components import Component
from assay.report.scales import LinearScale, LogScale, Ticks

Place = Literal["below", "inside", "above"]
_BAND = 0.2
_MOST_TICKS = 4
_LEAST_BETWEEN = 0.2


@dataclass(frozen=True)
class ComponentAxis:
    """`scale` is None where no value lies inside; `above` and `below` say which bands exist."""

    logarithmic: bool
    scale: LogScale | LinearScale | None
    above: bool
    below: bool

    @classmethod
    def over(cls, component: Component, values: Iterable[float]) -> ComponentAxis:
        found = [value for value in values if not math.isnan(value)]
        places = [_place(component.logarithmic, value) for value in found]
        inside = [v for v, place in zip(found, places, strict=True) if place == "inside"]
        kind = LogScale if component.logarithmic else LinearScale
        return cls(
            logarithmic=component.logarithmic,
            scale=kind.over(inside) if inside else None,
            above="above" in places,
            below="below" in places,
        )

    def place(self, value: float) -> Place:
        return _place(self.logarithmic, value)

    def share(self, value: float) -> float:
        """How far up the axis: 0 is the lower edge, 1 the upper one."""
        place = self.place(value)
        if place == "above":
            return 1 - _BAND / 2
        if place == "below" or self.scale is None:
            return _BAND / 2
        return self._inner(self.scale.share(value))

    def ticks(self) -> Ticks:
        """Round numbers inside, none so near to the words of a band that they would meet."""
        words = [(_BAND / 2, "≤ 0" if self.logarithmic else "−∞")] * self.below
        words += [(1 - _BAND / 2, "∞")] * self.above
        if self.scale is None:
            return words
        inside = [(self._inner(share), text) for share, text in self.scale.ticks(_MOST_TICKS)]
        return [
            *words,
            *(t for t in inside if all(abs(t[0] - at) >= _LEAST_BETWEEN for at, _ in words)),
        ]

    def borders(self) -> list[float]:
        """Where the scale ends and a band begins."""
        return [_BAND] * self.below + [1 - _BAND] * self.above

    def _inner(self, share: float) -> float:
        low, high = _BAND * self.below, 1 - _BAND * self.above
        return low + share * (high - low)


def _place(logarithmic: bool, value: float) -> Place:
    if value == math.inf:
        return "above"
    return "below" if value == -math.inf or (logarithmic and value <= 0) else "inside"
