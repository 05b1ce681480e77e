"""Algorithm 1 of the weakened robustness paper as printed. Its error bounds do not hold.

It takes the variance p(1 - p) of one sample where the normal approximation needs the standard
deviation, so it stops far too early.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from assay.analyse.binomial import FixedTest
from assay.analyse.decision import Rule
from assay.analyse.method import Method
from assay.analyse.promise import Promise
from assay.analyse.rules._curtailed import curtailed
from assay.analyse.sequential import ConfidenceSequence

NAME = "paper"


@dataclass(frozen=True)
class PrintedTest:
    """Lines 3 to 7: the number of samples N, and the share c of them that must be kept."""

    samples: int
    share: float

    @property
    def test(self) -> FixedTest:
        """Lines 14 and 15: SAT with c N kept points or more, UNSAT once they are out of reach."""
        return FixedTest(self.samples, self.samples - math.ceil(self.share * self.samples))


def printed_test(promise: Promise) -> PrintedTest:
    # As the decimals that were asked for: 9 (1 - .01) / .01 is 891, not a bit more.
    eps, inner = Fraction(repr(promise.eps)), Fraction(repr(promise.eps_inner))
    spread, inner_spread = float(eps * (1 - eps)), float(inner * (1 - inner))
    z_alpha = NormalDist().inv_cdf(promise.alpha)
    z_beta = NormalDist().inv_cdf(1 - promise.beta)
    by_errors = (spread * z_beta - inner_spread * z_alpha) / float(eps - inner)
    samples = max(math.ceil(by_errors**2), math.ceil(9 * (1 - eps) / eps))
    return PrintedTest(samples, spread * z_beta / math.sqrt(samples) + float(1 - eps))


def rule(promise: Promise) -> Rule:
    printed = printed_test(promise)
    test = printed.test
    errors = test.not_robust(promise.eps_inner), test.robust(promise.eps)
    return Rule(
        NAME,
        promise,
        f"The stated errors do not hold: of N = {printed.samples} samples a share of "
        f"c = {printed.share:.6f} must be kept, and the exact type I and II errors of that are "
        f"{errors[0]:.3g} and {errors[1]:.3g}.",
        holds=False,
        last=test.samples,
        sequence=ConfidenceSequence(promise.alpha, promise.beta),
        between=curtailed(test),
        exact_errors=errors,
    )


RULE = Method(NAME, "Algorithm 1 as printed, whose error bounds do not hold", False, rule)
