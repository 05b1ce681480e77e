"""Functions that engines do in other processes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from assay.errors import BadInput


def squared(number: int) -> int:
    return number * number


def place(_: int) -> tuple[str, str | None, str | None, str]:
    found = os.environ
    cwd = str(Path.cwd())
    return cwd, found.get("OMP_NUM_THREADS"), found.get("PYTHONHASHSEED"), found.get("MARK", "")


def difficult(number: int) -> int:
    if number == 1:
        raise BadInput("one is bad")
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 3:
        os._exit(7)
    return number


def faulty(number: int) -> int:
    return number // 0


def asleep(file: Path) -> None:
    file.write_text(str(os.getpid()))
    time.sleep(600)


def text_of(file: Path) -> tuple[str, str]:
    if not file.read_text():
        raise BadInput(f"{file}: is empty")
    return file.read_text(), f"read {file}"
