"""Each method over all questions: its errors against its promise, and the samples it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from assay.analyse.calibration.accusation import (
    Accusation,
    Group,
    accusations,
    blamed,
    group_of,
    pooled_chance,
)
from assay.analyse.calibration.measured import Measured, error_interval


@dataclass(frozen=True)
class Summary:
    """One method, kind of error and setting; `rows` are those of the questions it was run on.

    `broken` says what contradicts the promise, if anything does.
    """

    analyser: str
    event: str
    setting: str
    promised: float | None
    holds: bool
    rows: tuple[Measured, ...]
    broken: tuple[Accusation, ...]
    rates: Mapping[str, float]

    @property
    def runs(self) -> int:
        return sum(row.runs for row in self.rows)

    @property
    def errors(self) -> int:
        return sum(row.errors for row in self.rows)

    @property
    def is_law(self) -> bool:
        """Whether a law was tested; otherwise errors were counted."""
        return any(row.chance is not None for row in self.rows)

    @property
    def rate(self) -> float | None:
        return None if self.is_law else self.errors / self.runs

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.is_law else error_interval(self.errors, self.runs)

    @property
    def worst(self) -> Measured:
        """The question with the highest error rate, or the least p-value."""
        return max(self.rows, key=lambda row: (row.rate or 0.0, -row.luck))

    @property
    def worst_exact(self) -> float | None:
        """The highest error that was computed."""
        return max((row.exact for row in self.rows if row.exact is not None), default=None)

    @property
    def promise(self) -> str:
        if self.promised is None:
            return "nothing"
        return "the law" if self.is_law else f"{self.promised:.3g}"

    @property
    def found(self) -> str:
        """What was measured, in a few words."""
        if self.rate is None:
            return f"p-value {pooled_chance(self.rows):.2g}"
        return f"{self.rate:.3g}"

    @property
    def exactly(self) -> str:
        """The highest exact error, and of how many questions it is known."""
        known = [row for row in self.rows if row.exact is not None]
        if self.worst_exact is None:
            return ""
        of = "" if len(known) == len(self.rows) else f" ({len(known)} of {len(self.rows)})"
        return f"{self.worst_exact:.3g}{of}"

    @property
    def verdict(self) -> str:
        """`kept` only where nothing is left to chance: everything else is a test it has passed."""
        if self.promised is None:
            return "no promise"
        if self.broken:
            return f"BROKEN: {self._how_badly()}"
        certain = self.promised == 0 and not self.is_law
        if certain or all(row.exact is not None for row in self.rows):
            return "kept" if self.holds else "kept here, no theorem"
        return "not contradicted"

    def _how_badly(self) -> str:
        exact = [row.exact or 0.0 for row in self.rows if row.exceeds]
        assert self.promised is not None
        if exact:
            return f"exactly {max(exact):.3g}, {_times(max(exact), self.promised)} what is promised"
        if self.is_law:
            return f"chance {min(found.chance for found in self.broken):.1e}"
        rates = [row.rate or 0.0 for found in self.broken for row in found.rows]
        return f"up to {_times(max(rates), self.promised)} what is promised"

    @property
    def samples(self) -> str:
        """Fixed numbers as they are; others as multiples of 1/p (medians), measured and exact."""
        used = [(row.samples, row) for row in self.rows if row.samples is not None]
        numbers = [samples for samples, _ in used]
        if not used:
            return "none"
        if len(used) > 1 and len(set(numbers)) == 1:
            return f"{numbers[0]:,.0f}"
        exact = [
            row.expected_samples * self.rates[row.question]
            for _, row in used
            if row.expected_samples is not None
        ]
        if not exact:
            return f"{median(numbers):,.0f} (median)"
        means = [samples * self.rates[row.question] for samples, row in used]
        return f"{median(means):.3g}/p (exact {median(exact):.3g}/p)"


def summaries(rows: Sequence[Measured], rates: Mapping[str, float]) -> list[Summary]:
    """Rows of the same method, error and setting together, in the order in which they come."""
    broken = blamed(accusations(rows))
    groups: dict[Group, list[Measured]] = {}
    for row in rows:
        if row.runs:
            groups.setdefault(group_of(row), []).append(row)
    return sorted(
        (
            Summary(
                *key,
                group[0].promised,
                group[0].holds,
                tuple(group),
                tuple(broken.get(key, ())),
                rates,
            )
            for key, group in groups.items()
        ),
        key=lambda found: (found.analyser, -found.event.count("says robust"), found.event),
    )


def _times(rate: float, promised: float) -> str:
    return f"{rate / promised:.3g} times" if promised else "more than"
