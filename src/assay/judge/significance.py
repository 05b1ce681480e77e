"""Is one verifier better than another, or was it luck? Paired tests, corrected for their number."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from assay.judge.outcome import Settled


@dataclass(frozen=True)
class Comparison:
    """Two verifiers on the instances that both ran.

    `p_solved` is McNemar's exact test (a sign test on the instances that only one of them
    solved); `p_time` Wilcoxon's signed-rank test on the logarithms of the times where both did.
    The `_holm` values are corrected for all pairs compared (Holm 1979). `time_ratio` is the median
    of first over second. None: nothing to test.
    """

    first: str
    second: str
    both: int
    only_first: int
    only_second: int
    p_solved: float
    time_ratio: float | None
    p_time: float | None
    p_solved_holm: float = 1.0
    p_time_holm: float | None = None


def compare(settled: Mapping[str, Mapping[str, Settled]]) -> tuple[Comparison, ...]:
    """Every pair of verifiers; `settled` holds outcomes by verifier and instance."""
    pairs = [_pair(a, b, settled[a], settled[b]) for a, b in combinations(sorted(settled), 2)]
    solved = holm([pair.p_solved for pair in pairs])
    timed = [pair.p_time for pair in pairs if pair.p_time is not None]
    times = iter(holm(timed))
    return tuple(
        replace(
            pair,
            p_solved_holm=corrected,
            p_time_holm=None if pair.p_time is None else next(times),
        )
        for pair, corrected in zip(pairs, solved, strict=True)
    )


def _pair(
    first: str, second: str, left: Mapping[str, Settled], right: Mapping[str, Settled]
) -> Comparison:
    shared = [(left[name], right[name]) for name in left if name in right]
    both = [(a.wall_s, b.wall_s) for a, b in shared if a.solved and b.solved]
    only_first = sum(a.solved and not b.solved for a, b in shared)
    only_second = sum(b.solved and not a.solved for a, b in shared)
    ratios = [a / b for a, b in both if a > 0 and b > 0]
    return Comparison(
        first=first,
        second=second,
        both=len(both),
        only_first=only_first,
        only_second=only_second,
        p_solved=sign_test(only_first, only_second),
        time_ratio=statistics.median(ratios) if ratios else None,
        p_time=signed_rank([math.log(ratio) for ratio in ratios]) if ratios else None,
    )


def sign_test(wins: int, losses: int) -> float:
    """Two-sided: how likely a split at least this uneven is when each side is equally likely."""
    total = wins + losses
    term = tail = 1
    for k in range(min(wins, losses)):
        term = term * (total - k) // (k + 1)
        tail += term
    # Both sides stay integers: floats would overflow beyond a thousand instances.
    return min(1.0, (2 * tail) / (1 << total))


def signed_rank(differences: Sequence[float]) -> float:
    """Wilcoxon's two-sided test that paired differences are symmetric around zero."""
    if not any(differences):
        return 1.0
    from scipy.stats import wilcoxon

    return float(wilcoxon(differences, zero_method="pratt").pvalue)


def holm(values: Sequence[float]) -> list[float]:
    """P-values corrected so that all of them together hold at the level of one (Holm)."""
    order = sorted(range(len(values)), key=values.__getitem__)
    corrected = [0.0] * len(values)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - rank) * values[index]))
        corrected[index] = highest
    return corrected
