"""A run on disk: what was asked and where (run.json), what came (results.jsonl), the logs.

`results.jsonl` only grows, one flushed line for each finished task, so a run may be killed at any
moment; a torn last line is cut off when the run goes on. A folder belongs to one benchmark (by
the hash of its bytes), one set of limits and one version of each verifier; anything else is
refused. Machines may change: each session adds its own record.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.errors import BadInput
from assay.judge.execute import Executed
from assay.judge.results import Result, read_results
from assay.store.file_lock import locked
from assay.store.line_file import LineFile
from assay.store.whole_file import unfinished, write_whole, writing
from assay.suite.folder import BenchmarkFolder
from assay.suite.proved_truths import Hashes, question_hashes

RUN_FILE = "run.json"
RESULTS_FILE = "results.jsonl"
LOGS = "logs"
_BEGUN = (unfinished(Path(RUN_FILE)).name, f"{RUN_FILE}.new")
"""What a start that was killed may leave, today and in earlier versions."""
_MOST_NAMED = 3
_OPTIONS = {
    "timeout_s": "--timeout",
    "memory_mb": "--memory",
    "cpu_s": "--cpu-time",
    "repeat": "--repeat",
    "seed": "--seed",
}


def benchmark_sha256(folder: BenchmarkFolder, hashes: Hashes | None = None) -> str:
    """A hash of the questions: names and bytes, in the order of the list."""
    hashes = hashes or question_hashes(folder)
    digest = hashlib.sha256()
    for entry in folder.entries:
        for path, found in zip((entry.onnx, entry.vnnlib), hashes[entry.name], strict=True):
            digest.update(f"{entry.name}\0{path.name}\0".encode())
            digest.update(bytes.fromhex(found))
    return digest.hexdigest()


@dataclass
class RunFolder:
    """An open run: the results so far, and a place to put new ones."""

    path: Path
    lines: LineFile
    document: dict[str, Any]
    finished: list[Result]

    @property
    def done(self) -> set[tuple[str, str, int]]:
        return {(r.instance, r.verifier, r.repeat) for r in self.finished}

    def begin_session(self, session: Mapping[str, Any]) -> None:
        """Put on record what is asked, of whom, and where it runs this time."""
        self.document["sessions"] = [*self.document["sessions"], session]
        text = json.dumps(self.document, indent=1, sort_keys=True) + "\n"
        write_whole(self.path / RUN_FILE, text, durable=True)

    def add(self, executed: Executed) -> Result:
        """Keep a finished task: its log first, then the line that makes it count."""
        result = executed.result
        name = f"{LOGS}/{result.verifier}/{result.instance}.{result.repeat}.log"
        kept = replace(result, log=name)
        with writing(self.path):
            log = self.path / name
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_bytes(executed.log)
        self.lines.append_bytes(kept.to_line().encode(), durable=True)
        self.finished.append(kept)
        return kept


@contextmanager
def open_run(
    path: Path,
    benchmark: Path,
    plan: Mapping[str, Any],
    versions: Mapping[str, str],
    tools: Mapping[str, Mapping[str, Any]] | None = None,
) -> Iterator[RunFolder]:
    """Begin or continue the run in `path`; `plan` must be what began it.

    Verifiers may join, but one that is there keeps its version. `benchmark` is where its files
    are; that may change as long as the bytes do not. `tools` says which `files`, by hash, the
    version of a verifier rests on, and how a user's own tool was named.
    """
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
        _document(path, plan, versions, tools)  # a folder that is not ours is left as it is
        busy = f"{path}: another run is writing here; wait for it"
        handle = locked(path / RESULTS_FILE, busy, os.O_APPEND)
    try:
        document = _document(path, plan, versions, tools)
        document["benchmark"] = str(benchmark.absolute())
        lines = LineFile(path / RESULTS_FILE, handle)
        lines.cut(lines.size)  # what a killed runner left of a line
        yield RunFolder(path, lines, document, list(read_results(path / RESULTS_FILE)))
    finally:
        os.close(handle)


def refuse_other_run(
    path: Path,
    plan: Mapping[str, Any],
    versions: Mapping[str, str],
    tools: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Raise BadInput where a run with this plan, or the part of it given, could not go on."""
    if path.exists():
        with writing(path):
            _document(path, plan, versions, tools)


