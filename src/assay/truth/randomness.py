"""Where a constructor's randomness comes from: its family, its knobs and the seed, nothing else.

Only integers are drawn: they do not depend on the platform's mathematics library, so the same
seed draws the same numbers everywhere. What a float search makes of them (the certificate of an
exact radius) is the same on any number of processes, but may differ between kinds of processors.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence
from numpy.typing import NDArray

from assay.truth.constructor import Knobs
from assay.truth.dyadic import CENTRE_BITS

Integers = NDArray[np.int64]


def generator(
    family: str, knobs: Knobs, seed: int, attempt: int = 0, *, but_for: frozenset[str] = frozenset()
) -> Generator:
    """A stream of its own for every family, setting of the knobs, seed and attempt.

    Settings that differ in the knobs `but_for` alone share theirs.
    """
    text = f"{family}|{knobs.model_dump_json(exclude=set(but_for))}|{seed}|{attempt}"
    digest = hashlib.sha256(text.encode()).digest()
    words = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, len(digest), 4)]
    return Generator(PCG64(SeedSequence(words)))


def centre(draw: Generator, inputs: int) -> tuple[Fraction, ...]:
    """A random input centre on its grid."""
    half = 1 << (CENTRE_BITS - 1)
    numerators = draw.integers(-half, half, size=inputs, endpoint=True)
    return tuple(Fraction(int(n), 1 << CENTRE_BITS) for n in numerators)


def signed(draw: Generator, largest: int, shape: tuple[int, ...]) -> Integers:
    """Integers in [-largest, largest] without zero."""
    magnitude = draw.integers(1, largest, size=shape, endpoint=True)
    return np.where(draw.integers(0, 2, size=shape) == 1, magnitude, -magnitude)
