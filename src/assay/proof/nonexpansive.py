"""Why a block x + V relu(W x + b) cannot move two inputs apart in l2.

The outer weights must be V = -W^T C with C diagonal and nonnegative: the block then goes downhill
on a convex function. For two inputs x, y every unit has relu(u) - relu(v) = d (u - v) with some
0 <= d <= 1, so that their difference becomes (I - W^T C D W)(x - y). That matrix is symmetric, and
W^T C D W lies between zero and G = W^T C W = -V W. If no eigenvalue of G is above 2, those of
the matrix lie between -1 and 1.

Whether an eigenvalue is above 2 is decided exactly. All eigenvalues are real, so no root of the
characteristic polynomial p is above t if and only if p(x + t) has no negative coefficient. -W V has
the same eigenvalues other than zero, so the smaller one of the two matrices is taken.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd

from flint import fmpz_mat, fmpz_poly

from assay.proof.arithmetic import Rejected, Unsupported, entries
from assay.proof.residual import Block, ResidualNetwork
from assay.proof.work import charge

_MOST_WORK, _MOST_BITS = 1 << 31, 256


@lru_cache(maxsize=1)
def check_nonexpansive(network: ResidualNetwork) -> None:
    """Reject a network with a block that is not proved to be non-expansive.

    The last network that passed is remembered: a rule and the guard both ask.
    """
    work = 0
    for number, block in enumerate(network.blocks):
        charge(50 * block.inner.units * block.inner.fan_in)
        if not _goes_downhill(block):
            raise Rejected(f"block {number} is not x - W^T C relu(W x + b) with C >= 0")
        work += min(block.inner.units, block.inner.fan_in) ** 4
        if work > _MOST_WORK:
            raise Unsupported("the blocks are too wide for an exact look at their eigenvalues")
        if has_root_above(*_characteristic(block)):
            raise Rejected(f"block {number} may move two inputs apart: an eigenvalue is above 2")


def has_root_above(polynomial: fmpz_poly, bound: int) -> bool:
    """Whether a polynomial whose roots are all real, with leading coefficient 1, has one above."""
    return any(coefficient < 0 for coefficient in polynomial(fmpz_poly([bound, 1])).coeffs())


def _goes_downhill(block: Block) -> bool:
    """Whether each column of V is a number that is not positive times the unit's row of W.

    A row of zeros allows any column: its unit adds a constant.
    """
    columns = block.outer.weight.transpose().tolist()
    for row, column in zip(block.inner.weight.tolist(), columns, strict=True):
        pivot = next((i for i, weight in enumerate(row) if weight), None)
        if pivot is None:
            continue
        pairs = zip(row, column, strict=True)
        if row[pivot] * column[pivot] > 0 or any(
            row[pivot] * v != column[pivot] * w for w, v in pairs
        ):
            return False
    return True


def _characteristic(block: Block) -> tuple[fmpz_poly, int]:
    """The characteristic polynomial of -V W or -W V in integers, and 2 in the same unit."""
    inner, outer = block.inner.weight, block.outer.weight
    product = inner * outer if inner.nrows() <= inner.ncols() else outer * inner
    numbers, two = entries(product), 2 * block.inner.denominator * block.outer.denominator
    common = gcd(two, *numbers)
    short = [-n // common for n in numbers]
    if max(abs(n).bit_length() for n in short) > _MOST_BITS:
        raise Unsupported("the weights of a block differ too much in size")
    return fmpz_mat(product.nrows(), product.ncols(), short).charpoly(), two // common
