"""No file keeps the checker busy for long, or fills the memory: 60 CPU seconds and 2 GB are enough.

Each claim is checked in a process of its own, under limits that the system enforces.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest
from hostile_files import HOSTILE, QUICK

CPU_SECONDS, BYTES = 60, 2 << 30


def limited_verdict(name: str) -> tuple[str, float]:
    """The verdict's line, and CPU seconds."""
    claim = HOSTILE[name]()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        before = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (before + BYTES, before + BYTES))
        try:
            line = claim.verdict().line()
        except BaseException as error:  # the parent is to hear of it
            line = f"{type(error).__name__}: {error}"
        os.write(writing, line[:1000].encode())
        os._exit(0)
    os.close(writing)
    _, _, used = os.wait4(child, 0)
    with os.fdopen(reading, "rb") as answer:
        line = answer.read().decode()
    return line, used.ru_utime + used.ru_stime


def check(name: str) -> None:
    line, seconds = limited_verdict(name)
    assert line.startswith(("s UNSUPPORTED", "s REJECTED", "s VERIFIED")), (line, seconds)


@pytest.mark.parametrize("name", QUICK)
def test_quick_refusals(name: str) -> None:
    check(name)


@pytest.mark.nightly
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [name for name in HOSTILE if name not in QUICK])
def test_every_claim_ends_in_time(name: str) -> None:
    check(name)


def test_there_are_a_hundred() -> None:
    assert len(HOSTILE) >= 100
