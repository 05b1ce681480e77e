"""Import two public benchmarks of VNN-COMP, run verifiers on a part, profile all, explain.

    python benchmarks/external_profiles.py SOURCES RELEASE WORK [--jobs 2] [--images FOLDER]

SOURCES is the folder `benchmarks` of a clone of github.com/ChristopherBrix/vnncomp2022_benchmarks;
RELEASE a clone of github.com/dtroxell19/VeriStressGT, which holds profiles and outcomes for the
same 120 questions. Neither is part of this repository, so `make evidence` does not do this.
NeuralSAT and nnenum must be installed (`assay verifiers`). What WORK already holds is not made
again, and a run that was stopped goes on where it was. WORK/tables.md is written last.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from external_tables import (
    against_published,
    by_network,
    counterexamples,
    diagnoses,
    one_by_one,
    outcome_counts,
    separations,
)
from published_profiles import VERIFIERS, Published, published, with_median_boxes

from assay.difficulty.explain import Outcomes, explained
from assay.difficulty.explanation import Explanation, Point
from assay.difficulty.profile_table import PROFILE_FILE, ProfileRow, read_profile_table
from assay.report.difficulty_page import write_explanation_charts
from assay.report.explained_runs import explain_runs
from assay.suite.exchange.listed_files import write_list
from assay.suite.folder import BenchmarkFolder

SEED, RESAMPLES = 0, 1999
RUN = ("linear", "neuralsat", "nnenum")
APART = "marabou"
"""Run apart, because what it says about oval21 is wrong and must not be explained."""


@dataclass(frozen=True)
class External:
    """A benchmark, and which part of it is run: every `stride`-th row of its list."""

    name: str
    stride: int
    void: frozenset[str] = frozenset()
    """Verifiers whose answers about it are known to be wrong."""
    shown: range = range(0)
    """Rows that the paper speaks of, counted from zero."""


BENCHMARKS = (
    External("mnist_fc", 3, shown=range(74, 90)),
    External("oval21", 2, frozenset({APART}), range(10, 20)),
)


@dataclass(frozen=True)
class Measured:
    """The whole benchmark with our profile and what was published about it."""

    benchmark: External
    folder: BenchmarkFolder
    profile: dict[str, ProfileRow]
    same_box: dict[str, ProfileRow]
    published: list[Published]

    @property
    def points(self) -> list[Point]:
        rows = ((entry, self.profile[entry.name]) for entry in self.folder.entries)
        return [
            Point(entry.name, entry.onnx.stem, row.values, {}, blind=row.blind)
            for entry, row in rows
            if row.values is not None
        ]

    def outcomes(self, verifier: str) -> dict[str, str]:
        """What was published, in the words of an explanation."""
        if verifier in self.benchmark.void:
            return {}
        solved = {"robust": "solved", "violated": "solved"}
        found = {p.instance: p.outcomes[verifier] for p in self.published}
        return {name: solved.get(outcome, outcome) for name, outcome in found.items()}


def assay(*arguments: str | Path) -> None:
    """Run the command line, and show it."""
    print("$ assay", *arguments, flush=True)
    command = [str(Path(sys.executable).parent / "assay"), *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def imported(source: Path, target: Path) -> Path:
    if not target.exists():
        assay("import", source, "-o", target)
    return target


def profiled(folder: Path, jobs: int) -> dict[str, ProfileRow]:
    if not (folder / PROFILE_FILE).exists():
        assay("profile", folder, "--seed", str(SEED), "--jobs", str(jobs))
    return read_profile_table(folder)


def part_of(whole: Path, stride: int) -> Path:
    """Every `stride`-th question as a benchmark of its own."""
    target = whole.with_name(f"{whole.name}-part")
    if not target.exists():
        with (whole / "instances.csv").open(newline="") as stream:
            rows = list(csv.reader(stream))
        with (whole / "part.csv").open("w", newline="") as stream:
            csv.writer(stream).writerows(rows[::stride])
        imported(whole / "part.csv", target)
    return target


def measured(sources: Path, release: Path, work: Path, external: External, jobs: int) -> Measured:
    whole = imported(sources / external.name, work / external.name)
    folder = BenchmarkFolder.open(whole)
    same_box = work / f"{external.name}-median"
    if not same_box.exists():
        with_median_boxes(folder, same_box)
    return Measured(
        external,
        folder,
        profiled(whole, jobs),
        profiled(same_box, jobs),
        published(release, external.name),
    )


def runs_of(part: Path, work: Path, timeout: int, jobs: int) -> list[Path]:
    """The runs on the part: those to explain, and the one apart."""
    found = []
    for name, verifiers in ((part.name, RUN), (f"{part.name}-{APART}", (APART,))):
        found.append(work / "runs" / name)
        chosen = [word for verifier in verifiers for word in ("-v", verifier)]
        limits = ("--timeout", str(timeout), "--jobs", str(jobs))
        assay("run", part, *chosen, *limits, "-o", found[-1])
    return found


def explained_part(external: External, part: Path, runs: Sequence[Path], jobs: int) -> Explanation:
    profiled(part, jobs)
    sound = [run for run in runs if not any(run.name.endswith(f"-{v}") for v in external.void)]
    return explain_runs(part, sound, seed=SEED, resamples=RESAMPLES).explanation


def explained_publication(name: str, found: Sequence[Measured]) -> Explanation:
    """The published outcomes held against our profiles."""
    points = [point for measured in found for point in measured.points]
    outcomes = []
    for verifier in VERIFIERS:
        merged = {k: v for measured in found for k, v in measured.outcomes(verifier).items()}
        if merged:
            outcomes.append(Outcomes(verifier, merged, {}, merged))
    return explained(name, points, outcomes, seed=SEED, resamples=RESAMPLES)


def falsified(measured: Measured, work: Path, jobs: int) -> Path:
    """A run on every question that may be violated: by our search, or as published."""
    name = measured.benchmark.name
    suspects = {p.instance for p in measured.published if "violated" in p.outcomes.values()}
    suspects |= {n for n, row in measured.profile.items() if float(row.others["M_searched"]) <= 0}
    target = work / f"{name}-suspects"
    if not target.exists():
        target.mkdir()
        for part in ("onnx", "vnnlib"):
            shutil.copytree(measured.folder.path / part, target / part)
        entries = [entry for entry in measured.folder.entries if entry.name in suspects]
        rows = [(f"onnx/{e.onnx.name}", f"vnnlib/{e.vnnlib.name}", e.timeout) for e in entries]
        write_list(target, rows)
    run = work / "runs" / target.name
    tools = ("-v", "linear", "-v", "attack")
    assay("run", target, *tools, "--timeout", "60", "--jobs", str(jobs), "-o", run)
    return run


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sources", type=Path)
    parser.add_argument("release", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--timeout", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--images", type=Path)
    chosen = parser.parse_args()
    work: Path = chosen.work
    text: list[str] = []
    whole: list[Measured] = []
    drawn: dict[str, Explanation] = {}
    for external in BENCHMARKS:
        found = measured(chosen.sources, chosen.release, work, external, chosen.jobs)
        part = part_of(found.folder.path, external.stride)
        runs = runs_of(part, work, chosen.timeout, chosen.jobs)
        drawn[external.name] = explained_part(external, part, runs, chosen.jobs)
        suspects = falsified(found, work, chosen.jobs)
        text += [f"## {external.name}", by_network(found.folder, found.profile)]
        text += [outcome_counts(runs), separations(drawn[external.name])]
        text += [diagnoses(drawn[external.name]), counterexamples(suspects, found.published)]
        theirs_and_ours = (found.published, found.profile, found.same_box)
        text += [against_published(*theirs_and_ours)]
        text += [one_by_one(external.shown, *theirs_and_ours)]
        whole.append(found)
    for name, chosen_ones in (("mnist_fc", whole[:1]), ("oval21", whole[1:]), ("both", whole)):
        key = f"{name}-published"
        drawn[key] = explained_publication(name, chosen_ones)
        text += [f"## Published outcomes, our profiles: {name}"]
        text += [separations(drawn[key]), diagnoses(drawn[key])]
    (work / "tables.md").write_text("\n\n".join(text) + "\n")
    for name, explanation in drawn.items():
        write_explanation_charts(explanation, work / "charts" / name)
    if chosen.images is not None:
        copy_pictures(work / "charts", chosen.images)


def copy_pictures(charts: Path, images: Path) -> None:
    """The counterparts of the paper's Figs. 3, 5 and 6, with our outcomes and with theirs."""
    images.mkdir(parents=True, exist_ok=True)
    wanted = {
        "mnist_fc": ("auc", "map-linear-U-d_eff", "trajectory-mnist_fc"),
        "oval21": ("trajectory-oval21",),
        "mnist_fc-published": ("trajectory-mnist_fc",),
        "oval21-published": ("trajectory-oval21",),
        "both-published": ("auc", "map-abcrown-U-d_eff"),
    }
    for folder, names in wanted.items():
        for name in names:
            shutil.copy(charts / folder / f"{name}.svg", images / f"{folder}-{name}.svg")


if __name__ == "__main__":
    main()
