"""What a pass is: some places in a draft, and the draft without (or simpler at) a range of them.

The search tries large ranges first and single places last, from the end to the beginning, so that
what is done at some places leaves the numbers of the earlier ones alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assay.shrink.draft import Draft


@dataclass(frozen=True)
class Reduction:
    """`apply(draft, start, stop)` is None where that cannot be done.

    It need not keep the function, nor the truth: whoever asks proves the new question anew.
    """

    name: str
    places: Callable[[Draft], int]
    apply: Callable[[Draft, int, int], Draft | None]
