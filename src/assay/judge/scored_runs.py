"""From run folders to scores: their results, the truths and limits of the benchmark they ran."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.errors import BadInput
from assay.judge.results import Result, light, read_results
from assay.judge.run_folder import RESULTS_FILE, benchmark_sha256, read_plan
from assay.judge.score import score
from assay.judge.score_table import Scores
from assay.judge.vnncomp_score import Year
from assay.suite.folder import BenchmarkFolder
from assay.truth.record import Truth


def benchmark_of(runs: Sequence[Path], given: Path | None = None) -> BenchmarkFolder:
    """The one benchmark that all runs ran, by the hash of its bytes."""
    plans = [read_plan(run) for run in runs]
    folder = BenchmarkFolder.open(given or Path(str(plans[0].get("benchmark", ""))))
    found = benchmark_sha256(folder)
    for run, plan in zip(runs, plans, strict=True):
        if plan.get("benchmark_sha256") != found:
            raise BadInput(
                f"{run}: ran another benchmark than {folder.path}; name the right one with "
                "--benchmark"
            )
    return folder


def results_of(runs: Sequence[Path]) -> list[Result]:
    """The results of all runs, without what scoring does not need."""
    return [light(result) for run in runs for result in read_results(run / RESULTS_FILE)]


def truths_of(folder: BenchmarkFolder) -> dict[str, Truth]:
    """The truths of the benchmark's instances that have one."""
    return {
        entry.name: Truth.from_json(entry.truth.read_text(encoding="utf-8"), str(entry.truth))
        for entry in folder.entries
        if entry.truth is not None
    }


def score_results(
    results: Sequence[Result], folder: BenchmarkFolder, year: Year, timeout_s: float | None = None
) -> Scores:
    limits = {entry.name: timeout_s or entry.timeout for entry in folder.entries}
    return score(results, truths_of(folder), limits, year, folder.title)


def score_runs(runs: Sequence[Path], benchmark: Path | None, year: Year) -> Scores:
    folder = benchmark_of(runs, benchmark)
    timeout = read_plan(runs[0]).get("timeout_s")
    return score_results(results_of(runs), folder, year, timeout)
