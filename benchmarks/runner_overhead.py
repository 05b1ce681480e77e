"""What the runner adds to a task: a tool that does nothing, alone and under the whole judge.

    python benchmarks/runner_overhead.py [--tasks 1000] [--jobs 1] [--suite quick] [--profile]

The same command is started by a bare `subprocess.run` (half of the calls before the run, half
after it, so that a machine that slows down is noticed) and by the runner, with its sandbox, log
files and results. The time of a task is the wall time of all divided by their number; CPU time
(of this process and all it started) says the same on a busy machine. The tool declares its
operators, so that the runner has to look into the networks, as for a real one.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from assay.judge.answers import read_vnncomp
from assay.judge.runner import Settings, run
from assay.judge.task import Invocation, Question
from assay.judge.verifier import Verifier
from assay.suite.build import build
from assay.suite.folder import BenchmarkFolder
from assay.suite.spec import load_suite

ALLOWED_MS = 50.0
OPERATORS = frozenset({"Add", "Flatten", "Gemm", "MatMul", "Relu", "Reshape", "Sub"})


def command(result: Path) -> tuple[str, ...]:
    return ("/bin/sh", "-c", 'echo unsat > "$1"', "no-op", str(result))


def invoke(_: Question, folder: Path) -> Invocation:
    return Invocation(command(folder / "result.txt"))


NO_OP = Verifier(
    name="no-op",
    summary="answers at once",
    install_hint="nothing",
    operators=OPERATORS,
    version=lambda: "1",
    invoke=invoke,
    read=read_vnncomp,
)


class Spent:
    """Wall and CPU seconds, of this process and its children, over some stretches of work."""

    def __init__(self) -> None:
        self.wall_s = self.cpu_s = 0.0

    def __enter__(self) -> None:
        self._began = time.perf_counter(), _cpu_s()

    def __exit__(self, *_: object) -> None:
        self.wall_s += time.perf_counter() - self._began[0]
        self.cpu_s += _cpu_s() - self._began[1]


def _cpu_s() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(sum(resource.getrusage(kind)[:2]) for kind in kinds)


def call_bare(calls: int, folder: Path) -> None:
    for _ in range(calls):
        subprocess.run(command(folder / "result.txt"), check=True)


def measure(tasks: int, jobs: int, suite: str, profile: bool) -> dict[str, Any]:
    base = Path(tempfile.mkdtemp(prefix="assay-overhead-"))
    try:
        build(load_suite(suite), base / "bench", seed=None, jobs=2)
        whole = BenchmarkFolder.open(base / "bench")
        repeat = -(-tasks // len(whole.entries))
        settings = Settings(timeout_s=60, repeat=repeat, jobs=jobs)
        bare, judged, profiler = Spent(), Spent(), cProfile.Profile()
        with bare:
            call_bare(tasks // 2, base)
        with profiler if profile else nullcontext(), judged:
            results = run(whole, [NO_OP], settings, base / "run")
        with bare:
            call_bare(tasks - tasks // 2, base)
        if profile:
            pstats.Stats(profiler, stream=sys.stderr).sort_stats("cumulative").print_stats(30)
        assert {r.ending for r in results} == {"answered"}
    finally:
        shutil.rmtree(base)
    bare_ms, judged_ms = 1000 * bare.wall_s / tasks, 1000 * judged.wall_s / len(results)
    bare_cpu_ms, judged_cpu_ms = 1000 * bare.cpu_s / tasks, 1000 * judged.cpu_s / len(results)
    return {
        "tasks": len(results),
        "jobs": jobs,
        "bare_ms": round(bare_ms, 2),
        "judged_ms": round(judged_ms, 2),
        "overhead_ms": round(judged_ms - bare_ms, 2),
        "overhead_cpu_ms": round(judged_cpu_ms - bare_cpu_ms, 2),
        "ratio": round(judged_ms / bare_ms, 1),
        "load": os.getloadavg()[0],
        "allowed_ms": ALLOWED_MS,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--suite", default="quick")
    parser.add_argument("--profile", action="store_true", help="show where the driver's time goes")
    options = parser.parse_args()
    found = measure(options.tasks, options.jobs, options.suite, options.profile)
    print(json.dumps(found, indent=1))
    return 0 if found["overhead_ms"] < ALLOWED_MS else 1


if __name__ == "__main__":
    sys.exit(main())
