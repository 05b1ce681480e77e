"""A bank of small vision transformers: a token a pixel, batch normalisation, ReLU.

Normalisation by statistics of the batch while training; by running averages of them, as one affine
map a channel, whenever the network is attacked or written.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from assay.truth.training.architectures import SIDE, Transformer
from assay.truth.training.bank import Parameters, stacked, uniform

_PLACES = SIDE * SIDE
TOKENS = _PLACES + 1
_MOMENTUM = 0.1
LEAST_VARIANCE = 1e-5
Normalise = Callable[[str, Tensor], Tensor]


class TransformerBank:
    def __init__(
        self,
        architecture: Transformer,
        channels: int,
        classes: int,
        seeds: list[int],
        device: torch.device,
    ) -> None:
        self._architecture = architecture
        self._channels, self._classes = channels, classes
        self.parameters: Parameters = stacked([self._drawn(seed) for seed in seeds], device)
        width = architecture.width
        self.statistics: Parameters = {}
        for norm in self._norms():
            self.statistics[f"{norm}.mean"] = torch.zeros(len(seeds), width, device=device)
            self.statistics[f"{norm}.variance"] = torch.ones(len(seeds), width, device=device)

    def _norms(self) -> list[str]:
        blocks = range(self._architecture.depth)
        return [f"{b}.{part}" for b in blocks for part in ("attention", "forward")] + ["head"]

    def _drawn(self, seed: int) -> Parameters:
        draw = torch.Generator().manual_seed(seed)
        width = self._architecture.width
        hidden = width * self._architecture.expansion
        drawn: Parameters = {
            "embed.weight": uniform(draw, (self._channels, width), self._channels),
            "embed.bias": uniform(draw, (width,), self._channels),
            "class": torch.zeros(width),
            "positions": torch.zeros(TOKENS, width),
        }

        def linear(name: str, inputs: int, outputs: int) -> None:
            drawn[f"{name}.weight"] = uniform(draw, (inputs, outputs), inputs)
            drawn[f"{name}.bias"] = uniform(draw, (outputs,), inputs)

        for block in range(self._architecture.depth):
            for part in ("query", "key", "value", "out"):
                linear(f"{block}.{part}", width, width)
            linear(f"{block}.rise", width, hidden)
            linear(f"{block}.fall", hidden, width)
        linear("read", width, self._classes)
        for norm in self._norms():
            drawn[f"{norm}.scale"] = torch.ones(width)
            drawn[f"{norm}.shift"] = torch.zeros(width)
        return drawn

    def frozen(self, *, fast: bool = False) -> list[Tensor]:
        """Parameters in name order, then a factor and an offset for each normalisation."""
        made = [self.parameters[name] for name in sorted(self.parameters)]
        for norm in self._norms():
            made += self._affine(
                norm, self.statistics[f"{norm}.mean"], self.statistics[f"{norm}.variance"]
            )
        return [tensor.half() for tensor in made] if fast else made

    def run(self, frozen: list[Tensor], points: Tensor) -> Tensor:
        names = sorted(self.parameters)
        given = dict(zip(names, frozen, strict=False))
        affine = frozen[len(names) :]
        order = self._norms()

        def normalise(norm: str, values: Tensor) -> Tensor:
            at = 2 * order.index(norm)
            return values * _along(affine[at], values) + _along(affine[at + 1], values)

        return self._forward(given, points, normalise)

    def train(self, points: Tensor, weights: Tensor) -> Tensor:
        def normalise(norm: str, values: Tensor) -> Tensor:
            counts = weights / weights.sum(1, keepdim=True)
            inner = values if values.dim() == 3 else values.mean(2)
            mean = torch.einsum("mb,mbw->mw", counts, inner)
            centred = values - _along(mean, values)
            squares = centred.square() if values.dim() == 3 else centred.square().mean(2)
            variance = torch.einsum("mb,mbw->mw", counts, squares)
            with torch.no_grad():
                for name, seen in (("mean", mean), ("variance", variance)):
                    kept = self.statistics[f"{norm}.{name}"]
                    kept.copy_(kept + _MOMENTUM * (seen.detach() - kept))
            factor, offset = self._affine(norm, mean, variance)
            return values * _along(factor, values) + _along(offset, values)

        return self._forward(self.parameters, points, normalise)

    def _affine(self, norm: str, mean: Tensor, variance: Tensor) -> list[Tensor]:
        factor = self.parameters[f"{norm}.scale"] * torch.rsqrt(variance + LEAST_VARIANCE)
        return [factor, self.parameters[f"{norm}.shift"] - mean * factor]

    def _forward(self, given: Parameters, points: Tensor, normalise: Normalise) -> Tensor:
        networks, count, _ = points.shape
        width, heads = self._architecture.width, self._architecture.heads

        def linear(name: str, values: Tensor) -> Tensor:
            flat = values.reshape(networks, -1, values.shape[-1])
            made = torch.baddbmm(given[f"{name}.bias"].unsqueeze(1), flat, given[f"{name}.weight"])
            return made.view(*values.shape[:-1], -1)

        pixels = points.view(networks, count, self._channels, _PLACES).transpose(2, 3)
        # The few channels of a pixel are multiplied in full precision, whatever follows.
        tokens = torch.einsum("mbpc,mcw->mbpw", pixels, given["embed.weight"].float())
        tokens = (tokens + given["embed.bias"].view(networks, 1, 1, width)).to(given["class"].dtype)
        first = given["class"].view(networks, 1, 1, width).expand(-1, count, -1, -1)
        values = torch.cat([first, tokens], 2) + given["positions"].unsqueeze(1)
        for block in range(self._architecture.depth):
            seen = normalise(f"{block}.attention", values)
            query, key, value = (
                linear(f"{block}.{part}", seen)
                .view(networks, count, TOKENS, heads, width // heads)
                .transpose(2, 3)
                for part in ("query", "key", "value")
            )
            mixed = torch.nn.functional.scaled_dot_product_attention(
                query.flatten(0, 1), key.flatten(0, 1), value.flatten(0, 1)
            )
            joined = mixed.transpose(1, 2).reshape(networks, count, TOKENS, width)
            values = values + linear(f"{block}.out", joined)
            risen = torch.relu(linear(f"{block}.rise", normalise(f"{block}.forward", values)))
            values = values + linear(f"{block}.fall", risen)
        return linear("read", normalise("head", values.mean(2))).float()


def _along(vectors: Tensor, values: Tensor) -> Tensor:
    """[networks, width] in a shape that spreads over [networks, ..., width]."""
    return vectors.view(values.shape[0], *[1] * (values.dim() - 2), values.shape[-1])
