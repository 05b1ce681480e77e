"""Random numbers by counter: block k of a stream is the same whoever draws it, and when.

A stream is known by a key, and its numbers come in blocks that are seeded one by one, so that
nothing depends on how many are asked for at once or on who else draws. A processor and a GPU have
different streams.
"""

from __future__ import annotations

import hashlib
from typing import Any, Protocol

import numpy as np
import torch
from numpy.random import SFC64, Generator, SeedSequence
from torch import Tensor

FEW_NUMBERS = 64
"""Up to so many inputs all 53 bits of a number count: small sets may be asked about."""

_WORDS = 624
_TWISTER = slice(24, 24 + 8 * _WORDS)
"""Where torch keeps the words of its Mersenne twister, 8 bytes each, behind a few counters."""


class Source(Protocol):
    """Arrays of one block: numpy's on a processor, torch's on a GPU; both know the same sums."""

    def uniform(self, rows: int, columns: int) -> Any: ...

    def normal(self, rows: int, columns: int) -> Any: ...

    def exponential(self, rows: int, columns: int) -> Any: ...

    def with_signs(self, array: Any) -> Any:
        """The same nonnegative numbers with random signs; the array is used up."""
        ...

    def lengths(self, array: Any) -> Any:
        """The l_2 norm of every row, [rows, 1]."""
        ...


def stream_key(*parts: object) -> tuple[int, ...]:
    """A key from whatever tells streams apart; arrays count with all their bytes."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.tobytes() if isinstance(part, np.ndarray) else str(part).encode()
        digest.update(hashlib.sha256(data).digest())
    return tuple(np.frombuffer(digest.digest(), np.uint32).tolist())


def block_source(key: tuple[int, ...], block: int, wide: bool, device: torch.device) -> Source:
    """The source of a block, where its numbers are wanted."""
    if device.type == "cpu":
        return ProcessorSource(key, block, wide)
    return DeviceSource(key, block, wide, device)


class ProcessorSource:
    """Block `block` of the stream `key`, in numpy."""

    def __init__(self, key: tuple[int, ...], block: int, wide: bool) -> None:
        sequence = SeedSequence(key, spawn_key=(block,))
        self._draw = Generator(SFC64(sequence))
        self._sequence = sequence
        self._wide = wide
        self._torch: torch.Generator | None = None

    def uniform(self, rows: int, columns: int) -> np.ndarray:
        if self._wide:
            return self._draw.random((rows, columns))
        return self._draw.random((rows, columns), dtype=np.float32)

    def normal(self, rows: int, columns: int) -> np.ndarray:
        if self._wide:
            return self._draw.standard_normal((rows, columns))
        # torch's Box-Muller is twice as fast as the ziggurat of numpy
        if self._torch is None:
            self._torch = _torch_generator(self._sequence)
        return torch.randn((rows, columns), generator=self._torch).numpy()

    def exponential(self, rows: int, columns: int) -> np.ndarray:
        if self._wide:
            return self._draw.standard_exponential((rows, columns))
        return self._draw.standard_exponential((rows, columns), dtype=np.float32)

    def with_signs(self, array: np.ndarray) -> np.ndarray:
        drawn = np.frombuffer(self._draw.bytes(-(-array.size // 8)), np.uint8)
        bits = np.unpackbits(drawn, count=array.size)
        array *= (1 - 2 * bits.astype(np.int8)).reshape(array.shape)
        return array

    def lengths(self, array: np.ndarray) -> np.ndarray:
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", array, array))[:, None])


def _torch_generator(sequence: SeedSequence) -> torch.Generator:
    """torch's Mersenne twister with a state that is drawn whole.

    `manual_seed` would keep 32 bits of a seed: of 100,000 blocks two would often be the same.
    """
    state = torch.Generator().manual_seed(0).get_state()
    state.numpy()[_TWISTER].view(np.uint64)[:] = sequence.generate_state(_WORDS, np.uint32)
    generator = torch.Generator()
    generator.set_state(state)
    return generator


class DeviceSource:
    """Block `block` of the stream `key`, on a GPU."""

    def __init__(self, key: tuple[int, ...], block: int, wide: bool, device: torch.device) -> None:
        state = SeedSequence(key, spawn_key=(block,)).generate_state(1, np.uint64)
        self._draw = torch.Generator(device).manual_seed(int(state[0] >> np.uint64(1)))
        self._kind = {"dtype": torch.float64 if wide else torch.float32, "device": device}

    def uniform(self, rows: int, columns: int) -> Tensor:
        return torch.rand((rows, columns), generator=self._draw, **self._kind)  # type: ignore[call-overload,no-any-return]

    def normal(self, rows: int, columns: int) -> Tensor:
        return torch.randn((rows, columns), generator=self._draw, **self._kind)  # type: ignore[call-overload,no-any-return]

    def exponential(self, rows: int, columns: int) -> Tensor:
        empty = torch.empty((rows, columns), **self._kind)  # type: ignore[call-overload]
        return empty.exponential_(generator=self._draw)  # type: ignore[no-any-return]

    def with_signs(self, array: Tensor) -> Tensor:
        return array.copysign_(self.uniform(*array.shape).sub_(0.5))

    def lengths(self, array: Tensor) -> Tensor:
        found: Tensor = torch.linalg.vector_norm(array, dim=1, keepdim=True)
        return found
