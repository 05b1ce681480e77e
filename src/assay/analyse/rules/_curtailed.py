"""A test of fixed length that stops when its outcome is settled."""

from __future__ import annotations

import numpy as np

from assay.analyse.binomial import FixedTest
from assay.analyse.boundaries import Between, Boundaries


def curtailed(test: FixedTest) -> Between:
    """Every sample is looked at: one failure too many settles it, and so do enough successes.

    The verdict is that of all the samples, so the errors are those of the fixed test.
    """

    def between(after: int, upto: int) -> Boundaries:
        at = np.arange(after + 1, min(upto, test.samples) + 1, dtype=np.int64)
        still_to_come = test.samples - at
        return Boundaries(
            at,
            np.maximum(test.allowed - still_to_come, -1),
            np.full_like(at, test.allowed + 1),
        )

    return between
