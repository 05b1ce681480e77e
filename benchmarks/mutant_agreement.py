"""How often each mutant says what the verifier without its bug says, on a benchmark folder.

    python benchmarks/mutant_agreement.py DIR [--jobs J] [--mutants NAME ...]

A mutant that differs everywhere would be caught by anything: each must agree on four instances of
five of the suite `quick`. Both get the same small budget of boxes; the seconds are a safety net.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from assay.engine.processes import Processes
from assay.engine.work import Work
from assay.judge.power.catalogue import mutants, specimen
from assay.judge.power.hunt import Baseline, BaselineTask, Subject, asked_unmutated
from assay.judge.power.measure import subjects_of
from assay.judge.power.mutant import Mutant
from assay.judge.power.trial import Budget, tried
from assay.question.asked import read_question

LEAST = 0.8
BUDGET = Budget(seconds=3.0, boxes=100)


@dataclass(frozen=True)
class Task:
    """`enough` ends the count early, once so many agree or cannot any more."""

    mutant: str
    asked: tuple[tuple[Subject, Baseline], ...]
    budget: Budget
    enough: bool


@dataclass(frozen=True)
class Agreement:
    mutant: str
    agreed: int
    differed: tuple[str, ...]
    total: int

    @property
    def is_close(self) -> bool:
        return len(self.differed) <= (1 - LEAST) * self.total


def agreement(task: Task) -> Agreement:
    """Quick instances first; where the bug cannot show, both are the same program."""
    asked = specimen(task.mutant)
    agreed, differed = 0, []
    most = (1 - LEAST) * len(task.asked)
    for subject, baseline in sorted(task.asked, key=lambda pair: pair[1].seconds):
        if task.enough and (agreed >= len(task.asked) - most or len(differed) > most):
            break
        if _is_same(asked.mutant, baseline):
            agreed += 1
            continue
        network, specification = read_question(subject.onnx, subject.vnnlib)
        fails = asked.mutant.wrongly == "robust"
        trial = tried(network, specification, task.budget, asked, attack_fails=fails)
        if trial.verdict == baseline.verdict:
            agreed += 1
        else:
            differed.append(f"{subject.name}: {baseline.verdict}, now {trial.verdict} {trial.note}")
    return Agreement(task.mutant, agreed, tuple(differed), len(task.asked))


def _is_same(mutant: Mutant, baseline: Baseline) -> bool:
    if baseline.attacked and mutant.wrongly == "robust":
        return True
    return bool(mutant.operators) and not mutant.operators.intersection(baseline.operators)


def baselines(subjects: Sequence[Subject], jobs: int) -> list[tuple[Subject, Baseline]]:
    found = {}
    outcomes = Processes(jobs).outcomes(
        Work(asked_unmutated), [BaselineTask(s, BUDGET) for s in subjects]
    )
    with closing(outcomes):
        for done in outcomes:
            assert done.result is not None, done.item
            found[done.item.subject.name] = done.result
    return [(s, found[s.name]) for s in subjects]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--mutants", nargs="*", default=None)
    arguments = parser.parse_args()
    asked = tuple(baselines(subjects_of(arguments.folder), arguments.jobs))
    names = arguments.mutants or list(mutants())
    tasks = [Task(specimen(name).name, asked, BUDGET, enough=False) for name in names]
    outcomes = Processes(arguments.jobs).outcomes(Work(agreement), tasks)
    with closing(outcomes):
        for done in outcomes:
            found = done.result
            assert found is not None, (done.error, done.death)
            share = 100 * found.agreed / found.total
            mark = "" if found.is_close else "  TOO FAR"
            print(f"{found.mutant:36s} {share:5.1f} %  {done.seconds:5.1f} s{mark}", flush=True)
            for line in found.differed:
                print(f"    {line}")


if __name__ == "__main__":
    main()
