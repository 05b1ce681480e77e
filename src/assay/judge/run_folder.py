"""A run on disk: what was asked (run.json), what came (results.jsonl), the logs.

`results.jsonl` only grows, one flushed line for each finished task, so a run may be killed at any
moment; a torn last line is cut off when the run goes on. A folder belongs to one benchmark (by
the hash of its bytes) and one set of limits; anything else is refused.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from assay.errors import BadInput
from assay.judge.execute import Executed
from assay.judge.results import Result, read_results
from assay.suite.folder import BenchmarkFolder

RUN_FILE = "run.json"
RESULTS_FILE = "results.jsonl"
LOGS = "logs"


def benchmark_sha256(folder: BenchmarkFolder) -> str:
    """A hash of the questions: names and bytes, in the order of the list."""
    digest = hashlib.sha256()
    for entry in folder.entries:
        for path in (entry.onnx, entry.vnnlib):
            digest.update(f"{entry.name}\0{path.name}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@dataclass
class RunFolder:
    """An open run: the results so far, and a place to put new ones."""

    path: Path
    stream: IO[str]
    finished: list[Result]

    @property
    def done(self) -> set[tuple[str, str, int]]:
        return {(r.instance, r.verifier, r.repeat) for r in self.finished}

    def add(self, executed: Executed) -> Result:
        """Keep a finished task: its log first, then the line that makes it count."""
        result = executed.result
        name = f"{result.verifier}/{result.instance}.{result.repeat}.log"
        log = self.path / LOGS / name
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(executed.log)
        kept = Result(**{**vars(result), "log": f"{LOGS}/{name}"})
        self.stream.write(kept.to_line())
        self.stream.flush()
        os.fsync(self.stream.fileno())
        self.finished.append(kept)
        return kept


@contextmanager
def open_run(path: Path, plan: Mapping[str, Any]) -> Iterator[RunFolder]:
    """Begin or continue the run in `path`; `plan` must be what began it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        _refuse_foreign(path, plan)
        with (path / RESULTS_FILE).open("a+", encoding="utf-8") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BadInput(f"{path}: another run is writing here; wait for it") from None
            _write_plan(path, plan)
            _cut_torn_line(stream)
            yield RunFolder(path, stream, list(read_results(path / RESULTS_FILE)))
    except OSError as error:
        raise BadInput(
            f"cannot write {error.filename or path}: {error.strerror}; make room or choose another "
            "folder, and run the same command again"
        ) from None


def read_plan(path: Path) -> dict[str, Any]:
    try:
        plan = json.loads((path / RUN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise BadInput(f"{path}: has no readable {RUN_FILE}; give the folder of a run") from None
    if not isinstance(plan, dict):
        raise BadInput(f"{path / RUN_FILE}: is not a JSON object; give the folder of a run")
    return plan


def _refuse_foreign(path: Path, plan: Mapping[str, Any]) -> None:
    if not (path / RUN_FILE).exists():
        if any(entry.name != RESULTS_FILE for entry in path.iterdir()):
            raise BadInput(f"{path}: holds something else; choose a new folder for the run")
        return
    found = read_plan(path)
    for key, value in plan.items():
        if found.get(key) != value:
            raise BadInput(
                f"{path}: belongs to a run with another {key.replace('_', ' ')}; "
                "choose a new folder"
            )


def _write_plan(path: Path, plan: Mapping[str, Any]) -> None:
    if (path / RUN_FILE).exists():
        return
    temporary = path / f"{RUN_FILE}.new"
    temporary.write_text(json.dumps(plan, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    temporary.replace(path / RUN_FILE)


def _cut_torn_line(stream: IO[str]) -> None:
    """Remove what a killed runner left of a line."""
    descriptor = stream.fileno()
    size = os.fstat(descriptor).st_size
    end = size
    while end > 0 and os.pread(descriptor, 1, end - 1) != b"\n":
        end -= 1
    if end < size:
        os.ftruncate(descriptor, end)