def said_setting(key: str, value: Any) -> str:
    """A setting of a plan in words."""
    number = isinstance(value, (int, float))
    if key == "timeout_s":
        return f"timeout {value:g} s" if number else "the timeouts of instances.csv"
    if key == "memory_mb" and number:
        return f"memory {value / 1024:g} GiB"
    if key == "cpu_s":
        return f"CPU time {value:g} s" if number else "no limit on CPU time"
    return f"{key.replace('_', ' ')} {value}"


def read_plan(path: Path) -> dict[str, Any]:
    try:
        plan = json.loads((path / RUN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise BadInput(f"{path}: has no readable {RUN_FILE}; give the folder of a run") from None
    if not isinstance(plan, dict):
        raise BadInput(f"{path / RUN_FILE}: is not a JSON object; give the folder of a run")
    return plan


def _document(
    path: Path,
    plan: Mapping[str, Any],
    versions: Mapping[str, str],
    tools: Mapping[str, Mapping[str, Any]] | None,
) -> dict[str, Any]:
    """The content of run.json with these verifiers; raises BadInput if it is of another run."""
    tools = tools or {}
    if not (path / RUN_FILE).exists():
        _refuse_something_else(path)
        return {**plan, "verifiers": dict(versions), "tools": dict(tools), "sessions": []}
    found = read_plan(path)
    for key, value in plan.items():
        if found.get(key) != value:
            raise BadInput(f"{path}: {_difference(key, found.get(key), value)}")
    known = found.get("verifiers")
    if not isinstance(known, dict) or not isinstance(found.get("sessions"), list):
        raise BadInput(f"{path / RUN_FILE}: is damaged; choose a new folder")
    for name, version in versions.items():
        if known.get(name, version) != version:
            changed = _changed_files(found.get("tools"), tools, name)
            raise BadInput(
                f"{path}: holds results of {name} {known[name]} where {version} is here{changed}; "
                "choose a new folder"
            )
    kept = found.get("tools")
    tools = {**(kept if isinstance(kept, dict) else {}), **tools}
    return {**found, "verifiers": {**known, **versions}, "tools": tools}


def _changed_files(before: Any, now: Mapping[str, Mapping[str, Any]], name: str) -> str:
    """In brackets, the files of a tool that differ from those of the run, if that is known."""
    try:
        old, new = before[name]["files"], now[name]["files"]
        differing = sorted(file for file in {*old, *new} if old.get(file) != new.get(file))
    except (KeyError, TypeError, AttributeError):
        return ""
    more = f" and {len(differing) - _MOST_NAMED} more" if len(differing) > _MOST_NAMED else ""
    return f" ({', '.join(differing[:_MOST_NAMED])}{more} changed)" if differing else ""


def _difference(key: str, before: Any, now: Any) -> str:
    if key == "benchmark_sha256":
        return (
            "belongs to a run with another benchmark (its files have other bytes); choose a new "
            "folder"
        )
    option = _OPTIONS.get(key)
    remedy = f"give the same {option}, or choose a new folder" if option else "choose a new folder"
    return f"was run with {said_setting(key, before)}, now with {said_setting(key, now)}; {remedy}"


def _refuse_something_else(path: Path) -> None:
    """A folder without run.json may only hold what a start that was killed at once leaves."""
    for entry in path.iterdir():
        begun = entry.name == RESULTS_FILE and entry.stat().st_size == 0
        if not begun and entry.name not in _BEGUN:
            raise BadInput(f"{path}: holds something else; choose a new folder for the run")
