"""ReLU chains reduced to the units that are open on a cell.

A unit that is on everywhere on a cell is the affine function in front of it, one that is off is
zero; both are substituted, so that what is left to bound is affine in the place s and in the open
units alone: a constant, n coordinates, then the open units layer by layer. Each cell of a batch has
a network of its own; missing open units are filled up with zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from assay.analyse.count.cells import ON, OPEN
from assay.analyse.count.relu_chain import ReluChain


@dataclass(frozen=True, eq=False)
class ReducedChain:
    """Of N cells: `units` [N, K_l] are the numbers of the open units of layer l, `used` [N, K_l].

    `layers[l]` [N, columns_l, K_l] are those units before their ReLU, `rows` [N, columns, R] the
    excesses: columns for the constant, n coordinates and the open units of the layers before.
    """

    units: tuple[Tensor, ...]
    used: tuple[Tensor, ...]
    layers: tuple[Tensor, ...]
    rows: Tensor

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, index: slice) -> ReducedChain:
        units, used, layers = (
            tuple(t[index] for t in part) for part in (self.units, self.used, self.layers)
        )
        return ReducedChain(units, used, layers, self.rows[index])


def reduced(chain: ReluChain, phases: Tensor) -> ReducedChain:
    """The networks of cells whose units are known to be off, on or open, [N, all units]."""
    cells = len(phases)
    by_layer = torch.split(phases, list(chain.units), 1)
    before = chain.first.expand(cells, -1, -1)
    units, used, layers = [], [], []
    for layer, phase in enumerate(by_layer):
        number, there = _numbered(phase == OPEN)
        columns = before.shape[1]
        chosen = number.unsqueeze(1).expand(-1, columns, -1)
        units.append(number)
        used.append(there)
        layers.append(before.gather(2, chosen) * there.unsqueeze(1))
        behind = before.new_zeros(cells, columns + number.shape[1], phase.shape[1])
        torch.mul(before, (phase == ON).unsqueeze(1), out=behind[:, :columns])
        behind[:, columns:].scatter_(2, number.unsqueeze(2), there.unsqueeze(2).to(before.dtype))
        before = behind @ chain.weights[layer]
        before[:, 0] += chain.biases[layer]
    return ReducedChain(tuple(units), tuple(used), tuple(layers), before)


def _numbered(open_: Tensor) -> tuple[Tensor, Tensor]:
    """The open units of each cell, [N, K] with K the most that a cell has, and which are some."""
    counts = open_.sum(1)
    most = int(counts.max()) if len(counts) else 0
    order = open_.to(torch.uint8).sort(dim=1, descending=True, stable=True).indices[:, :most]
    return order, torch.arange(most) < counts.unsqueeze(1)
