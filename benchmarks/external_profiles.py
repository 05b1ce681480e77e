"""Import two public benchmarks of VNN-COMP, run verifiers on a part, profile all, explain the part.

    python benchmarks/external_profiles.py SOURCES WORK [--release RELEASE] [--jobs 2]

SOURCES is the folder `benchmarks` of a clone of github.com/ChristopherBrix/vnncomp2022_benchmarks;
RELEASE, if given, a clone of github.com/dtroxell19/VeriStressGT, which holds profiles and outcomes
for the same 120 questions. Neither is part of this repository, so `make evidence` does not do this.
What WORK already holds is not made again, and a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class External:
    """A benchmark, and which part of it is run: every `stride`-th row of its list."""

    name: str
    stride: int


BENCHMARKS = (External("mnist_fc", 3), External("oval21", 2))
VERIFIERS = ("linear", "neuralsat", "nnenum", "marabou")


def assay(*arguments: str | Path) -> None:
    """Run the command line, and show it."""
    print("$ assay", *arguments, flush=True)
    command = [str(Path(sys.executable).parent / "assay"), *map(str, arguments)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def imported(sources: Path, work: Path, benchmark: External) -> tuple[Path, Path]:
    """The whole benchmark and the part of it, as two folders in `work`."""
    whole, part = work / benchmark.name, work / f"{benchmark.name}-part"
    if not whole.exists():
        assay("import", sources / benchmark.name, "-o", whole)
    if not part.exists():
        with (whole / "instances.csv").open(newline="") as stream:
            rows = list(csv.reader(stream))
        with (whole / "part.csv").open("w", newline="") as stream:
            csv.writer(stream).writerows(rows[:: benchmark.stride])
        assay("import", whole / "part.csv", "-o", part)
    return whole, part
