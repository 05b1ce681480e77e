"""What workers do: ask the unmutated verifier once, and hunt a mutant until it is caught."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import assay
from assay.judge.outcome import Outcome, outcome
from assay.judge.power.catalogue import specimen
from assay.judge.power.memory import Memory
from assay.judge.power.mutant import Mutant
from assay.judge.power.trial import Budget, Trial, tried
from assay.judge.results import Result
from assay.question.asked import read_question
from assay.question.model_file import question_files
from assay.question.network import Network
from assay.question.property import Specification
from assay.truth.record import Truth

WRONG: frozenset[Outcome] = frozenset({"unsound", "bogus"})
"""What catches a mutant, as the judge defines it."""


@dataclass(frozen=True)
class Subject:
    """A question with its proven answer; `family` may name its kind too: `planted/tent`."""

    name: str
    family: str
    onnx: Path
    vnnlib: Path
    truth: Truth

    @property
    def files(self) -> list[Path]:
        return question_files(self.onnx, self.vnnlib)


@dataclass(frozen=True)
class Baseline:
    """What the unmutated verifier made of an instance.

    `attacked`: its first attack found a witness, so no bug of the search can show here.
    """

    instance: str
    verdict: str | None
    outcome: Outcome
    attacked: bool
    operators: tuple[str, ...]
    seconds: float

    def shows(self, mutant: Mutant, answer: Literal["robust", "violated"]) -> bool:
        """Whether the mutant could be wrong about an instance with this true answer."""
        if answer == mutant.wrongly or (self.attacked and mutant.wrongly == "robust"):
            return False
        return not mutant.operators or bool(mutant.operators.intersection(self.operators))


@dataclass(frozen=True)
class BaselineTask:
    subject: Subject
    budget: Budget
    seed: int = 0


@dataclass(frozen=True)
class Hunt:
    """One specimen to be asked about subjects in turn until it is wrong.

    `place` is the family the subjects are of, or says what else they are. `failing` is the seed
    that the unmutated verifier had: its attack is known to fail on all subjects on which the
    mutant could be wrongly robust.
    """

    specimen: str
    place: str
    seed: int
    subjects: tuple[Subject, ...]
    budget: Budget
    failing: int = 0

    @property
    def key(self) -> tuple[str, str, int]:
        return self.specimen, self.place, self.seed


@dataclass(frozen=True)
class Catch:
    """How a hunt ended: `by` is the instance that caught the specimen, None if it got away."""

    specimen: str
    place: str
    seed: int
    by: str | None
    outcome: Outcome | None
    tried: int
    crashed: int
    seconds: float

    @property
    def key(self) -> tuple[str, str, int]:
        return self.specimen, self.place, self.seed


def asked_unmutated(task: BaselineTask) -> Baseline:
    """(In a worker.)"""
    _one_thread()
    network, specification = _question(task.subject.onnx, task.subject.vnnlib)
    trial = tried(network, specification, task.budget, seed=task.seed)
    return Baseline(
        instance=task.subject.name,
        verdict=trial.verdict,
        outcome=_judged(trial, task.subject),
        attacked=trial.attacked,
        operators=tuple(sorted(network.operators)),
        seconds=round(trial.seconds, 3),
    )


def hunted(hunt: Hunt) -> Catch:
    """(In a worker.)"""
    _one_thread()
    begun = time.monotonic()
    asked = specimen(hunt.specimen)
    attack_fails = hunt.seed == hunt.failing and asked.mutant.wrongly == "robust"
    count = crashed = 0
    caught: tuple[str, Outcome] | None = None
    for subject in hunt.subjects:
        network, specification = _question(subject.onnx, subject.vnnlib)
        try:
            if not asked.mutant.touches(network):
                continue  # it is the unmutated verifier there
        except Exception:  # it breaks down over this network, as it would when asked
            count, crashed = count + 1, crashed + 1
            continue
        trial = tried(
            network,
            specification,
            hunt.budget,
            asked,
            seed=hunt.seed,
            attack_fails=attack_fails,
            memory=_memory(subject.onnx, subject.vnnlib),
        )
        count += 1
        crashed += trial.ending == "crashed"
        found = _judged(trial, subject)
        if found in WRONG:
            caught = subject.name, found
            break
    return Catch(
        hunt.specimen,
        hunt.place,
        hunt.seed,
        by=None if caught is None else caught[0],
        outcome=None if caught is None else caught[1],
        tried=count,
        crashed=crashed,
        seconds=round(time.monotonic() - begun, 3),
    )


def _judged(trial: Trial, subject: Subject) -> Outcome:
    truth = subject.truth
    result = Result(
        instance=subject.name,
        verifier="linear",
        version=assay.__version__,
        verdict=trial.verdict,
        ending=trial.ending,
        wall_s=trial.seconds,
        cpu_s=trial.seconds,
        memory_mb=0.0,
        repeat=0,
        onnx_sha256=truth.onnx_sha256,
        vnnlib_sha256=truth.vnnlib_sha256,
    )
    return outcome(result, truth, ())


@lru_cache(maxsize=256)
def _question(onnx: Path, vnnlib: Path) -> tuple[Network, Specification]:
    """Every mutant is asked about the same files."""
    return read_question(onnx, vnnlib)


@lru_cache(maxsize=256)
def _memory(_onnx: Path, _vnnlib: Path) -> Memory:
    return Memory()


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)  # verdicts must not depend on the number of jobs
