"""What the sandbox's tests share: a task whose processes can all be found."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.judge.sandbox import Outcome, run_sandboxed
from assay.judge.task import Invocation, Limits

SOURCE = Path(__file__).resolve().parents[2] / "src"
PYTHON = (sys.executable, "-I", "-S", "-c")
ROOMY = Limits(wall_s=60.0, memory_mb=1000.0)
BRIEF = Limits(wall_s=0.4, memory_mb=1000.0)
LONG = "sleep 600"

with_and_without_cgroups = pytest.mark.parametrize(
    "use_cgroups", [pytest.param(True, id="cgroups"), pytest.param(False, id="proc")]
)


class Task:
    """Runs commands in one folder, all marked, and knows whether any is left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "task"
        self.outside = folder
        self.mark = f"ASSAY_TEST_MARK={folder.name}-{os.getpid()}-{time.monotonic_ns()}"

    def sh(self, script: str, limits: Limits = ROOMY, **options: object) -> Outcome:
        return self.run(("/bin/sh", "-c", script), limits, **options)

    def python(self, script: str, limits: Limits = ROOMY, **options: object) -> Outcome:
        return self.run((*PYTHON, textwrap.dedent(script)), limits, **options)

    def run(self, command: tuple[str, ...], limits: Limits, **options: object) -> Outcome:
        name, value = self.mark.split("=")
        result = str(options.pop("result", "result.txt"))
        invocation = Invocation(command, result=result, environment={name: value})
        started = time.monotonic()
        outcome = run_sandboxed(invocation, self.folder, limits, **options)  # type: ignore[arg-type]
        assert time.monotonic() - started < 45
        assert self.running() == []
        assert outcome.left_running == ()
        return outcome

    def running(self) -> list[int]:
        return [
            int(path.parent.name)
            for path in Path("/proc").glob("[0-9]*/environ")
            if self.mark.encode() in _bytes_of(path)
        ]


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> bool:
    give_up = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.02)
    return True
