"""Streams and blocks of random numbers are told apart by all that tells them apart."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from assay.analyse.randomness import ProcessorSource, stream_key


def test_blocks_differ_whose_seeds_share_32_bits() -> None:
    """Found by search: torch keeps 32 bits of a seed, which made these two blocks the same."""
    first, second = (ProcessorSource((7,), block, False) for block in (72_181, 100_562))
    assert not np.isin(first.normal(4, 100), second.normal(4, 100)).any()


def test_a_block_is_the_same_whoever_draws_it() -> None:
    first, second = (ProcessorSource((7,), 3, False).normal(64, 100) for _ in range(2))
    assert (first == second).all()
    assert abs(first.mean()) < 5 / 80
    assert abs(first.var() - 1) < 5 * 2**0.5 / 80


def test_keys_tell_seeds_purposes_and_regions_apart() -> None:
    point = np.array([0.5, 0.25])
    keys = [
        stream_key(0, "", point, 0.1, "2"),
        stream_key(1, "", point, 0.1, "2"),
        stream_key(0, "copy 1", point, 0.1, "2"),
        stream_key(0, "", point + 1e-12, 0.1, "2"),
        stream_key(0, "", point, 0.1 + 1e-12, "2"),
        stream_key(0, "", point, 0.1, "1"),
        stream_key(0, "", point[:1], point[1:], 0.1, "2"),
    ]
    assert all(a != b for a, b in combinations(keys, 2))
