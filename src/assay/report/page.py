"""One self-contained HTML file about runs, and the two charts as files for papers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup

from assay.analyse.calibration.files import Calibration, read_calibration
from assay.difficulty.explanation import Explanation
from assay.difficulty.profile_table import PROFILE_FILE
from assay.engine.work import Watcher
from assay.errors import BadInput
from assay.judge.crashed_tools import crashed_tools
from assay.judge.score_table import ALL_FAMILIES, VIRTUAL_BEST, Group, Row, Scores
from assay.judge.vnncomp_score import Standing, Year
from assay.report.banner import banners, seconds, segments
from assay.report.calibration_section import section as calibration_section
from assay.report.chart_files import refuse_foreign_charts, write_chart_files
from assay.report.charts import cactus, paired_times, scatter, solved_times
from assay.report.details import details
from assay.report.difficulty_section import section
from assay.report.embed import page_data, script_json
from assay.report.glossary import GLOSSARY
from assay.report.material import Material, gather
from assay.report.next_steps import WRONG, next_steps
from assay.report.own_files import refuse_foreign
from assay.report.self_contained import render_page
from assay.report.wording import GROUP_NOTE, GROUP_TITLE, OUTCOME_MEANING, WORST_FIRST
from assay.store.whole_file import write_whole

EMBEDDED_CHARACTERS = 6_000_000
"""How much of commands, logs, witnesses and questions a page holds; the rest stays in the run."""
_CHARTS = ("cactus", "scatter")
_STYLES = ("report", "difficulty")
_SCRIPTS = ("page", "data", "table", "drawer", "scatter", "difficulty")
_MOST_FINDINGS = 30
_MOST_SPLITS = 50
_MOST_PAIRS = 100
_RESAMPLES = 1000


@dataclass(frozen=True)
class Report:
    """What was written, and what the exit code of a command may depend on."""

    path: Path
    charts: tuple[Path, ...]
    tasks: int
    scores: Scores

    @property
    def unsound(self) -> int:
        return len(self.scores.unsound)

    @property
    def incomplete(self) -> str:
        return self.scores.incomplete


def write_report(
    runs: Sequence[Path],
    benchmark: Path | None,
    target: Path,
    *,
    year: Year = "2026",
    only: Collection[str] | None = None,
    checked: Mapping[str, str] | None = None,
    made: datetime | None = None,
    charts: Path | None = None,
    pair: tuple[str, str] | None = None,
    with_png: bool = False,
    embedded: int = EMBEDDED_CHARACTERS,
    calibration: Path | None = None,
    watcher: Watcher | None = None,
) -> Report:
    """Write the page about runs of one benchmark to `target`.

    `benchmark` is needed only where the folder has moved since the runs. `only` leaves out all
    other verifiers. `checked` holds the independent checker's line about an instance, by name,
    where it was asked. `charts` is a folder for the charts as files: see `write_charts`.
    `calibration` is a calibration.json, shown in a section of its own. `watcher` hears of truths
    that have to be checked.
    """
    refuse_foreign(target)
    calibrated = None if calibration is None else read_calibration(calibration)
    if charts:
        refuse_foreign_charts(charts, _CHARTS, with_png)
    material = gather(runs, benchmark, year, only, watcher)
    why = explained(material)
    html = render(
        material, target, checked or {}, made or datetime.now(UTC), embedded, why, calibrated
    )
    write_whole(target, html)
    drawn = _write_charts(material, charts, pair, with_png) if charts else ()
    return Report(target, tuple(drawn), len(material.tasks), material.scores)


def write_charts(
    runs: Sequence[Path],
    benchmark: Path | None,
    folder: Path,
    *,
    pair: tuple[str, str] | None = None,
    with_png: bool = False,
) -> list[Path]:
    """Write cactus.svg, and scatter.svg of two tools, into `folder`; without a pair the two best.

    Both show the instances whose answer holds in floating point, if there are any. `with_png`
    writes both as PNG too.
    """
    refuse_foreign_charts(folder, _CHARTS, with_png)
    return _write_charts(gather(runs, benchmark), folder, pair, with_png)


def _write_charts(
    material: Material, folder: Path, pair: tuple[str, str] | None, with_png: bool
) -> list[Path]:
    group = material.scores.groups[0]
    times = solved_times(material, group)
    drawn = {_CHARTS[0]: cactus(times)}
    names = sorted(material.scores.verifiers, key=lambda name: -len(times[name]))
    chosen = pair or tuple(names[:2])
    for name in chosen:
        if name not in names:
            raise BadInput(f"{name!r} has no results here; choose among {', '.join(sorted(names))}")
    if len(chosen) == 2:
        points, limit = paired_times(material, chosen[0], chosen[1], group)
        drawn[_CHARTS[1]] = scatter(chosen[0], chosen[1], points, limit)
    return write_chart_files(folder, drawn, with_png)


def explained(material: Material) -> Explanation | str:
    """Why tools leave instances unsolved, by the profile; a sentence where that is of no use.

    Empty where there is no profile. A report never fails for a file that only adds to it.
    """
    if not (material.folder.path / PROFILE_FILE).is_file():
        return ""
    from assay.report.explained_runs import explain_runs

    try:
        runs = explain_runs(material.folder.path, material.runs, seed=0, resamples=_RESAMPLES)
    except BadInput as error:
        return str(error)
    found = runs.explanation
    # The order decides the colours: a tool has the same one all over the page.
    known = {verifier.verifier: verifier for verifier in found.verifiers}
    shown = tuple(known[name] for name in material.scores.verifiers if name in known)
    return replace(found, verifiers=shown)


def render(
    material: Material,
    target: Path,
    checked: Mapping[str, str],
    made: datetime,
    embedded: int,
    why: Explanation | str = "",
    calibrated: Calibration | None = None,
) -> str:
    steps = next_steps(material)
    data = page_data(material, details(material, embedded, steps), checked, target)
    return render_page(
        "report.html.j2",
        _STYLES,
        _SCRIPTS,
        material=material,
        scores=material.scores,
        made=f"{made:%Y-%m-%d %H:%M %Z}".strip(),
        banners=banners(material),
        crashed=crashed_tools((task.settled.result, task.source.run) for task in material.tasks),
        groups=[_group(material, group) for group in material.scores.groups],
        limits=_limits(material),
        verified=sum(line.startswith("s VERIFIED") for line in checked.values()),
        findings=material.scores.findings[:_MOST_FINDINGS],
        steps=steps,
        ranked_above=ranked_above,
        glossary=GLOSSARY,
        splits=material.scores.splits[:_MOST_SPLITS],
        present=[o for o in WORST_FIRST if any(row.count(o) for row in material.scores.rows)],
        wrong=sorted({finding.outcome for finding in material.scores.findings}),
        meaning=OUTCOME_MEANING,
        virtual_best=VIRTUAL_BEST,
        data=Markup(script_json(data)),
        why=section(why) if isinstance(why, Explanation) else None,
        why_not=why if isinstance(why, str) else "",
        calibration=None if calibrated is None else calibration_section(calibrated),
    )


def _group(material: Material, group: Group) -> dict[str, Any]:
    """What the template prints about one group of instances."""
    scores = material.scores
    rows = [row for row in scores.rows if row.group == group]
    families = sorted(
        dict.fromkeys(row.family for row in rows if row.family != ALL_FAMILIES),
        key=lambda family: [-sum(r.count(o) for r in rows if r.family == family) for o in WRONG],
    )
    cells = {(row.verifier, row.family): _cell(row) for row in rows}
    names = [name for name in (*scores.verifiers, VIRTUAL_BEST) if (name, ALL_FAMILIES) in cells]
    return {
        "name": group,
        "title": GROUP_TITLE[group],
        "note": GROUP_NOTE[group],
        "verifiers": names,
        "families": [ALL_FAMILIES, *families] if len(families) > 1 else families,
        "cells": cells,
        "outcomes": [o for o in WORST_FIRST if any(row.count(o) for row in rows)],
        "ranking": scores.ranking[group],
        "comparisons": scores.comparisons[group][:_MOST_PAIRS],
        "pairs": len(scores.comparisons[group]),
        "cactus": [
            Markup(cactus(solved_times(material, group), page=True, narrow=narrow))
            for narrow in (False, True)
        ],
    }


def _cell(row: Row) -> dict[str, Any]:
    return {
        "row": row,
        "segments": segments([row]),
        "wrong": [(outcome, row.count(outcome)) for outcome in WRONG if row.count(outcome)],
    }


def ranked_above(ranking: Sequence[Standing]) -> str:
    """The first tool with wrong answers that VNN-COMP places above one without, in a sentence."""
    wrong = {s.verifier: sum(b.wrong for b in s.benchmarks) for s in ranking}
    for better in ranking:
        for worse in ranking:
            if wrong[better.verifier] and not wrong[worse.verifier] and better.rank < worse.rank:
                return (
                    f"So {better.verifier}, with {wrong[better.verifier]} wrong, stands above "
                    f"{worse.verifier}, with none: it scored more in other families."
                )
    return ""


def _limits(material: Material) -> list[str]:
    """The limits of the runs, which are the same for all."""
    times = sorted({material.limits[name] for name in material.limits})
    spread = seconds(times[0]) if len(times) == 1 else f"{seconds(times[0])} – {seconds(times[-1])}"
    memory = material.plans[0].get("memory_mb")
    found = [f"{spread} an instance"]
    if isinstance(memory, (int, float)):
        found.append(f"{memory / 1024:g} GB")
    return found
