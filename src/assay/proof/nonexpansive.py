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

from flint import fmpz_mat, fmpz_poly

from assay.proof.arithmetic import Rejected, Unsupported, entries
from assay.proof.residual import Block, ResidualNetwork

_MOST_WORK = 1 << 40


def check_nonexpansive(network: ResidualNetwork) -> None:
    """Reject a network with a block that is not proved to be non-expansive."""
    if sum(map(_work, network.blocks)) > _MOST_WORK:
        raise Unsupported("the blocks are too wide for an exact look at their eigenvalues")
    for number, block in enumerate(network.blocks):
        if not _goes_downhill(block):
            raise Rejected(f"block {number} is not x - W^T C relu(W x + b) with C >= 0")
        if exceeds(*_gram(block)):
            raise Rejected(f"block {number} may move two inputs apart: an eigenvalue is above 2")


def exceeds(matrix: fmpz_mat, bound: int) -> bool:
    """Whether a matrix whose eigenvalues are all real has one above the bound."""
    moved = matrix.charpoly()(fmpz_poly([bound, 1]))
    return any(coefficient < 0 for coefficient in moved.coeffs())


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


def _gram(block: Block) -> tuple[fmpz_mat, int]:
    """-V W or -W V, whichever is smaller, as integers; and 2 over the same denominator."""
    inner, outer = block.inner.weight, block.outer.weight
    product = inner * outer if inner.nrows() <= inner.ncols() else outer * inner
    return -product, 2 * block.inner.denominator * block.outer.denominator


def _work(block: Block) -> int:
    """About what the characteristic polynomial costs: size^4 times the entries' length."""
    size = min(block.inner.units, block.inner.fan_in)
    bits = [_longest(layer.weight) for layer in (block.inner, block.outer)]
    return size**4 * sum(bits)


def _longest(matrix: fmpz_mat) -> int:
    return max(abs(entry).bit_length() for entry in entries(matrix))
