"""How far a float32 evaluation of a residual network can stray, whatever its depth.

Blocks are non-expansive in l2 (see `nonexpansive`), so a state whose l2 distance from the real one
is at most E enters a block and leaves it no further away, but for what the block itself loses. That
is the rounding of its hidden units, carried on by |V| or by V's l2 norm, whichever is less, and the
rounding of the last sum; a hidden unit that stays shut loses nothing. E grows by addition, not by
multiplication, and an output gets no more of it than its own weights' l2 norm times E.

The states' sizes come from the same fact: on the box no state is further than the box's l2 radius
(times the stem's norm) from that of the box's middle.
"""

from __future__ import annotations

from fractions import Fraction

from assay.proof.arithmetic import Vector, root_above
from assay.proof.chain import Affine
from assay.proof.interval import Interval
from assay.proof.nonexpansive import check_nonexpansive
from assay.proof.operator_norms import squared_stretch
from assay.proof.residual import Block, ResidualNetwork
from assay.proof.rounding import l2_norm, layer_error, magnitudes, units_above
from assay.proof.work import charge


def residual_errors(network: ResidualNetwork, box: Interval) -> list[int]:
    """A bound of each output's float32 error over a box of float32 inputs, in units."""
    check_nonexpansive(network)
    squares, error = sum((r * r for r in box.radii.fractions()), start=Fraction(0)), 0
    if network.stem is not None:
        squares *= squared_stretch(network.stem)
        size = magnitudes(box)
        error = l2_norm(layer_error(network.stem, size, [0] * len(size))[1])
    reach = _units(root_above(squares))
    states = network.states(box.middle)
    for block, state in zip(network.blocks, states, strict=False):
        error += _block_error(block, state, reach, error)
    own = layer_error(network.last, _sizes(states[-1], reach), [error] * network.last.fan_in)[1]
    return [c + o for c, o in zip(_carried(network.last, error), own, strict=True)]


def _block_error(block: Block, middle: Vector, reach: int, error: int) -> int:
    """What rounding inside a block adds to the l2 norm of the error."""
    size, all_off = _sizes(middle, reach), [error] * block.inner.fan_in
    own = layer_error(block.inner, size, all_off)[1]
    before = block.inner.at(middle)
    responses = zip(before.numerators, _carried(block.inner, reach), strict=True)
    tops = [units_above(n, before.denominator) + r for n, r in responses]
    off = [c + o for c, o in zip(_carried(block.inner, error), own, strict=True)]
    opened = [top + e > 0 for top, e in zip(tops, off, strict=True)]
    off, own = (
        [v if up else 0 for v, up in zip(values, opened, strict=True)] for values in (off, own)
    )
    entering = [s + error for s in size]
    hidden = [max(top, 0) for top in tops]
    summing = layer_error(block.outer, hidden, off, entering)[1]
    passed = l2_norm(layer_error(block.outer, hidden, own)[0])
    norm = _units_times(root_above(squared_stretch(block.outer)), l2_norm(own))
    return min(passed, norm) + l2_norm(summing)


def _sizes(middle: Vector, reach: int) -> list[int]:
    return [units_above(abs(n), middle.denominator) + reach for n in middle.numerators]


def _carried(layer: Affine, length: int) -> list[int]:
    """What each unit gets of a change of its inputs whose l2 norm is `length`."""
    charge(10 * layer.units * layer.fan_in)
    return [-(-l2_norm(row) * length // layer.denominator) for row in layer.rows]


def _units(value: Fraction) -> int:
    return units_above(value.numerator, value.denominator)


def _units_times(factor: Fraction, units: int) -> int:
    return -(-factor.numerator * units // factor.denominator)
