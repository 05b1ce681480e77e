"""A question about an MLP as affine maps with ReLUs between them, over the unit cube, in float64.

The first map takes the place s in the unit cube that stands for the box; the last one gives the
excess of every inequality of the violation, its coefficients computed in rationals and rounded
once. An inequality whose coefficients cancel exactly is exactly constant here, too.

`sizes` bounds, layer by layer, the sum of the sizes of the terms of a unit for any s. What is
computed from these numbers by substituting units into later layers, forwards or backwards, and
putting a line p z + c with 0 <= p <= 1 and |c| <= |z| in place of a ReLU at most L times, is off by
no more than `gamma(roundings)` 2^(L + 1) of that size: a substitution at most doubles the size of
an expression, and its rounding is that of one sum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from assay.analyse.count.cells import Grid
from assay.bounds.inequalities import inequality_rows
from assay.bounds.rounding import TINY, UNIT, gamma
from assay.errors import Unsupported
from assay.question.floaterror import Layer
from assay.question.mlp_layers import affine_chain
from assay.question.network import Network
from assay.question.property import Violation

MOST_UNITS = 256
"""In a layer; wider ones leave no use for small dense matrices."""
_FEW = 32


@dataclass(frozen=True, eq=False)
class ReluChain:
    """`first` [1 + n, units] with the constant first; then weights [units, more], biases [more].

    The last of `weights` and `biases` gives the rows. `sizes` has a tensor for each hidden layer,
    `reach` [units, rows] is by how much a unit of the last can move a row, and `blur` [rows] what
    the constants of the rows lost when they were rounded.
    """

    first: Tensor
    weights: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]
    sizes: tuple[Tensor, ...]
    reach: Tensor
    blur: Tensor
    roundings: int

    @classmethod
    def of(cls, network: Network, grid: Grid, violation: Violation) -> ReluChain | None:
        """None where the network is no MLP, or too wide, or its numbers leave float64."""
        layers = _layers(network)
        if layers is None or len(layers) < 2:
            return None
        last = _rows(layers[-1], violation)
        if last is None:
            return None
        (weight, bias), hidden = _doubles(layers[0]), [_doubles(layer) for layer in layers[1:-1]]
        # The box's ends and widths are each within a rounding or two of the exact ones.
        far = 4 * torch.maximum(grid.low.abs(), grid.high.abs())
        sizes = [weight.abs() @ far + bias.abs()]
        for more, offset in hidden:
            sizes.append(more.abs() @ sizes[-1] + offset.abs())
        rows, constants, blur = last
        reach = rows.abs().T * sizes[-1].unsqueeze(1)
        if not all(bool(torch.isfinite(t).all()) for t in (*sizes, reach, constants)):
            return None
        moved = weight[:, grid.moving] * grid.width
        first = torch.cat([(weight @ grid.low + bias).unsqueeze(1), moved], 1).T.contiguous()
        roundings = _FEW + weight.shape[1] + sum(2 * len(s) + first.shape[0] + _FEW for s in sizes)
        return cls(
            first,
            tuple(w.T.contiguous() for w in (*(w for w, _ in hidden), rows)),
            (*(b for _, b in hidden), constants),
            tuple(sizes),
            reach,
            blur,
            roundings,
        )

    @property
    def units(self) -> tuple[int, ...]:
        return tuple(len(size) for size in self.sizes)

    def slack(self, layer: int) -> Tensor:
        """What a computed bound of the units of a hidden layer may be off, [units]."""
        return gamma(self.roundings) * 2.0 ** (layer + 2) * self.sizes[layer]

    def row_slack(self, alive: Tensor) -> Tensor:
        """The same for the rows, [N, rows], where only these units [N, units] can be positive."""
        factor = gamma(self.roundings) * 2.0 ** (len(self.sizes) + 2)
        return factor * (alive.to(self.reach.dtype) @ self.reach) + self.blur


def _layers(network: Network) -> tuple[Layer, ...] | None:
    """The affine layers; a ReLU at the very end is followed by the identity."""
    last = network.nodes[-1] if network.nodes else None
    ends = last is not None and last.op_type == "Relu" and last.outputs[0] == network.output_name
    if ends and last is not None:
        name = last.inputs[0]
        shape = network.shapes[name]
        network = replace(network, nodes=network.nodes[:-1], output_name=name, output_shape=shape)
    try:
        found = affine_chain(network)
    except Unsupported:
        return None
    layers = [layer for layer in found if isinstance(layer, tuple)]
    if len(layers) < len(found) or any(len(bias) > MOST_UNITS for _, bias in layers):
        return None
    if ends:
        units = len(layers[-1][1])
        layers.append((np.eye(units, dtype=np.float32), np.zeros(units, np.float32)))
    return tuple(layers)


def _doubles(layer: Layer) -> tuple[Tensor, Tensor]:
    weight, bias = (torch.from_numpy(np.asarray(part, np.float64)) for part in layer)
    return weight, bias


def _rows(layer: Layer, violation: Violation) -> tuple[Tensor, Tensor, Tensor] | None:
    """Coefficients [rows, units] of the excesses, their constants, and what those lost."""
    weights = [[Fraction(v) for v in row] for row in layer[0].astype(float).tolist()]
    biases = [Fraction(v) for v in layer[1].astype(float).tolist()]
    rows, constants, blur = [], [], []
    try:
        for inequality in (i for row in inequality_rows(violation) for i in row):
            exact = [
                sum((c * weights[o][u] for o, c in inequality.terms), start=Fraction(0))
                for u in range(len(weights[0]))
            ]
            constant = sum((c * biases[o] for o, c in inequality.terms), start=-inequality.bound)
            rows.append([float(v) for v in exact])
            if any(v and abs(c) < TINY for v, c in zip(exact, rows[-1], strict=True)):
                return None
            constants.append(float(constant))
            blur.append(0.0 if constants[-1] == constant else 2 * UNIT * abs(constants[-1]) + TINY)
    except OverflowError:
        return None
    found = (torch.tensor(values, dtype=torch.float64) for values in (rows, constants, blur))
    coefficients, offsets, lost = found
    return coefficients, offsets, lost
