"""The mean of several failure rates, from the pooled count of equally many trials of each.

The pooled count S is no binomial number: its N trials have different rates, of mean p. The
interval of Clopper and Pearson still covers p, but for one count at each end.

* Hoeffding (1956, theorem 4): P(S <= c) is at most the binomial P(B <= c) of N and p, if
  c <= N p - 1. The interval's upper end misses p only if S <= c for a c with P(B <= c) <= side,
  where `side` is half the error.
* If c > N p - 1 and N (1 - p) >= 1, then P(B <= c) >= P(B <= N p) > 1/4 (Greenberg and Mohri
  2014; 1 - (1 - 1/N)^N where N (1 - p) = 1). So for side <= 1/4 every such c is <= N p - 1.
* If N (1 - p) < 1, only c = N - 1 is left, and there P(S <= N - 1) is at most the sum of the
  trials' chances not to fail, N (1 - p). The end 1 - side / N is missed by no more than `side`.

The lower end is the same with failures and successes exchanged.
"""

from __future__ import annotations

from assay.analyse.binomial import clopper_pearson
from assay.errors import BadInput

LEAST_CONFIDENCE = 0.5


def mean_rate_interval(failures: int, trials: int, confidence: float) -> tuple[float, float]:
    """An interval of the mean failure rate of independent trials, whatever their own rates are."""
    if not confidence >= LEAST_CONFIDENCE:
        raise BadInput(
            f"confidence {confidence:g} is below {LEAST_CONFIDENCE:g}, where the interval of a "
            "mean of rates is not proved; give more"
        )
    lower, upper = (float(end) for end in clopper_pearson(failures, trials, confidence))
    side = (1 - confidence) / 2
    if failures == 1:
        lower = min(lower, side / trials)
    if failures == trials - 1:
        upper = max(upper, 1 - side / trials)
    return lower, upper
