"""Seconds and memory of a difficulty profile, beside the implementation that the paper released.

    assay build paper -o /tmp/paper
    python benchmarks/profile_speed.py /tmp/paper [--reference VeriStressGT/src] [-o TABLE.md]

One instance of each family: the one with the largest network in the folder. Every profile runs in
a process of its own with one thread, ours and theirs in turn, so both meet the same machine.
`--reference` is the `src` folder of a checkout of VeriStressGT; its profile is taken with its own
defaults (600 samples), ours with 1,000.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from assay.difficulty.profiling import ProfileTask, profile_task
from assay.difficulty.settings import Settings
from assay.engine.work import CHILD_ENVIRONMENT
from assay.suite.folder import BenchmarkFolder, FolderEntry
from assay.suite.proved_truths import entry_truth

LIMIT_S = 600
"""A reference that takes longer is reported as above this."""
_REFERENCE = """
import json, sys, time, resource
from VeriStressGT.difficulty_profile.profile import estimate_profile
import VeriStressGT.difficulty_profile.components, torch, onnxruntime
begun = time.perf_counter()
estimate_profile(sys.argv[1], sys.argv[2], verbose=False)
print(json.dumps({"seconds": time.perf_counter() - begun,
                  "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
"""


@dataclass(frozen=True)
class Measured:
    """Our seconds for the five components, the search and the linear bounds, and theirs."""

    family: str
    instance: str
    megabytes: float
    components: float
    search: float
    linear: float
    memory_mb: float
    reference: float | None
    reference_mb: float | None

    @property
    def total(self) -> float:
        return self.components + self.search

    def ratio(self, seconds: float) -> str:
        """How many times as long as these seconds the reference takes."""
        if self.reference is None:
            return ""
        sign = "> " if self.reference >= LIMIT_S else ""
        return f"{sign}{self.reference / seconds:.0f}"


def largest(folder: BenchmarkFolder) -> dict[str, FolderEntry]:
    """The robust instance with the largest network file of each family."""
    found: dict[str, FolderEntry] = {}
    for entry in folder.entries:
        if entry.truth is None or not entry.name.endswith("robust"):
            continue
        family = entry_truth(entry).family
        best = found.get(family)
        if best is None or entry.onnx.stat().st_size > best.onnx.stat().st_size:
            found[family] = entry
    return dict(sorted(found.items()))


def ours(entry: FolderEntry, samples: int) -> dict[str, float]:
    files = f"{str(entry.onnx)!r}, {str(entry.vnnlib)!r}"
    code = f"from profile_speed import one; one({files}, {samples})"
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    return _child([sys.executable, "-c", code], {"PYTHONPATH": paths}) or {}


def one(onnx: str, vnnlib: str, samples: int) -> None:
    """Profile one question in this process and print what it took."""
    import assay.difficulty.profile  # noqa: F401  (torch is loaded before the clock runs)

    row = profile_task(ProfileTask("one", Path(onnx), Path(vnnlib), None, Settings(samples)))
    names = ("seconds", "search_seconds", "crown_seconds")
    taken = {name: row.cells[name] for name in names}
    print(json.dumps(taken | {"memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


def theirs(entry: FolderEntry, reference: Path) -> dict[str, float] | None:
    command = [sys.executable, "-c", _REFERENCE, str(entry.onnx), str(entry.vnnlib)]
    return _child(command, {"PYTHONPATH": str(reference)})


def _child(command: list[str], environment: dict[str, str]) -> dict[str, float] | None:
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **CHILD_ENVIRONMENT, **environment},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise SystemExit(f"{command[-2:]}: {done.stderr[-400:]}")
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def measure(family: str, entry: FolderEntry, samples: int, reference: Path | None) -> Measured:
    mine = ours(entry, samples)
    other = theirs(entry, reference) if reference else {}
    seconds = LIMIT_S if other is None else other.get("seconds")
    memory = None if not other else other["memory"] / 1024
    return Measured(
        family,
        entry.name,
        entry.onnx.stat().st_size / 2**20,
        mine["seconds"],
        mine["search_seconds"],
        mine["crown_seconds"],
        mine["memory"] / 1024,
        seconds,
        memory,
    )


def measured(folder: Path, samples: int = 1000, reference: Path | None = None) -> list[Measured]:
    rows = []
    for family, entry in largest(BenchmarkFolder.open(folder.resolve())).items():
        rows.append(measure(family, entry, samples, reference))
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def table(rows: list[Measured], samples: int = 1000) -> str:
    lines = [
        f"| family | instance | network MB | five components s ({samples} samples) | search s "
        "| linear bounds s | memory MB | reference s | reference MB | ratio | ratio with search |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        reference = "" if r.reference is None else f"{r.reference:.1f}"
        memory = "" if r.reference_mb is None else f"{r.reference_mb:.0f}"
        lines.append(
            f"| {r.family} | {r.instance} | {r.megabytes:.2f} | {r.components:.3f} "
            f"| {r.search:.3f} | {r.linear:.3f} | {r.memory_mb:.0f} | {reference} | {memory} "
            f"| {r.ratio(r.components)} | {r.ratio(r.total)} |"
        )
    middle = statistics.median(r.components for r in rows)
    lines.append("")
    lines.append(
        f"Median {middle:.3f} s for the five components, "
        f"{statistics.median(r.total for r in rows):.3f} s with the search; "
        f"largest process {max(r.memory_mb for r in rows):.0f} MB."
    )
    known = [r for r in rows if r.reference is not None]
    for words, seconds in (("", lambda r: r.components), (" with the search", lambda r: r.total)):
        ratios = [r.reference / seconds(r) for r in known if r.reference is not None]
        if ratios:
            lines.append(
                f"Median ratio{words} {statistics.median(ratios):.0f}, least {min(ratios):.0f}."
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    text = table(measured(given.folder, given.samples, given.reference), given.samples)
    print(text)
    if given.output:
        given.output.write_text(text)


if __name__ == "__main__":
    main()
