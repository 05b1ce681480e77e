"""A process that has read all modules and makes one child a command.

Reading torch and the like takes two seconds, which the hundreds of commands of these tests would
each pay again. A request is a line of JSON, and so is its answer. Nothing is computed here, so that
no thread is lost when it forks.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import importlib.util
import json
import os
import pkgutil
import sys
import threading
import traceback
import types
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import assay
from assay.optional_packages import MissingPackage

PACKAGES = (
    "scipy.stats",
    "torch",
    "scipy.optimize",
    "scipy.sparse",
    "onnx.reference",
    "pydantic",
    "rich.table",
)
"""Not onnxruntime: it keeps a thread, which a fork would lose and the end of a child wait for."""
NOT_READ = ("assay.judge.drivers.", "assay.judge.builtin.", "assay.engine.cluster", "__main__")
"""What runs in processes of its own, or brings threads along."""


def preload() -> None:
    here = [name for name in PACKAGES if importlib.util.find_spec(name.partition(".")[0])]
    for name in (*here, "assay.cli.main"):
        importlib.import_module(name)
    for found in pkgutil.walk_packages(assay.__path__, "assay."):
        if not any(part in found.name for part in NOT_READ):
            with suppress(ModuleNotFoundError, MissingPackage):  # what is hidden here
                importlib.import_module(found.name)
    if len([*Path("/proc/self/task").iterdir()]) > 1:
        raise RuntimeError("a package started a thread; leave it out of what is read beforehand")


def become(request: dict[str, Any]) -> None:
    """The command that was asked for, as `python -m assay.cli.main` would run it, or a program."""
    for descriptor, path in enumerate((request["stdin"], request["stdout"], request["stderr"])):
        opened = os.open(path, os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_TRUNC)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    asked = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [folder for folder in asked if folder and folder not in sys.path]
    if "source" in request:
        _run_program(request["source"])
    from assay.cli import main

    sys.argv = [str(main.__file__), *request["command"]]
    sys.modules["__main__"] = main  # what processes that it spawns import again
    main.run()


def _run_program(source: str) -> NoReturn:
    program = types.ModuleType("__main__")
    sys.argv, sys.modules["__main__"] = ["-c"], program
    sys.path.insert(0, "")
    exec(compile(source, "<string>", "exec"), program.__dict__)  # noqa: S102 - that is what it is for
    sys.exit(0)


def _end(request: dict[str, Any]) -> NoReturn:
    """Run the command to its end, without taking all modules apart again: that costs a second."""
    try:
        become(request)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # as the interpreter does: threads first, then what was registered
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def serve() -> None:
    preload()
    gc.freeze()  # what is read already stays shared with the children
    # Of its own, so that no child can read a request that is not its own.
    requests = os.fdopen(os.dup(0))
    answers = os.fdopen(os.dup(1), "w")
    for line in requests:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _end(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


if __name__ == "__main__":
    serve()
