"""Each method over all questions: its errors against its promise, and the samples it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from assay.analyse.calibration.measured import Measured, contradicted, error_interval


@dataclass(frozen=True)
class Summary:
    """One method, kind of error and setting; `rows` are those of the questions it was run on.

    `broken` are the rows whose promise luck does not explain.
    """

    analyser: str
    event: str
    setting: str
    promised: float | None
    holds: bool
    rows: tuple[Measured, ...]
    broken: tuple[Measured, ...]
    rates: Mapping[str, float]

    @property
    def runs(self) -> int:
        return sum(row.runs for row in self.rows)

    @property
    def errors(self) -> int:
        return sum(row.errors for row in self.rows)

    @property
    def rate(self) -> float:
        return self.errors / self.runs

    @property
    def interval(self) -> tuple[float, float]:
        found = error_interval(self.errors, self.runs)
        assert found is not None
        return found

    @property
    def worst(self) -> Measured:
        """The question with the highest error rate."""
        return max(self.rows, key=lambda row: row.rate or 0.0)

    @property
    def verdict(self) -> str:
        if self.promised is None:
            return "no promise"
        if self.broken:
            worst = max(row.rate or 0.0 for row in self.broken)
            return f"BROKEN: up to {_times(worst, self.promised)} what is promised"
        return "kept" if self.holds else "not refuted here"

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
    broken = {id(row) for row in contradicted(rows)}
    groups: dict[tuple[str, str, str], list[Measured]] = {}
    for row in rows:
        if row.runs:
            groups.setdefault((row.analyser, row.event, row.setting), []).append(row)
    return sorted(
        (
            Summary(
                *key,
                group[0].promised,
                group[0].holds,
                tuple(group),
                tuple(row for row in group if id(row) in broken),
                rates,
            )
            for key, group in groups.items()
        ),
        key=lambda found: (found.analyser, -found.event.count("says robust"), found.event),
    )


def _times(rate: float, promised: float) -> str:
    return f"{rate / promised:.3g} times" if promised else "more than"
