"""Follow a VNN-COMP tool's scripts: SCRIPTS CATEGORY ONNX VNNLIB RESULT TIMEOUT.

Both scripts run within the task's limits. Many prepare_instance.sh end all processes of a name,
which on the competition's machine are only their own; here that would end whatever else runs, so
`killall` and `pkill` do nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_PROTOCOL = "v1"


def main(scripts: str, category: str, onnx: str, vnnlib: str, result: str, timeout: str) -> int:
    blocked = Path(result).parent / "blocked-commands"
    blocked.mkdir()
    for name in ("killall", "pkill"):
        (blocked / name).write_text("#!/bin/sh\nexit 1\n")
        (blocked / name).chmod(0o755)
    os.environ["PATH"] = f"{blocked}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    question = (_PROTOCOL, category, onnx, vnnlib)
    prepared = subprocess.run(["bash", f"{scripts}/prepare_instance.sh", *question], check=False)
    if prepared.returncode == 0:
        run = f"{scripts}/run_instance.sh"
        os.execvp("bash", ["bash", run, *question, result, timeout])
    Path(result).write_text(f"prepare_instance_error_{prepared.returncode}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
