"""A convolution as an affine layer over the flattened tensors, without its large matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class ConvLayer:
    """Filters (out, in, height, width) and a bias each, over one image (in, height, width).

    Padding is top, left, bottom, right; no dilation, one group.
    """

    kernel: NDArray[np.float32]
    bias: NDArray[np.float32]
    image: tuple[int, int, int]
    strides: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)

    @property
    def positions(self) -> tuple[int, int]:
        room = [
            self.image[i + 1] + self.pads[i] + self.pads[i + 2] - self.kernel.shape[i + 2]
            for i in (0, 1)
        ]
        return room[0] // self.strides[0] + 1, room[1] // self.strides[1] + 1

    @property
    def output(self) -> tuple[int, int, int]:
        return (len(self.kernel), *self.positions)

    @property
    def filters(self) -> NDArray[np.float32]:
        """One row of taps for each filter."""
        return self.kernel.reshape(len(self.kernel), -1)

    @property
    def unit_bias(self) -> NDArray[np.float32]:
        """One bias for each unit, in C order."""
        return np.repeat(self.bias, prod(self.positions))

    @cached_property
    def windows(self) -> NDArray[np.int64]:
        """(taps, positions): the input that a tap reads, or the number of inputs for padding."""
        inputs = np.arange(prod(self.image)).reshape(self.image)
        edges = ((0, 0), self.pads[0::2], self.pads[1::2])
        framed = np.pad(inputs, edges, constant_values=inputs.size)
        views = np.lib.stride_tricks.sliding_window_view(framed, self.kernel.shape[2:], axis=(1, 2))
        chosen = views[:, :: self.strides[0], :: self.strides[1]]
        return np.ascontiguousarray(chosen.transpose(0, 3, 4, 1, 2)).reshape(
            self.filters.shape[1], -1
        )

    def times(
        self, filters: NDArray[np.float64], values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The convolution of a flat vector with filters of this geometry, without bias."""
        padded = np.append(values, 0.0)
        product: NDArray[np.float64] = filters @ padded[self.windows]
        return product.ravel()

    def dense(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The same map as a weight matrix and a bias; for small images."""
        places = prod(self.positions)
        matrix = np.zeros((len(self.kernel), places, prod(self.image) + 1), np.float32)
        matrix[:, np.arange(places)[None, :], self.windows] = self.filters[:, :, None]
        return matrix[:, :, :-1].reshape(len(self.kernel) * places, -1), self.unit_bias
