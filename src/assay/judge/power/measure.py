"""The power of a benchmark, measured: everything that is asked, in child processes, resumable.

First the unmutated verifier is asked about every instance. Then every mutant is hunted in every
family until it is caught there, on the instances that could show its bug, the quickest first. What
the verifier leaves open without any bug costs the whole budget each time: of that one instance a
family is asked, and the others only of a mutant that was caught nowhere. Then the floors, on what
the verifier settles. What is finished goes to the journal as it comes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path

from assay.engine.processes import Jobs, outcomes_of
from assay.engine.work import Watcher, Work
from assay.errors import BadInput
from assay.judge.power.floor import Floor, Step, find_floor, most_misses
from assay.judge.power.hunt import (
    Baseline,
    BaselineTask,
    Catch,
    Hunt,
    Subject,
    asked_unmutated,
    hunted,
)
from assay.judge.power.kept import Kept, open_kept
from assay.judge.power.mutant import Specimen
from assay.judge.power.trial import Budget
from assay.judge.run_folder import benchmark_sha256
from assay.suite.folder import BenchmarkFolder
from assay.suite.proved_truths import entry_truth, proved_truths, question_hashes
from assay.truth.record import Truth

POWER_FILE = "power.jsonl"
EVERYWHERE = "all families"
LATE = "what the verifier leaves open"
_OPEN_ASKED = 1
"""Instances a family that the unmutated verifier leaves open and every mutant is asked about."""
READS = ("torch", "scipy.optimize", "assay.judge.builtin.linear", "assay.bounds.branch")
"""What the verifier needs, mutated or not."""
Watched = Callable[[str], AbstractContextManager[Watcher]]


@dataclass(frozen=True)
class Settings:
    """`seed` decides the dice of the bugs; the floors take so many `seeds` from there on, and 0
    leaves them out."""

    budget: Budget
    jobs: Jobs
    seeds: int = 0
    seed: int = 0


@dataclass(frozen=True)
class Power:
    """All that was found. `specimens` are in the order asked, `families` in that of the folder."""

    specimens: tuple[Specimen, ...]
    families: tuple[str, ...]
    baselines: tuple[Baseline, ...]
    catches: dict[tuple[str, str], Catch]
    """By specimen and family; missing where no instance of the family can show the bug."""
    floors: tuple[Floor, ...]
    died: frozenset[tuple[str, str]]
    """Hunts without an end, by specimen and family (or LATE)."""
    failed: tuple[tuple[str, str], ...]
    """Questions that could not be asked, and why: of an instance, or of a mutant and a family."""

    @property
    def accusations(self) -> list[Baseline]:
        """What the unmutated verifier is falsely accused of."""
        return [b for b in self.baselines if b.outcome in ("unsound", "bogus")]

    def killers(self, specimen: Specimen) -> list[Catch]:
        found = (self.catches.get((specimen.name, family)) for family in self.families)
        return [catch for catch in found if catch is not None and catch.by is not None]

    @property
    def survivors(self) -> list[Specimen]:
        """Those that were hunted everywhere to the end."""
        undecided = {specimen.name for specimen in self.undecided}
        return [s for s in self.specimens if not self.killers(s) and s.name not in undecided]

    @property
    def undecided(self) -> list[Specimen]:
        """Those that were caught nowhere, where a hunt died."""
        died = {name for name, _ in self.died}
        return [s for s in self.specimens if s.name in died and not self.killers(s)]


def measure(
    path: Path, specimens: Sequence[Specimen], settings: Settings, journal: Path, watched: Watched
) -> Power:
    """The power of a benchmark folder, once the checker has verified its truths."""
    with watched("check") as watcher:
        subjects = subjects_of(path, watcher)
    benchmark = benchmark_sha256(BenchmarkFolder.open(path))
    return measure_subjects(subjects, benchmark, specimens, settings, journal, watched)


def measure_subjects(
    subjects: Sequence[Subject],
    benchmark: str,
    specimens: Sequence[Specimen],
    settings: Settings,
    journal: Path,
    watched: Watched,
) -> Power:
    """The power of questions whose truths the caller vouches for; `benchmark` is their hash."""
    with open_kept(journal, benchmark, subjects, settings.budget, settings.seed) as kept:
        return _Measurement(subjects, specimens, settings, kept, watched).power()


def subjects_of(path: Path, watcher: Watcher | None = None) -> list[Subject]:
    """The instances of a benchmark folder, all of which must have truths."""
    folder = BenchmarkFolder.open(path)
    without = folder.without_truth()
    if without:
        raise BadInput(
            f"{path}: {without[0].name} has no truth; power is measured where every answer is "
            "known, so build the benchmark with Assay"
        )
    hashes = question_hashes(folder)
    truths = proved_truths(folder, hashes, watcher)
    return [
        Subject(e.name, _family(entry_truth(e, hashes[e.name])), e.onnx, e.vnnlib, truths[e.name])
        for e in folder.entries
    ]


def _family(truth: Truth) -> str:
    kind = truth.parameters.get("kind")
    return f"{truth.family}/{kind}" if isinstance(kind, str) else truth.family


class _Measurement:
    def __init__(
        self,
        subjects: Sequence[Subject],
        specimens: Sequence[Specimen],
        settings: Settings,
        kept: Kept,
        watched: Watched,
    ) -> None:
        self.subjects, self.specimens, self.settings = subjects, specimens, settings
        self.kept, self.watched = kept, watched
        self.baselines, self.catches = kept.baselines, kept.catches
        self.failed: list[tuple[str, str]] = []
        self.died: set[tuple[str, str, int]] = set()

    def power(self) -> Power:
        self._ask_unmutated()
        families: dict[str, list[Subject]] = defaultdict(list)
        for subject in self.subjects:
            if subject.name in self.baselines:
                families[subject.family].append(subject)
        matrix = self._matrix(families)
        died = frozenset((name, place) for name, place, _ in self.died)
        names = [subject.name for subject in self.subjects]
        return Power(
            specimens=tuple(self.specimens),
            families=tuple(families),
            baselines=tuple(self.baselines[n] for n in names if n in self.baselines),
            catches=matrix,
            died=died,
            floors=tuple(self._floors(matrix)) if self.settings.seeds else (),
            failed=tuple(self.failed),
        )

    def _matrix(self, families: Mapping[str, Sequence[Subject]]) -> dict[tuple[str, str], Catch]:
        hunts: list[Hunt] = []
        late: list[Hunt] = []
        for specimen in self.specimens:
            rest: list[Subject] = []
            for family, members in families.items():
                shown = self._showing(specimen, members)
                costly = [s for s in shown if self._is_open(s)][_OPEN_ASKED:]
                rest += costly
                early = tuple(s for s in shown if s not in costly)
                if early:
                    hunts.append(self._as_hunt(specimen, family, early))
            if rest:
                late.append(self._as_hunt(specimen, LATE, self._quickest(rest)))
        self._hunt("mutants", hunts)
        found = {(h.specimen, h.place): self.catches[h.key] for h in hunts if h.key in self.catches}
        caught = {name for (name, _), catch in found.items() if catch.by is not None}
        late = [hunt for hunt in late if hunt.specimen not in caught]
        self._hunt("survivors", late)
        family_of = {subject.name: subject.family for subject in self.subjects}
        for hunt in late:
            catch = self.catches.get(hunt.key)
            if catch is not None and catch.by is not None:
                found[hunt.specimen, family_of[catch.by]] = catch
        return found

    def _ask_unmutated(self) -> None:
        tasks = [BaselineTask(s, self.settings.budget, self.settings.seed) for s in self.subjects]
        waiting = [t for t in tasks if t.subject.name not in self.baselines]
        with self.watched("unmutated") as watcher:
            watcher.begin(len(tasks), len(tasks) - len(waiting))
            work: Work[BaselineTask, Baseline] = Work(
                asked_unmutated, READS, lambda task: task.subject.files
            )
            outcomes = outcomes_of(
                work, waiting, self.settings.jobs, watcher, lambda task: task.subject.name
            )
            with closing(outcomes):
                for done in outcomes:
                    name = done.item.subject.name
                    note = ""
                    if done.result is None:
                        note = str(done.error or done.death)
                        self.failed.append((name, note))
                    else:
                        self.kept.add_baseline(done.result)
                    watcher.finished(name, done.seconds, note)

    def _showing(self, specimen: Specimen, members: Iterable[Subject]) -> tuple[Subject, ...]:
        """The instances that could show the bug, the quickest first."""
        kept = [s for s in members if self.baselines[s.name].shows(specimen.mutant, s.truth.answer)]
        return self._quickest(kept)

    def _quickest(self, subjects: Iterable[Subject]) -> tuple[Subject, ...]:
        return tuple(sorted(subjects, key=lambda s: self.baselines[s.name].seconds))

    def _is_open(self, subject: Subject) -> bool:
        return self.baselines[subject.name].verdict == "unknown"

    def _hunt(
        self, what: str, hunts: Sequence[Hunt], enough: Callable[[], bool] = lambda: False
    ) -> None:
        """Do the hunts that are not done yet, until `enough`."""
        waiting = [hunt for hunt in hunts if hunt.key not in self.catches]
        if not waiting or enough():
            return
        with self.watched(what) as watcher:
            watcher.begin(len(hunts), len(hunts) - len(waiting))
            work: Work[Hunt, Catch] = Work(hunted, READS, _files)
            outcomes = outcomes_of(work, waiting, self.settings.jobs, watcher, _label)
            with closing(outcomes):
                for done in outcomes:
                    if done.error is not None:
                        raise done.error
                    if done.death is not None:
                        self.failed.append((_label(done.item), done.death))
                        self.died.add(done.item.key)
                    if done.result is not None:
                        whole = len(self.baselines) == len(self.subjects)
                        self.kept.add_catch(done.result, whole=whole)
                    caught = done.result is not None and done.result.by is not None
                    note = done.death or ("caught" if caught else "")
                    watcher.finished(_label(done.item), done.seconds, note)
                    if enough():
                        break

    def _floors(self, matrix: dict[tuple[str, str], Catch]) -> Iterator[Floor]:
        """Of the mutants that have a symbol, whatever their strength, on all families together."""
        for specimen in {s.mutant.name: s for s in self.specimens}.values():
            symbol = specimen.mutant.symbol
            if symbol is None:
                continue
            asked = [s for s in self.subjects if s.name in self.baselines]
            asked = [s for s in asked if not self._is_open(s)] or asked
            shown = self._showing(specimen, asked)
            killers = {c.by for (name, _), c in matrix.items() if name == specimen.name}
            # Those that caught it before are the likeliest to do it again.
            ordered = tuple(sorted(shown, key=lambda s: s.name not in killers))

            def catches(
                at: Specimen, seeds: Sequence[int], subjects: tuple[Subject, ...] = ordered
            ) -> Step:
                return self._caught_in(at, seeds, subjects)

            yield find_floor(specimen, symbol, self.settings.seeds, catches)

    def _caught_in(
        self, specimen: Specimen, seeds: Sequence[int], subjects: tuple[Subject, ...]
    ) -> Step:
        hunts = [self._as_hunt(specimen, EVERYWHERE, subjects, seed) for seed in seeds]

        def done() -> list[Catch]:
            return [self.catches[h.key] for h in hunts if h.key in self.catches]

        def too_many_missed() -> bool:
            return sum(c.by is None for c in done()) > most_misses(len(seeds))

        self._hunt(specimen.name, hunts, too_many_missed)
        found = done()
        died = sum(hunt.key in self.died for hunt in hunts)
        caught = sum(c.by is not None for c in found)
        return Step(specimen.strength or 0.0, caught, len(found), died)

    def _as_hunt(
        self, specimen: Specimen, place: str, subjects: tuple[Subject, ...], more: int = 0
    ) -> Hunt:
        first = self.settings.seed
        return Hunt(specimen.name, place, first + more, subjects, self.settings.budget, first)


def _files(hunt: Hunt) -> list[Path]:
    return [file for subject in hunt.subjects for file in subject.files]


def _label(hunt: Hunt) -> str:
    seed = f" seed {hunt.seed}" if hunt.place == EVERYWHERE else ""
    return f"{hunt.specimen} {hunt.place}{seed}"
