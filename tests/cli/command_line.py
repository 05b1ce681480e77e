"""Runs the command `assay`, or a small program, as a person does: in a process of its own."""

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
    taken = {name: path for name, path in (("stdout", stdout), ("stderr", stderr)) if path}
    return _run({"command": [*map(str, command)]}, cwd, given, environment, taken)


def python(
    source: str, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program as `python -c` does."""
    return _run({"source": source}, cwd, "", environment, {})


def _run(
    asked: dict[str, object],
    cwd: Path | None,
    given: str,
    environment: dict[str, str],
    taken: dict[str, str],
) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder:
        streams = {name: Path(folder, name) for name in ("stdin", "stdout", "stderr")}
        streams["stdin"].write_text(given)
        streams["stdout"].touch()
        streams["stderr"].touch()
        request = {
            **asked,
            "cwd": str(cwd or Path.cwd()),
            "environment": {**os.environ, **environment},
            **{name: str(path) for name, path in streams.items()},
            **taken,
        }
        code = _answer(json.dumps(request))
        return subprocess.CompletedProcess(
            [*asked.values()], code, streams["stdout"].read_text(), streams["stderr"].read_text()
        )


def without(*packages: str) -> dict[str, str]:
    """The environment of a command, and of what it starts, where these are not installed."""
    path = [str(PRELOADED.with_name("without_packages")), os.environ.get("PYTHONPATH", "")]
    return {
        "HIDDEN_PACKAGES": ",".join(packages),
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
    }


def _answer(request: str) -> int:
    server = _server(json.loads(request)["environment"].get("HIDDEN_PACKAGES", ""))
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
def _server(hidden: str) -> subprocess.Popen[str]:
    hiding = without(hidden) if hidden else {}
    return subprocess.Popen(
        [sys.executable, "-P", str(PRELOADED)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # More threads would be lost in a fork.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **hiding},
    )
