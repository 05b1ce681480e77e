"""Axes: where a value lies between the two ends of one, and the round numbers beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_MANTISSAS = (1, 2, 5)
_TINIEST, _LARGEST = 1e-300, 1e300
Ticks = list[tuple[float, str]]


@dataclass(frozen=True)
class LogScale:
    """Positive numbers on a logarithmic axis between two round ones; what lies outside is moved."""

    low: float
    high: float

    @classmethod
    def over(
        cls, values: Iterable[float], least: float = _TINIEST, most: float = _LARGEST
    ) -> LogScale:
        found = [min(max(value, least), most) for value in values] or [1.0]
        rounds = _rounds(min(found) / 10, max(found) * 100)
        low = max(s for s in rounds if s <= min(found))
        return cls(low, min(s for s in rounds if s >= max(found) and s > low))

    def share(self, value: float) -> float:
        low, high = math.log(self.low), math.log(self.high)
        return min(1.0, max(0.0, (math.log(max(value, self.low)) - low) / (high - low)))

    def ticks(self, most: int = 10) -> Ticks:
        """Powers of ten, fewer where they would be too many; 2 and 5 too where there is room."""
        shown = _rounds(self.low, self.high)
        powers = [s for s in shown if f"{s:e}"[0] == "1"]
        if len(powers) < 2 or (self.high / self.low <= 100 and len(shown) <= most):
            powers = shown
        every = math.ceil(len(powers) / most)
        return [(self.share(s), number_text(s)) for s in powers[::every]]


@dataclass(frozen=True)
class LinearScale:
    """Numbers on an axis that starts at zero, or below where some are negative."""

    low: float
    high: float
    step: float

    @classmethod
    def over(cls, values: Iterable[float]) -> LinearScale:
        found = [min(max(value, -_LARGEST), _LARGEST) for value in values]
        low, high = min(0.0, *found, 0.0), max(0.0, *found, 0.0)
        step = nice_step((high - low) / 4 or 1.0)
        return cls(math.floor(low / step) * step, max(1, math.ceil(high / step)) * step, step)

    def share(self, value: float) -> float:
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def ticks(self, most: int = 10) -> Ticks:
        """The round numbers at every step, fewer where they would be too many."""
        numbers = range(round(self.low / self.step), round(self.high / self.step) + 1)
        every = math.ceil(len(numbers) / most)
        return [(self.share(n * self.step), number_text(n * self.step)) for n in numbers[::every]]


def nice_step(rough: float) -> float:
    """The first of …, 0.5, 1, 2, 5, 10, 20, … that is at least `rough`."""
    return min(s for s in _rounds(rough, rough * 10) if s >= rough)


def number_text(value: float, digits: int = 3) -> str:
    """A few digits, as short as they can be written."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if math.isnan(value):
        return "unknown"
    if value and not 1e-3 <= abs(value) < 1e5:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{float(mantissa):.{digits}g}e{int(exponent)}"
    return f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:.0f}"


def different_texts(values: Sequence[float]) -> list[str]:
    """The values with as many digits as it takes to tell different ones apart."""
    texts: list[str] = []
    for digits in range(3, 18):
        texts = [number_text(value, digits) for value in values]
        if len(set(texts)) == len(set(values)):
            break
    return texts


def _rounds(low: float, high: float) -> list[float]:
    """The round numbers from `low` to `high`, both positive."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [float(f"{m}e{power}") for power in powers for m in _MANTISSAS]
    return [s for s in every if low <= s <= high]
