"""Two tiers of tests: `make test` in ten minutes, `make test-all` with every campaign in full.

A test marked `nightly` runs in the second tier only. A campaign that has a fast form asks
`sized` how much of it to do, so that both tiers run the same code and assert the same thing.
"""

from __future__ import annotations

import os
from typing import TypeVar

Amount = TypeVar("Amount")

ALL = os.environ.get("ASSAY_TESTS") == "all"
"""Set by `make test-all`; an environment variable reaches the workers of xdist, too."""


def sized(fast: Amount, full: Amount) -> Amount:
    return full if ALL else fast
