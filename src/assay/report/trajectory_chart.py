"""The profile of instances along a knob, and under it what became of each, as SVG.

One panel a component and one strip a verifier share the horizontal axis, so that an outcome can be
read against the numbers above it. A column over all of them carries an instance's own words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from statistics import median_low

from assay.difficulty.components import COMPONENTS, Component
from assay.difficulty.explanation import Point, Trajectory, VerifierExplanation
from assay.report.banner import seconds
from assay.report.component_axis import ComponentAxis, Place
from assay.report.drawing import CHARACTER, Frame, picture, printable, shortened
from assay.report.knob_axis import KnobAxis, step_text
from assay.report.scales import number_text

OUTCOMES = {"solved": "solved", "unsolved": "late", "left out": "left"}
"""The outcomes of an explanation, and the class that colours each."""
_HEIGHT = {"solved": 0.45, "unsolved": 1.0, "left out": 0.15}
"""How much of a cell each fills, from below: colour is not the only sign."""
_LEFT, _RIGHT, _TOP = 104.0, 64.0, 46.0
_PANEL, _GAP, _STRIP, _CELL = 66.0, 30.0, 17.0, 14.0
_LONGEST_NAME = 13
_LONGEST_KNOBS = 160
_EDGE_MARK: Mapping[Place, str] = {"above": "m0-3l3.5 6h-7z", "below": "m0 3l3.5-6h-7z"}
_STYLE = """.panel{fill:none;stroke:#e3e3e3}.band{stroke:#bbb;stroke-dasharray:2 3}
.trend{fill:none;stroke:#0072b2;stroke-opacity:.6}.mark{fill:#0072b2;stroke:#0072b2}
.dots{fill:none;stroke:#0072b2;stroke-linecap:round}.sheet{fill:#fff}
.solved{fill:#7fc8ab}.late{fill:#a3285f}.left{fill:#f0f0f0;stroke:#bbb;stroke-width:.5}
.name{font-weight:600;fill:#222}.dim{fill:#777;font-weight:400}.hit{fill-opacity:0}.change{stroke:#eee}
"""


def trajectory_chart(
    trajectory: Trajectory,
    points: Mapping[str, Point],
    verifiers: Sequence[VerifierExplanation],
    *,
    page: bool = False,
) -> str:
    """Five panels, a strip a verifier, and the knob; `points` holds the profiles by instance.

    All labels at the left are one group on a sheet, so that a page can keep them in sight. In a
    file every column has its words as a title; a page has them once, however many charts show an
    instance, and gets the numbers of the points in the order of `points`.
    """
    along = KnobAxis.along(trajectory, points, _LEFT)
    strips = _TOP + len(COMPONENTS) * (_PANEL + _GAP) - 8
    bottom = strips + _STRIP * len(verifiers)
    drawn, labels = [along.changes(_TOP, bottom)], []
    for number, component in enumerate(COMPONENTS):
        frame = Frame(_LEFT, _TOP + number * (_PANEL + _GAP), along.end - _LEFT, _PANEL)
        values = [point.values.get(component.name, math.nan) for point in along.points]
        axis = ComponentAxis.over(component, values)
        drawn.append(_panel(axis, values, along, frame))
        labels.append(_panel_labels(component, axis, frame))
    for number, verifier in enumerate(verifiers):
        top = strips + number * _STRIP
        drawn.append(_strip(verifier, along, top))
        labels.append(
            f'<text x="{_LEFT - 10}" y="{top + _CELL - 3:g}" text-anchor="end"><title>'
            f"{printable(verifier.verifier)}</title>"
            f"{printable(shortened(verifier.verifier, _LONGEST_NAME))}</text>"
        )
    # Below the strips the sheet is narrower: the first value of the knob reaches to the left.
    edge = f"M0 0H{_LEFT - 1:g}V{bottom:g}H{_LEFT - 40:g}v20H0z"
    sheet = f'<path class="sheet" d="{edge}"/>'
    columns = _hovered(along, points, bottom) if page else _titled(along, verifiers, bottom)
    group = f'<g class="labels">{sheet}{_legend()}{"".join(labels)}</g>'
    parts = [*drawn, along.ticks(bottom), columns, group]
    return picture(
        along.room + _RIGHT, bottom + 46, along.title, parts, page, _STYLE, own_size=True
    )


def _panel(axis: ComponentAxis, values: Sequence[float], along: KnobAxis, frame: Frame) -> str:
    right = f"{frame.x(1):.1f}"
    rules = "".join(f"M{frame.left} {frame.y(share):.1f}H{right}" for share, _ in axis.ticks())
    borders = "".join(f"M{frame.left} {frame.y(share):.1f}H{right}" for share in axis.borders())
    spots = [
        (along.middle(n), frame.y(axis.share(v)), axis.place(v))
        for n, v in enumerate(values)
        if not math.isnan(v)
    ]
    dots = "".join(f"M{x:.1f} {y:.1f}h.01" for x, y, place in spots if place == "inside")
    marks = "".join(
        f"M{x:.1f} {y:.1f}{_EDGE_MARK[place]}" for x, y, place in spots if place in _EDGE_MARK
    )
    shapes = {
        "grid": rules,
        "band": borders,
        "panel": f"M{frame.left} {frame.top:g}H{right}v{frame.height:g}H{frame.left}z",
        "trend": _trend(axis, values, along, frame) if along.knob is not None else "",
        "mark": marks,
    }
    thick = min(6.0, max(2.5, 0.7 * along.step_width))
    return "".join(f'<path class="{kind}" d="{d}"/>' for kind, d in shapes.items() if d) + (
        f'<path class="dots" stroke-width="{thick:.1f}" d="{dots}"/>' if dots else ""
    )


def _trend(axis: ComponentAxis, values: Sequence[float], along: KnobAxis, frame: Frame) -> str:
    """A line through the medians of every value of the knob, broken where one is off the scale."""
    spots: list[str | None] = []
    for group in along.groups:
        known = [values[n] for n in group if not math.isnan(values[n])]
        middle = median_low(known) if known else math.nan
        x = along.left((group.start + group.stop) / 2)
        inside = known and axis.place(middle) == "inside"
        spots.append(f"{x:.1f} {frame.y(axis.share(middle)):.1f}" if inside else None)
    runs = (
        list(run) for inside, run in groupby(spots, key=lambda spot: spot is not None) if inside
    )
    return "".join("M" + "L".join(str(spot) for spot in run) for run in runs)


def _panel_labels(component: Component, axis: ComponentAxis, frame: Frame) -> str:
    hard = ", small is hard" if component.harder_when == "small" else ""
    ticks = "".join(
        f'<text x="{frame.left - 7}" y="{frame.y(share) + 4:.1f}" text-anchor="end">{text}</text>'
        for share, text in axis.ticks()
    )
    return (
        f"<g><title>{printable(component.meaning)}</title>"
        f'<text class="name" x="10" y="{frame.top - 10:g}">{component.name}'
        f'<tspan class="dim" dx="8">{printable(component.title + hard)}</tspan></text></g>{ticks}'
    )


def _strip(verifier: VerifierExplanation, along: KnobAxis, top: float) -> str:
    """A cell an instance, and at the end the unsolved among those solved or unsolved."""
    found = [verifier.outcomes.get(point.instance, "left out") for point in along.points]
    gap = 1.0 if along.step_width >= 5 else 0.0
    cells: dict[str, str] = {}
    number = 0
    for outcome, run in groupby(found):
        count = len(list(run))
        # Cells without a gap between them are one shape as long as nothing changes.
        for first, last in [(n, n + 1) for n in range(count)] if gap else [(0, count)]:
            left, wide = along.left(number + first), along.step_width * (last - first) - gap
            tall = _CELL * _HEIGHT[outcome]
            begin = f"M{left + gap / 2:.1f} {top + _CELL - tall:g}"
            shape = f"{begin}h{wide:.1f}v{tall:g}h-{wide:.1f}z"
            cells[outcome] = cells.get(outcome, "") + shape
        number += count
    late, judged = found.count("unsolved"), found.count("unsolved") + found.count("solved")
    return "".join(f'<path class="{OUTCOMES[name]}" d="{d}"/>' for name, d in cells.items()) + (
        f'<text class="dim" x="{along.end + 8:.1f}" y="{top + _CELL - 3:g}"><title>'
        f"{late} of {judged} unsolved</title>{late}/{judged}</text>"
    )


def _titled(along: KnobAxis, verifiers: Sequence[VerifierExplanation], bottom: float) -> str:
    return "".join(
        f'<rect class="hit" x="{along.left(number):.1f}" y="{_TOP:g}" '
        f'width="{along.step_width:.2f}" height="{bottom - _TOP:g}"><title>'
        + "\n".join(printable(line) for line in instance_words(point, verifiers))
        + "</title></rect>"
        for number, point in enumerate(along.points)
    )


def _hovered(along: KnobAxis, points: Mapping[str, Point], bottom: float) -> str:
    """One column for the script to move."""
    numbers = {name: number for number, name in enumerate(points)}
    shown = " ".join(str(numbers[point.instance]) for point in along.points)
    return (
        f'<rect class="column" x="{along.start:g}" y="{_TOP:g}" width="{along.step_width:.4f}" '
        f'height="{bottom - _TOP:g}" data-points="{shown}"/>'
    )


def instance_words(point: Point, verifiers: Sequence[VerifierExplanation]) -> list[str]:
    """What is known of one instance, a line each: name, knobs, components, outcomes."""
    knobs = ", ".join(f"{name} = {step_text(value)}" for name, value in point.knobs.items())
    values = [
        f"{component.name} = {number_text(point.values.get(component.name, math.nan))}"
        for component in COMPONENTS
    ]
    proven = f"{point.instance} ({point.answer})" if point.answer else point.instance
    lines = [proven, shortened(knobs, _LONGEST_KNOBS), ", ".join(values)]
    for verifier in verifiers:
        outcome = verifier.outcomes.get(point.instance, "left out")
        time = verifier.seconds.get(point.instance)
        spent = f" after {seconds(time)}" if time is not None and outcome != "left out" else ""
        word = verifier.words.get(point.instance, "not run")
        said = word if word == outcome else f"{outcome} ({word})"
        lines.append(f"{verifier.verifier}: {said}{spent}")
    return [line for line in lines if line]


def _legend() -> str:
    parts, x = [], 10.0
    for words, kind in OUTCOMES.items():
        tall = 12 * _HEIGHT[words]
        parts.append(
            f'<rect class="{kind}" x="{x:g}" y="{16 - tall:g}" width="12" height="{tall:g}"/>'
            f'<text x="{x + 17:g}" y="14">{words}</text>'
        )
        x += 24 + CHARACTER * len(words)
    return "".join(parts)
