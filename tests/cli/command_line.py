"""Runs the command `assay` as a person does: in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def assay(
    *command: object, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "assay.cli.main", *map(str, command)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
