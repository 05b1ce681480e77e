"""The tool is asked about drafts: as a process of its own, as in the run, no question twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assay.engine.threads import Threads
from assay.errors import BadInput
from assay.judge.execute import Task
from assay.judge.jobs import Job, executed, work_on
from assay.judge.outcome import Outcome, outcome
from assay.judge.results import Result
from assay.judge.task import Limits, Question
from assay.judge.verifier import Verifier
from assay.store.row_journal import RowJournal, foreign, row_journal
from assay.store.whole_file import writing
from assay.truth.instance import Instance


@dataclass(frozen=True)
class Tool:
    """A verifier with what the run granted it; `wall_s` is when a candidate is given up.

    `options` are what makes `assay run` call it.
    """

    verifier: Verifier
    version: str
    timeout_s: float
    limits: Limits
    options: tuple[str, ...]


@dataclass(frozen=True)
class Answered:
    """What the tool's answer amounts to, and the witness that it gave."""

    outcome: Outcome
    witness: tuple[str, ...] | None


class Asker:
    """Counts the calls; `journal` keeps the answers, also for another command."""

    def __init__(self, tool: Tool, jobs: int, folder: Path, journal: RowJournal) -> None:
        self._tool, self._folder, self._journal = tool, folder, journal
        self._engine = Threads(jobs)
        self._known = dict(filter(None, map(_read, journal.rows())))
        self._folders = count()
        self.jobs = jobs
        self.calls = 0

    def asked(
        self, instances: Sequence[Instance], *, afresh: bool = False, limits: Limits | None = None
    ) -> list[Answered]:
        """The answers, in the order of the instances; known ones count unless `afresh`."""
        waiting = {
            i: instance
            for i, instance in enumerate(instances)
            if afresh or _key(instance) not in self._known
        }
        found: dict[int, Answered] = {}
        jobs = [self._job(i, instance, limits) for i, instance in waiting.items()]
        if jobs:
            with closing(self._engine.outcomes(work_on(self._engine), jobs)) as outcomes:
                for outcome in outcomes:
                    result = executed(outcome).result
                    number = int(result.instance)
                    found[number] = self._kept(instances[number], result)
        return [
            found[i] if i in found else self._known[_key(instance)]
            for i, instance in enumerate(instances)
        ]

    def _job(self, number: int, instance: Instance, limits: Limits | None) -> Job:
        # Some tools take the name of the folder above for the name of the benchmark.
        place = self._folder / str(next(self._folders)) / "shrunk"
        with writing(place):
            files = []
            for part, data in (("onnx", instance.onnx), ("vnnlib", instance.vnnlib)):
                (place / part).mkdir(parents=True, exist_ok=True)
                files.append(place / part / f"{instance.name}.{part}")
                files[-1].write_bytes(data)
        tool = self._tool
        question = Question(str(number), files[0], files[1], tool.timeout_s)
        task = Task(question, tool.verifier.name, 0)
        return Job(task, tool.verifier, tool.version, limits or tool.limits)

    def _kept(self, instance: Instance, result: Result) -> Answered:
        self.calls += 1
        answered = Answered(outcome(result, instance.truth, ()), result.witness)
        self._known[_key(instance)] = answered
        onnx, vnnlib = _key(instance)
        self._journal.append({"onnx": onnx, "vnnlib": vnnlib, **asdict(answered)})
        return answered


@contextmanager
def open_asker(tool: Tool, truth: str, jobs: int, answers: Path) -> Iterator[Asker]:
    """An asker whose answers lie in a file; those of another tool or truth are forgotten."""
    head = {
        "verifier": tool.verifier.name,
        "version": tool.version,
        "timeout_s": tool.timeout_s,
        "limits": asdict(tool.limits),
        "truth": truth,
    }
    with writing(answers):
        answers.parent.mkdir(parents=True, exist_ok=True)
    busy = f"{answers}: another command shrinks this answer; wait for it"
    with row_journal(answers, busy) as journal, _temporary() as folder:
        if journal.head is not None and "verifier" not in journal.head:
            raise foreign(answers, "assay shrink")
        if journal.head != head:
            journal.restart(head)
        yield Asker(tool, jobs, folder, journal)


@contextmanager
def _temporary() -> Iterator[Path]:
    try:
        folder = TemporaryDirectory(prefix="assay-shrink-")
    except OSError as error:
        raise BadInput(f"no temporary folder ({error.strerror}); make room for one") from None
    with folder as name:
        yield Path(name)


def _key(instance: Instance) -> tuple[str, str]:
    return instance.truth.onnx_sha256, instance.truth.vnnlib_sha256


def _read(line: Mapping[str, Any]) -> tuple[tuple[str, str], Answered] | None:
    """A line of the journal; one that is not whole is asked again."""
    try:
        witness = line["witness"]
        answered = Answered(line["outcome"], None if witness is None else tuple(witness))
        return (line["onnx"], line["vnnlib"]), answered
    except (KeyError, TypeError):
        return None
