"""How much one truth may ask for: an account that everything pays into before it works.

Small files can ask for a lot: a kernel that thousands of nodes share, numbers that grow from layer
to layer, a question of many parts. So work is counted, in units of about ten nanoseconds (a product
of two short numbers, or a tenth of what Python does with one), and so is what is held in memory.
Both depend on the files alone: the verdict is the same on every machine. The limits leave a quarter
of 60 CPU seconds, and half of 2 GB, for what is read and not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from assay.proof.refusals import TooMuch

MOST_WORK = 1 << 32
MOST_KEPT = 1 << 24
"""Words of all weights, layers that share them counted once, and of what is known of each layer."""
MOST_WORDS = 1 << 24
"""Words of 64 bits in all numbers of one vector or matrix."""
PRODUCT, ENTRY, CURVE = 2, 25, 250
"""Units of work of a product of two balls in a matrix, of a ball that is taken from a list or put
into one, and of exp, tanh or the like of a ball, forwards or backwards."""
_ACCOUNT: ContextVar[list[int] | None] = ContextVar("account", default=None)


@contextmanager
def limited() -> Iterator[None]:
    """Inside, `charge` and `keep` refuse what passes the limits; elsewhere they do nothing."""
    token = _ACCOUNT.set([0, 0])
    try:
        yield
    finally:
        _ACCOUNT.reset(token)


def charge(units: int) -> None:
    account = _ACCOUNT.get()
    if account is not None:
        account[0] += units
        if account[0] > MOST_WORK:
            raise TooMuch("the proof takes more work than the checker does for one truth")


def keep(numbers: int, bits: int) -> None:
    """So many weights, or bounds of units, of this length stay in memory."""
    account = _ACCOUNT.get()
    if account is not None:
        charge(50 * numbers)
        account[1] += numbers * limbs(bits)
        if account[1] > MOST_KEPT:
            raise TooMuch("the network has more weights or longer values than the checker holds")


def fit(numbers: int, bits: int) -> None:
    """Refuse a vector or matrix of so many numbers of this length."""
    if numbers * limbs(bits) > MOST_WORDS:
        raise TooMuch("the exact numbers of a layer are more and longer than the checker holds")


def charge_product(rows: int, inner: int, columns: int, left: int, right: int) -> None:
    """Before a product of two matrices whose entries have up to `left` and `right` bits."""
    fit(inner * columns, right)
    fit(rows * columns, left + right)
    charge(rows * inner * columns * (1 + limbs(left) * limbs(right) // 8))
    charge(20 * (rows + inner) * columns)


def limbs(bits: int) -> int:
    return 1 + bits // 64


def longest(numbers: Iterable[int]) -> int:
    """The bits of the longest number."""
    return max(map(int.bit_length, numbers), default=0)
