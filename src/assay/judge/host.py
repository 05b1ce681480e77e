"""What a machine is, for the record of a run: times mean nothing without it."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from assay.engine.work import available_cores

MEGABYTE = 1 << 20


def this_host() -> dict[str, str | int]:
    """Name, processor, cores that may be used, memory, system and Python of this machine."""
    return {
        "name": platform.node(),
        "processor": _processor(),
        "cores": available_cores(),
        "memory_mb": memory_mb(),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def memory_mb() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MEGABYTE


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
