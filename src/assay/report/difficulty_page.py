"""An explanation as one self-contained HTML page, and its charts as files for papers."""

from __future__ import annotations

import re
from pathlib import Path

from assay.difficulty.explanation import Explanation
from assay.report.chart_files import refuse_foreign_charts, write_chart_files
from assay.report.difficulty_charts import auc_chart, interaction_chart
from assay.report.difficulty_section import section
from assay.report.own_files import refuse_foreign
from assay.report.self_contained import render_page
from assay.report.trajectory_chart import trajectory_chart
from assay.store.whole_file import write_whole

_LONGEST_NAME = 120


def write_explanation(explanation: Explanation, target: Path) -> None:
    """Write the page to `target`; only a page of Assay's own is written over."""
    refuse_foreign(target)
    html = render_page(
        "explanation.html.j2",
        ("report", "difficulty"),
        ("page", "difficulty"),
        explanation=explanation,
        why=section(explanation),
    )
    write_whole(target, html)


def write_explanation_charts(
    explanation: Explanation, folder: Path, with_png: bool = False
) -> list[Path]:
    """Write auc.svg, a map for every verifier and pair, and every trajectory into `folder`.

    `with_png` writes each as PNG too. Either all of them may be written, or none is.
    """
    drawn = _charts(explanation)
    refuse_foreign_charts(folder, drawn, with_png)
    return write_chart_files(folder, drawn, with_png)


def _charts(explanation: Explanation) -> dict[str, str]:
    """The drawings by the name of their file, without its ending."""
    drawn = {"auc": auc_chart(explanation.verifiers, explanation.confidence)}
    for verifier in explanation.verifiers:
        for found in verifier.maps:
            name = _free_name(drawn, "map", verifier.verifier, found.x, found.y)
            drawn[name] = interaction_chart(found, verifier.verifier)
    points = {point.instance: point for point in explanation.points}
    for trajectory in explanation.trajectories:
        name = _free_name(drawn, "trajectory", trajectory.family, trajectory.knob or "")
        drawn[name] = trajectory_chart(trajectory, points, explanation.verifiers)
    return drawn


def _free_name(taken: dict[str, str], *words: str) -> str:
    """A name that every file system takes and that no other chart has, in capitals or not."""
    plain = [re.sub(r"[^A-Za-z0-9._-]+", "_", word) for word in words if word]
    name = "-".join(plain)[:_LONGEST_NAME]
    used = {other.lower() for other in taken}
    number, free = 1, name
    while free.lower() in used:
        number += 1
        free = f"{name}-{number}"
    return free
