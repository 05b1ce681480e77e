"""The power of a calibration: which of the analysers that are broken on purpose does it accuse?

Each is hunted in a process of its own: questions in their order, with the analysers that may show
the bug, until something is contradicted. A test accuses at the same level whatever else is measured
(see `calibration.accusation`), and rows do not depend on each other, so a calibration of all
analysers with the same effort makes the same accusation.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from assay.analyse.broken import broken_analysers
from assay.analyse.calibration.accusation import accusations
from assay.analyse.calibration.broken import Broken, applied
from assay.analyse.calibration.calibrating import READS, MeasureTask, Subject, measure_task
from assay.analyse.calibration.known import Effort
from assay.analyse.calibration.measured import Measured
from assay.engine.processes import Jobs, outcomes_of
from assay.engine.work import Watcher, Work
from assay.errors import AssayError


@dataclass(frozen=True)
class Hunt:
    """One bug, and the questions it is hunted on."""

    name: str
    subjects: tuple[Subject, ...]
    effort: Effort


@dataclass(frozen=True)
class Catch:
    """What a broken analyser was accused of; nothing if it survived. `questions` were measured."""

    name: str
    story: str
    ground: str
    said: str
    questions: int

    @property
    def caught(self) -> bool:
        return bool(self.ground)


def hunt(task: Hunt) -> Catch:
    """Measure with the bug until it is caught (in a worker, or in a test)."""
    broken = broken_analysers()[task.name]
    rows: list[Measured] = []
    for number, subject in enumerate(task.subjects, 1):
        for analyser in broken.shown_by:
            with applied(broken):
                try:
                    rows += measure_task(MeasureTask(subject, task.effort, (analyser,)))
                except AssayError as error:
                    # A calibration would end here, with this sentence. Any refusal looks alike, so
                    # it accuses only where the bug is known to show in this way.
                    said = f"{analyser} on {subject.name}: {error}"
                    ground = "an error" if broken.shows_as_error else ""
                    return Catch(task.name, broken.story, ground, said, number)
            found = [one for one in accusations(rows) if one.holds]
            if found:
                return Catch(task.name, broken.story, found[0].ground, found[0].sentence, number)
    return Catch(task.name, broken.story, "", "", len(task.subjects))


def _files(task: Hunt) -> list[Path]:
    return [file for subject in task.subjects for file in subject.files]


def hunted(
    bugs: Sequence[Broken],
    subjects: Sequence[Subject],
    effort: Effort,
    jobs: Jobs,
    watcher: Watcher,
) -> list[Catch]:
    """These broken analysers, in their order."""
    tasks = [Hunt(broken.name, tuple(subjects), effort) for broken in bugs]
    found: dict[str, Catch] = {}
    watcher.begin(len(tasks), 0)
    work: Work[Hunt, Catch] = Work(hunt, READS, _files)
    outcomes = outcomes_of(work, tasks, jobs, watcher, lambda task: task.name)
    with closing(outcomes):
        for outcome in outcomes:
            name = outcome.item.name
            found[name] = outcome.required(name)
            watcher.finished(name, outcome.seconds)
    return [found[task.name] for task in tasks]
