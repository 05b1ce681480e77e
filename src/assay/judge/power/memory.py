"""Searches of one question that begin alike: what was computed for one is kept for the others.

A lost or reordered domain changes a search only from there on, and often not at all: a domain that
would have been closed may as well be lost. So the bounds of a batch of domains are remembered by
all the numbers that they depend on, and a mutant that swaps none of the parts which compute them
gets the very same ones again. What was computed past the end of a search was cut short and is not
remembered.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from typing import Any

from torch import Tensor

from assay.bounds.branch import Search
from assay.bounds.counterexample import Falsifier
from assay.bounds.domains import Domains
from assay.judge.power.mutant import NOTHING, Mutant, Swap, swapped

_SEARCH, _BRANCH = "assay.bounds.branch:Search", "assay.bounds.branch"
_HARMLESS = {(_SEARCH, "_evaluated"), (_SEARCH, "_root"), (_SEARCH, "run"), (_BRANCH, "split")}
"""What may be swapped without touching how the bounds of given domains are computed."""
_MOST_DOMAINS, _MOST_ENTRIES = 64, 2000


class Memory:
    """Of one question, for searches in one process."""

    def __init__(self) -> None:
        self._kept: dict[bytes, Any] = {}

    def recalled(self, key: bytes, compute: Callable[[], Any], end: float = math.inf) -> Any:
        """`end` is when `compute` stops before it is done."""
        if key in self._kept:
            return self._kept[key]
        found = compute()
        if len(self._kept) < _MOST_ENTRIES and time.monotonic() < end:
            self._kept[key] = found
        return found


@contextmanager
def remembering(memory: Memory, mutant: Mutant | None) -> Iterator[None]:
    """Enter before the mutant's swaps, so that these see what is remembered."""
    swaps = {(s.owner, s.attribute) for s in mutant.swaps} if mutant is not None else set()
    with ExitStack() as undo:
        if swaps <= _HARMLESS:
            for swap in _swaps(memory, chooses=(_BRANCH, "split") not in swaps):
                undo.enter_context(swapped(swap, NOTHING))
        yield


def _swaps(memory: Memory, *, chooses: bool) -> Iterator[Swap]:
    def evaluating(original: Any, _: Any) -> Any:
        def evaluated(search: Search, domains: Domains, steps: int) -> Any:
            if len(domains) > _MOST_DOMAINS:
                return original(search, domains, steps)
            before = search.boxes
            key = _fingerprint("bounds", steps, _tensors(domains))
            found = memory.recalled(key, lambda: original(search, domains, steps), search.end)
            search.boxes = before + len(domains)
            return found

        return evaluated

    def choosing(original: Any, _: Any) -> Any:
        def chosen(search: Search, domains: Domains) -> Any:
            if len(domains) > _MOST_DOMAINS:
                return original(search, domains)
            key = _fingerprint("choice", 0, _tensors(domains))
            return memory.recalled(key, lambda: original(search, domains), search.end)

        return chosen

    def descending(original: Any, _: Any) -> Any:
        def descended(falsifier: Falsifier, points: Tensor, steps: int) -> Any:
            key = _fingerprint("descent", steps, [points])
            return memory.recalled(key, lambda: original(falsifier, points, steps))

        return descended

    yield Swap(_SEARCH, "_evaluated", evaluating)
    yield Swap("assay.bounds.counterexample:Falsifier", "descended", descending)
    if chooses:
        yield Swap(_SEARCH, "_chosen", choosing)


def _tensors(domains: Domains) -> Iterator[Tensor]:
    for part in fields(domains):
        value = getattr(domains, part.name)
        if isinstance(value, Tensor):
            yield value
        else:
            yield from (value[name] for name in sorted(value))


def _fingerprint(what: str, steps: int, tensors: Iterable[Tensor]) -> bytes:
    digest = hashlib.blake2b(f"{what} {steps}".encode(), digest_size=16)
    for tensor in tensors:
        digest.update(str(tuple(tensor.shape)).encode())
        digest.update(tensor.detach().contiguous().numpy().tobytes())
    return digest.digest()
