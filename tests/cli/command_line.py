"""Runs the command `assay` as a person does: in a process of its own."""

from __future__ import annotations

import functools
import json
import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path

PRELOADED = Path(__file__).with_name("preloaded_command.py")
LONGEST_S = 300


def assay(
    *command: object,
    cwd: Path | None = None,
    given: str = "",
    stdout: str = "",
    stderr: str = "",
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run it; `stdout` and `stderr` name files that take the streams, such as /dev/full."""
    with tempfile.TemporaryDirectory() as folder:
        streams = {name: Path(folder, name) for name in ("stdin", "stdout", "stderr")}
        streams["stdin"].write_text(given)
        streams["stdout"].touch()
        streams["stderr"].touch()
        words = [*map(str, command)]
        request = {
            "command": words,
            "cwd": str(cwd or Path.cwd()),
            "environment": {**os.environ, **environment},
            **{name: str(path) for name, path in streams.items()},
            **{name: path for name, path in (("stdout", stdout), ("stderr", stderr)) if path},
        }
        code = _answer(json.dumps(request))
        return subprocess.CompletedProcess(
            words, code, streams["stdout"].read_text(), streams["stderr"].read_text()
        )


def _answer(request: str) -> int:
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    print(request, file=server.stdin, flush=True)
    ready, _, _ = select.select([server.stdout], [], [], LONGEST_S)
    if not ready:
        server.kill()
        _server.cache_clear()
        raise TimeoutError(request)
    return int(server.stdout.readline())


@functools.cache
def _server() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", str(PRELOADED)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # more would be threads, lost in a fork
    )
