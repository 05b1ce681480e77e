"""The main job in one go: build suites, check them, run verifiers on them, score, report."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from assay.engine.work import Watcher, available_cores
from assay.errors import BadInput, CannotCertify
from assay.judge.catalogue import verifiers
from assay.judge.run_folder import read_plan, refuse_other_run
from assay.judge.run_progress import RunWatcher
from assay.judge.runner import Settings, installed_versions, run, settled_plan, tool_records
from assay.judge.score_export import to_document
from assay.judge.score_table import Scores
from assay.judge.scored_runs import JudgedRuns, judge_runs
from assay.judge.verifier import Verifier
from assay.report.own_files import refuse_foreign
from assay.report.page import write_report
from assay.store.whole_file import write_whole, writing
from assay.suite.build import build
from assay.suite.build_journal import STATE, SUITE_FILE
from assay.suite.checking import check, claims_of_folder
from assay.suite.folder import BenchmarkFolder
from assay.suite.spec import Suite

BENCHMARK, RUN, REPORT, SCORES = "benchmark", "run", "report.html", "scores.json"
_SCORES_BEGIN = b'{\n "schema": '
DEFAULT_SUITES = ("quick", "soundness")
DEFAULT_VERIFIERS = ("interval", "linear", "milp", "attack", "marabou")
Stage = Callable[[str], AbstractContextManager[Watcher]]
"""Shows one stage of the work, by its name, while it lasts."""


@dataclass(frozen=True)
class Audit:
    """Where everything lies, and what the verifiers are worth.

    `judged` has every answer. `left_out` names verifiers of earlier audits in the same folder,
    which this one is not about.
    """

    benchmark: Path
    run: Path
    report: Path
    scores_file: Path
    instances: int
    scores: Scores
    judged: JudgedRuns
    left_out: tuple[str, ...]


def default_verifiers() -> tuple[list[Verifier], list[Verifier]]:
    """The verifiers of an audit that names none: those that are here, and those that are not."""
    known = [verifiers()[name] for name in DEFAULT_VERIFIERS]
    here = [verifier for verifier in known if verifier.version() is not None]
    return here, [verifier for verifier in known if verifier not in here]


def audit(
    suites: Sequence[Suite],
    tools: Sequence[Verifier],
    target: Path,
    settings: Settings,
    stage: Stage,
    shown_run: Callable[[], AbstractContextManager[RunWatcher]],
    *,
    seed: int | None = None,
) -> Audit:
    """Audit the tools in the folder `target`; what was done there before is not done again.

    Results of other tools that lie in its run are left out. Raises CannotCertify when the checker
    does not verify every label: then nothing is judged.
    """
    # What would stop the run is told before anything is built.
    _refuse_foreign(target)
    refuse_other_run(
        target / RUN, settled_plan(settings), installed_versions(tools), tool_records(tools)
    )
    benchmark, judged = target / BENCHMARK, target / RUN
    scores_file, report = target / SCORES, target / REPORT
    folder = _built(suites, benchmark, seed, stage)
    lines = _checked(folder, stage)
    with shown_run() as run_watcher:
        run(folder, tools, settings, judged, run_watcher)
    names = {tool.name for tool in tools}
    scores = write_report([judged], benchmark, report, only=names, checked=lines).scores
    write_whole(scores_file, (json.dumps(to_document(scores), indent=1) + "\n").encode())
    return Audit(
        benchmark=benchmark,
        run=judged,
        report=report,
        scores_file=scores_file,
        instances=len(folder.entries),
        scores=scores,
        judged=judge_runs([judged], benchmark, names),
        left_out=tuple(sorted(set(read_plan(judged)["verifiers"]) - names)),
    )


def _built(
    suites: Sequence[Suite], benchmark: Path, seed: int | None, stage: Stage
) -> BenchmarkFolder:
    suite, *others = suites
    with stage("build") as watcher:
        built = build(
            suite, benchmark, seed=seed, jobs=available_cores(), watcher=watcher, also=others
        )
    if built.failures:
        first = built.failures[0]
        raise CannotCertify(
            f"{benchmark}: {len(built.failures)} draws could not be built, first "
            f"{first['task']}: {first['reason']}"
        )
    return BenchmarkFolder.open(benchmark)


def _checked(folder: BenchmarkFolder, stage: Stage) -> dict[str, str]:
    """The checker's line about each instance."""
    with stage("check") as watcher:
        checked = check(claims_of_folder(folder), available_cores(), watcher)
    wrong = [result for result in checked if result.status != "verified"]
    if wrong:
        raise CannotCertify(
            f"{wrong[0].truth}: {wrong[0].status} by the checker ({wrong[0].reason}); "
            f"remove {folder.path} and build it again"
        )
    return {result.name: result.line for result in checked}


def _refuse_foreign(target: Path) -> None:
    """Only a new or empty folder, or one where an audit was begun, is written to."""
    with writing(target):
        if not target.exists() or (target.is_dir() and not any(target.iterdir())):
            return
        own = (target / BENCHMARK).is_dir() and _is_build(target / BENCHMARK)
        scores = (target / SCORES).read_bytes() if (target / SCORES).exists() else _SCORES_BEGIN
    if not own:
        raise BadInput(f"{target}: is not an audit folder; choose a new folder with --output")
    refuse_foreign(target / REPORT)
    # What a kill left of a file that was once not written whole is no reason to refuse.
    if not (scores.startswith(_SCORES_BEGIN) or _SCORES_BEGIN.startswith(scores)):
        raise BadInput(f"{target / SCORES}: was not written by an audit; choose a new folder")


def _is_build(folder: Path) -> bool:
    """Whether a build was finished or begun there; one that was killed at once leaves nothing."""
    names = {path.name for path in folder.iterdir()}
    return not names or bool(names & {STATE, SUITE_FILE})
