"""The command `assay` in a child process that need not load its packages anew."""

from __future__ import annotations

import os
import sys
import tempfile
import types

import onnxruntime  # noqa: F401
import torch

from assay.cli.main import run


def assay(*words: object) -> tuple[int, str]:
    """Its exit code, and what it said: stdout, then stderr."""
    torch.set_num_threads(1)  # a fork does not keep a pool's threads
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            sys.argv = ["assay", *map(str, words)]
            # workers of the command import its main module, and this one they do not need
            sys.modules["__main__"] = types.ModuleType("__main__")
            code = 3
            try:
                run()
            except SystemExit as end:
                code = int(end.code or 0)
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        told = []
        for stream in (out, err):
            stream.seek(0)
            told.append(stream.read().decode())
    return os.waitstatus_to_exitcode(status), "".join(told)
