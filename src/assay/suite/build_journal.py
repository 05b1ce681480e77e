"""The state of a build on disk: who holds the folder, what was asked for, what is finished.

Everything is written to a temporary file and renamed. A task counts as finished when its record
under `.build/done` exists and the hashes in it match the files; so a build may be killed at any
moment. `.build` is removed when all is done, and `suite.json` then says what built the folder.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from assay.errors import BadInput
from assay.store.file_lock import locked
from assay.store.whole_file import write_whole, writing
from assay.truth.instance import Instance, sha256

SUITE_FILE = "suite.json"
INSTANCES_FILE = "instances.csv"
STATE = ".build"
PARTS = ("onnx", "vnnlib", "truth")


@dataclass(frozen=True)
class Plan:
    """What a folder is built from; a build is resumed only when all of it is the same."""

    text_is: ClassVar[str] = "suite text"
    suite: str
    seed: int
    versions: Mapping[str, str]

    def difference(self, other: Mapping[str, Any]) -> str | None:
        """Name what differs between this plan and one read from a folder."""
        if other.get("suite") != self.suite:
            return self.text_is
        if other.get("seed") != self.seed:
            return f"seed ({other.get('seed')}, now {self.seed})"
        versions = other.get("versions")
        if not isinstance(versions, dict):
            return "versions"
        for name, version in self.versions.items():
            if versions.get(name) != version:
                return f"{name} version ({versions.get(name)}, now {version})"
        return None


@dataclass(frozen=True)
class Made:
    """One instance on disk: its name, answer, and the sha256 of each of its files."""

    name: str
    answer: str
    files: dict[str, str]

    @property
    def question(self) -> tuple[str, str]:
        return self.files[f"onnx/{self.name}.onnx"], self.files[f"vnnlib/{self.name}.vnnlib"]


@dataclass(frozen=True)
class TaskRecord:
    """A finished task: its instances, the seed that worked and those that did not, with why."""

    stem: str
    family: str
    seed: int
    seconds: float
    instances: tuple[Made, ...]
    refused: tuple[tuple[int, str], ...]


class Journal:
    """A locked folder that is being built."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder = folder
        self._plan = plan
        self._state = folder / STATE
        self._done = self._state / "done"

    def complete(self) -> dict[str, Any] | None:
        """Return suite.json when this very plan has been built here to the end."""
        if (self._state / "plan.json").exists() or not (self.folder / SUITE_FILE).exists():
            return None
        document = _read_json(self.folder / SUITE_FILE)
        difference = self._plan.difference(document)
        if difference:
            raise BadInput(
                f"{self.folder}: holds a finished build with a different {difference}; "
                "choose another folder"
            )
        return document

    def refuse_unfinished_other(self) -> None:
        """Refuse a folder in which another plan was begun."""
        plan_file = self._state / "plan.json"
        difference = plan_file.exists() and self._plan.difference(_read_json(plan_file))
        if difference:
            raise BadInput(
                f"{self.folder}: holds an unfinished build with a different {difference}; "
                "finish it as it was begun, or choose another folder"
            )

    def begin(self) -> None:
        """Lay the folder out, or accept the layout of an interrupted build of the same plan."""
        self.refuse_unfinished_other()
        with writing(self.folder):
            for part in (*(self.folder / part for part in PARTS), self._done):
                part.mkdir(exist_ok=True)
            write_whole(self._state / "plan.json", json.dumps(asdict(self._plan)).encode())

    def record_of(self, stem: str) -> TaskRecord | None:
        """Return the record of a finished task whose files are all as they were written."""
        path = self._done / f"{stem}.json"
        if not path.exists():
            return None
        try:
            raw = json.loads(path.read_bytes())
            made = tuple(Made(**item) for item in raw.pop("instances"))
            refused = tuple((seed, reason) for seed, reason in raw.pop("refused"))
            record = TaskRecord(**raw, instances=made, refused=refused)
            for item in made:
                for name, digest in item.files.items():
                    if sha256((self.folder / name).read_bytes()) != digest:
                        return None
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return record

    def discard(self, stem: str) -> None:
        """Forget a task and remove what a killed build may have left of it."""
        with writing(self.folder):
            (self._done / f"{stem}.json").unlink(missing_ok=True)
            for part in PARTS:
                for pattern in (f"{stem}-*", f".{stem}-*"):
                    for path in (self.folder / part).glob(pattern):
                        path.unlink()

    def store(
        self,
        stem: str,
        family: str,
        seed: int,
        seconds: float,
        instances: Sequence[Instance],
        refused: Sequence[tuple[int, str]],
    ) -> TaskRecord:
        """Write the files of a task and then, as the last act, its record."""
        made = []
        with writing(self.folder):
            for instance in instances:
                files = {}
                for name, data in _files(instance):
                    write_whole(self.folder / name, data)
                    files[name] = sha256(data)
                made.append(Made(instance.name, instance.truth.answer, files))
            record = TaskRecord(stem, family, seed, round(seconds, 3), tuple(made), tuple(refused))
            write_whole(self._done / f"{stem}.json", json.dumps(asdict(record)).encode())
        return record

    def finish(self, rows: Sequence[str], document: Mapping[str, Any], *, complete: bool) -> None:
        """Write the two lists of the folder; drop the state when nothing is left to do."""
        with writing(self.folder):
            write_whole(self.folder / INSTANCES_FILE, "".join(f"{r}\n" for r in rows).encode())
            text = json.dumps(document, indent=1) + "\n"
            write_whole(self.folder / SUITE_FILE, text.encode())
            if complete:
                (self._state / "plan.json").unlink()
                shutil.rmtree(self._state)


@contextmanager
def open_journal(folder: Path, plan: Plan) -> Iterator[Journal]:
    """Hold `folder` for one build: refused if it is not ours or if another build holds it."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder}: is a file; choose a folder to build into")
    with writing(folder):
        _refuse_foreign(folder)
        (folder / STATE).mkdir(parents=True, exist_ok=True)
        busy = "another build is writing here; wait for it or choose another folder"
        lock = locked(folder / STATE / "lock", f"{folder}: {busy}")
    try:
        _refuse_foreign(folder)
        yield Journal(folder, plan)
    finally:
        _release(folder, lock)


def _refuse_foreign(folder: Path) -> None:
    if not folder.exists():
        return
    names = {path.name for path in folder.iterdir()}
    ours = (folder / STATE / "plan.json").exists() or _is_built(folder)
    if names - {STATE} and not ours:
        raise BadInput(
            f"{folder}: not empty and not a build of Assay's; choose an empty or new folder"
        )


def _is_built(folder: Path) -> bool:
    path = folder / SUITE_FILE
    return path.is_file() and "suite" in _read_json(path)


def _release(folder: Path, lock: int) -> None:
    """Leave no state behind in a folder where no build was begun or all of it was finished."""
    state = folder / STATE
    if not (state / "plan.json").exists():
        shutil.rmtree(state, ignore_errors=True)
    os.close(lock)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise BadInput(f"{path}: not readable as JSON; choose another folder")
    return document


def _files(instance: Instance) -> Iterator[tuple[str, bytes]]:
    yield f"onnx/{instance.name}.onnx", instance.onnx
    yield f"vnnlib/{instance.name}.vnnlib", instance.vnnlib
    if instance.arrays is not None:
        yield f"truth/{instance.name}.bin", instance.arrays
    yield f"truth/{instance.name}.json", instance.truth.to_json().encode()
