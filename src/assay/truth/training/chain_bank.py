"""A bank of networks whose layers follow one another."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from assay.truth.training.architectures import SIDE, Chain, Conv, Dense, Pool, input_shape, size
from assay.truth.training.bank import Parameters, stacked, uniform

_PLACES = SIDE * SIDE
_TAPS = 9
_SIXTEEN = 16
_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
}


class ChainBank:
    def __init__(
        self, chain: Chain, channels: int, classes: int, seeds: list[int], device: torch.device
    ) -> None:
        self._classes = classes
        self._layers = (*chain.layers, Dense(classes))
        self._shape = input_shape(chain, channels)
        self._activation = _ACTIVATIONS[chain.activation]
        self._steady = float(self._activation(torch.ones(())))
        self.parameters: Parameters = stacked([self._drawn(seed) for seed in seeds], device)
        self.statistics: Parameters = {}
        self._taps = _taps().to(device)
        self._mean = _mean_of_neighbours().to(device)

    def _drawn(self, seed: int) -> Parameters:
        draw = torch.Generator().manual_seed(seed)
        drawn: Parameters = {}
        channels, inputs = self._shape[0], size(self._shape)
        for position, layer in enumerate(self._layers):
            if isinstance(layer, Pool):
                continue
            if isinstance(layer, Conv):
                shape: tuple[int, ...] = (layer.filters, channels, _TAPS)
                fan_in, outputs = channels * _TAPS, layer.filters
                channels, inputs = layer.filters, layer.filters * _PLACES
            else:
                shape, fan_in, outputs = (inputs, layer.width), inputs, layer.width
                inputs = layer.width
            drawn[f"weight{position}"] = uniform(draw, shape, fan_in)
            drawn[f"bias{position}"] = uniform(draw, (outputs,), fan_in)
        return drawn

    def frozen(self, *, fast: bool = False) -> list[Tensor]:
        """A matrix and a row of biases for each layer but pools, which join the next matrix."""
        made = self._matrices()
        return _aligned(made, self._steady) if fast else made

    def _matrices(self) -> list[Tensor]:
        made: list[Tensor] = []
        pooled = False
        for position, layer in enumerate(self._layers):
            if isinstance(layer, Pool):
                pooled = True
                continue
            weight = self.parameters[f"weight{position}"]
            bias = self.parameters[f"bias{position}"]
            if isinstance(layer, Conv):
                weight = self._matrix(weight)
                bias = bias.repeat_interleave(_PLACES, dim=1)
            if pooled:
                channels = weight.shape[1] // _PLACES
                split = weight.view(weight.shape[0], channels, _PLACES, -1)
                weight = torch.einsum("pq,mcqo->mcpo", self._mean, split).flatten(1, 2)
                pooled = False
            made += [weight, bias.unsqueeze(1)]
        return made

    def run(self, frozen: list[Tensor], points: Tensor) -> Tensor:
        if frozen[0].dtype == torch.float16:
            return self._run_fast(frozen, points)
        values = points
        for position in range(0, len(frozen), 2):
            if position:
                values = self._activation(values)
            values = torch.baddbmm(frozen[position + 1], values, frozen[position])
        return values

    def _run_fast(self, frozen: list[Tensor], points: Tensor) -> Tensor:
        """A point as the sum of two halves keeps its digits; the slope flows through one."""
        coarse = points.detach().half()
        one = coarse.new_ones(*coarse.shape[:2], 1)
        values = torch.cat([(points - coarse).half(), coarse, one], 2)
        values = torch.nn.functional.pad(values, (0, frozen[0].shape[1] - values.shape[2]))
        for position, matrix in enumerate(frozen):
            if position:
                values = self._activation(values)
            values = torch.bmm(values, matrix)
        return values[..., : self._classes].float()

    def train(self, points: Tensor, weights: Tensor) -> Tensor:  # noqa: ARG002
        return self.run(self.frozen(), points)

    def _matrix(self, filters: Tensor) -> Tensor:
        """[networks, out, in, taps] -> [networks, in * places, out * places]."""
        padded = torch.nn.functional.pad(filters, (0, 1))
        spread = padded[..., self._taps]
        networks, out, read = filters.shape[:3]
        return spread.permute(0, 2, 3, 1, 4).reshape(networks, read * _PLACES, out * _PLACES)


def _aligned(matrices: list[Tensor], steady: float) -> list[Tensor]:
    """Matrices in half precision with sides of sixteens, and the biases in them.

    The first reads a point's fine part, its coarse part and a one. Every layer hands the one on:
    its unit after the real ones is 1 before the activation, `steady` behind it.
    """
    made: list[Tensor] = []
    for position in range(0, len(matrices), 2):
        weight, bias = matrices[position : position + 2]
        if position == 0:
            weight = torch.cat([weight, weight], 1)
        one = 1.0 if position == 0 else 1 / steady
        networks, rows, columns = weight.shape
        handed = weight.new_zeros(networks, rows + 1, 1)
        handed[:, -1] = one
        joined = torch.cat([torch.cat([weight, bias * one], 1), handed], 2)
        sides = (0, -(columns + 1) % _SIXTEEN, 0, -(rows + 1) % _SIXTEEN)
        made.append(torch.nn.functional.pad(joined.half(), sides))
    return made


def _taps() -> Tensor:
    """For places p (read) and q (written): the filter's tap between them, or one past the last."""
    rows, columns = torch.arange(_PLACES) // SIDE, torch.arange(_PLACES) % SIDE
    down = rows[:, None] - rows[None, :] + 1
    right = columns[:, None] - columns[None, :] + 1
    near = (down >= 0) & (down < 3) & (right >= 0) & (right < 3)
    return torch.where(near, 3 * down + right, _TAPS)


def _mean_of_neighbours() -> Tensor:
    """[places read, places written]: one ninth between neighbours."""
    return (_taps() < _TAPS).float() / _TAPS
