"""A certificate's arrays: 32-bit little-endian signed words that must be used up exactly."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import islice

from assay.proof.arithmetic import Rejected, Unsupported

Words = Iterator[int]
_MOST_BYTES = 1 << 26


def words_of(arrays: bytes) -> Words:
    if len(arrays) > _MOST_BYTES:
        raise Unsupported("the certificate's arrays are larger than the checker reads")
    if len(arrays) % 4:
        raise Rejected("the certificate's arrays are not whole words")
    return (word for (word,) in struct.iter_unpack("<i", arrays))


def take(words: Words, count: int) -> list[int]:
    taken = list(islice(words, count))
    if len(taken) < count:
        raise Rejected("the certificate's arrays end too early")
    return taken


def one(words: Words, least: int, most: int) -> int:
    (word,) = take(words, 1)
    if not least <= word <= most:
        raise Rejected(f"{word} in the certificate's arrays is not between {least} and {most}")
    return word
