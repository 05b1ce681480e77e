"""The main job in one go: build a suite, check it, run verifiers on it, score them, report."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from assay.errors import CannotCertify
from assay.judge.catalogue import verifiers
from assay.judge.run_progress import RunWatcher
from assay.judge.runner import Settings, run
from assay.judge.score_export import to_document
from assay.judge.score_table import Scores
from assay.judge.scored_runs import score_runs
from assay.judge.verifier import Verifier
from assay.report.page import write_report
from assay.suite.build import build
from assay.suite.checking import check, claims_of_folder
from assay.suite.folder import BenchmarkFolder
from assay.suite.journal import writing
from assay.suite.spec import Suite
from assay.suite.workers import Watcher, available_cores

DEFAULT_VERIFIERS = ("interval", "linear", "milp", "attack", "marabou")
Stage = Callable[[str], AbstractContextManager[Watcher]]
"""Shows one stage of the work, by its name, while it lasts."""


@dataclass(frozen=True)
class Audit:
    """Where everything lies, and what the verifiers are worth."""

    benchmark: Path
    run: Path
    report: Path
    scores_file: Path
    instances: int
    scores: Scores


def default_verifiers() -> tuple[list[Verifier], list[Verifier]]:
    """The verifiers of an audit that names none: those that are here, and those that are not."""
    known = [verifiers()[name] for name in DEFAULT_VERIFIERS]
    here = [verifier for verifier in known if verifier.version() is not None]
    return here, [verifier for verifier in known if verifier not in here]


def audit(
    suite: Suite,
    tools: Sequence[Verifier],
    target: Path,
    settings: Settings,
    stage: Stage,
    shown_run: Callable[[], AbstractContextManager[RunWatcher]],
    *,
    seed: int | None = None,
) -> Audit:
    """Audit the tools in the folder `target`; what was done there before is not done again.

    Raises CannotCertify when the checker does not verify every label: then nothing is judged.
    """
    benchmark, judged = target / "benchmark", target / "run"
    with stage("build") as watcher:
        built = build(suite, benchmark, seed=seed, jobs=available_cores(), watcher=watcher)
    if built.failures:
        first = built.failures[0]
        raise CannotCertify(
            f"{benchmark}: {len(built.failures)} draws of the suite could not be built, first "
            f"{first['task']}: {first['reason']}"
        )
    folder = BenchmarkFolder.open(benchmark)
    with stage("check") as watcher:
        checked = check(claims_of_folder(folder), available_cores(), watcher)
    wrong = [result for result in checked if result.status != "verified"]
    if wrong:
        raise CannotCertify(
            f"{wrong[0].truth}: {wrong[0].status} by the checker ({wrong[0].reason}); "
            f"remove {benchmark} and build it again"
        )
    with shown_run() as run_watcher:
        run(folder, tools, settings, judged, run_watcher)
    scores = score_runs([judged], benchmark, "2026")
    scores_file, report = target / "scores.json", target / "report.html"
    with writing(scores_file):
        scores_file.write_text(json.dumps(to_document(scores), indent=1) + "\n", encoding="utf-8")
    lines = {result.name: result.line for result in checked}
    write_report([judged], benchmark, report, checked=lines)
    return Audit(benchmark, judged, report, scores_file, len(folder.entries), scores)
