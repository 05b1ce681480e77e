"""The profile of instances along a knob, and under it what became of each, as SVG.

One panel a component and one strip a verifier share the horizontal axis, so that an outcome can be
read against the numbers above it. A column over all of them carries an instance's own words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from assay.difficulty.components import COMPONENTS, Component
from assay.difficulty.explanation import Point, Trajectory, VerifierExplanation
from assay.report.banner import seconds
from assay.report.component_axis import ComponentAxis, Place
from assay.report.drawing import Frame, picture, printable, shortened
from assay.report.scales import nice_step, number_text

OUTCOMES = {"solved": "solved", "timeout": "late", "left out": "left"}
_LEFT, _RIGHT, _TOP = 210.0, 64.0, 30.0
_USUAL_WIDTH, _WIDEST = 780.0, 6000.0
_PANEL, _GAP, _STRIP = 66.0, 14.0, 17.0
_CHARACTER = 6.8
_LONGEST_KNOBS = 160
_STYLE = """.panel{fill:none;stroke:#e3e3e3}.band{stroke:#bbb;stroke-dasharray:2 3}
.trend{fill:none;stroke:#0072b2;stroke-opacity:.35}.mark{fill:#0072b2;stroke:#0072b2}
.dots{fill:none;stroke:#0072b2;stroke-linecap:round}
.solved{fill:#7fc8ab}.late{fill:#a3285f}.left{fill:#f0f0f0;stroke:#bbb;stroke-width:.5}
.name{font-weight:600;fill:#222}.dim{fill:#777}.hit{fill-opacity:0}.change{stroke:#eee}
"""


@dataclass(frozen=True)
class _Steps:
    """The instances along the horizontal axis, each as wide as the next."""

    trajectory: Trajectory
    points: tuple[Point, ...]
    steps: tuple[float | str, ...]

    @property
    def width(self) -> float:
        """Of one instance: the usual space shared, but wide enough to be seen and pointed at."""
        count = max(1, len(self.points))
        return max(min(80.0, _USUAL_WIDTH / count), min(3.0, _WIDEST / count))

    def left(self, number: float) -> float:
        return _LEFT + number * self.width

    def middle(self, number: int) -> float:
        return self.left(number + 0.5)

    @property
    def right(self) -> float:
        return self.left(len(self.points))


def trajectory_chart(
    trajectory: Trajectory,
    points: Mapping[str, Point],
    verifiers: Sequence[VerifierExplanation],
    *,
    page: bool = False,
) -> str:
    """Five panels, a strip a verifier, and the knob; `points` holds the profiles by instance."""
    known = [
        (points[name], trajectory.steps[number] if trajectory.knob is not None else number + 1)
        for number, name in enumerate(trajectory.instances)
        if name in points
    ]
    steps = _Steps(trajectory, tuple(p for p, _ in known), tuple(s for _, s in known))
    bottom = _TOP + len(COMPONENTS) * (_PANEL + _GAP) + _STRIP * len(verifiers)
    parts = [_legend(), *_changes(steps, bottom)]
    top = _TOP
    for component in COMPONENTS:
        frame = Frame(_LEFT, top, steps.right - _LEFT, _PANEL)
        parts.append(_panel(component, steps, frame))
        top += _PANEL + _GAP
    for verifier in verifiers:
        parts.append(_strip(verifier, steps, top))
        top += _STRIP
    parts += _ticks(steps, bottom)
    parts += [
        f'<rect class="hit" x="{steps.left(number):.1f}" y="{_TOP}" width="{steps.width:.2f}" '
        f'height="{bottom - _TOP:g}"><title>{_words(steps, number, verifiers)}</title></rect>'
        for number in range(len(steps.points))
    ]
    width = max(_LEFT + 300, steps.right) + _RIGHT
    return picture(
        width, bottom + 46, trajectory_title(trajectory), parts, page, _STYLE, own_size=True
    )


def trajectory_title(trajectory: Trajectory) -> str:
    along = f"along {trajectory.knob}" if trajectory.knob is not None else "in the listed order"
    return f"{trajectory.family} {along}"


def step_text(step: float | str) -> str:
    """A knob's value as it was given: 0.99999 is not 1."""
    return step if isinstance(step, str) else f"{step:.12g}"


def _panel(component: Component, steps: _Steps, frame: Frame) -> str:
    values = [point.values.get(component.name, math.nan) for point in steps.points]
    axis = ComponentAxis.over(component, values)
    right = f"{frame.x(1):.1f}"
    parts = [_panel_label(component, frame)]
    for share, label in axis.ticks():
        y = frame.y(share)
        parts.append(
            f'<line class="grid" x1="{frame.left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
            f'<text x="{frame.left - 7}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
        )
    for share in axis.borders():
        y = frame.y(share)
        parts.append(f'<path class="band" d="M{frame.left} {y:.1f}H{right}"/>')
    size = f'x="{frame.left}" y="{frame.top:g}" width="{frame.width:.1f}" height="{frame.height}"'
    parts.append(f'<rect class="panel" {size}/>')
    spots = [
        (steps.middle(n), frame.y(axis.share(v)), axis.place(v))
        for n, v in enumerate(values)
        if not math.isnan(v)
    ]
    inside = [(x, y) for x, y, place in spots if place == "inside"]
    if steps.trajectory.knob is not None:
        parts.append(f'<path class="trend" d="{_trend(spots)}"/>')
    dots = "".join(f"M{x:.1f} {y:.1f}h.01" for x, y in inside)
    thick = min(6.0, max(2.5, 0.7 * steps.width))
    parts.append(f'<path class="dots" stroke-width="{thick:.1f}" d="{dots}"/>' if dots else "")
    edge = {"above": "l3.5 6h-7z", "below": "l3.5-6h-7z"}
    marks = "".join(
        f"M{x:.1f} {y + (-3 if place == 'above' else 3):.1f}{edge[place]}"
        for x, y, place in spots
        if place != "inside"
    )
    parts.append(f'<path class="mark" d="{marks}"/>' if marks else "")
    return "".join(parts)


def _trend(spots: Sequence[tuple[float, float, Place]]) -> str:
    """A line from dot to dot, broken where a value lies outside the scale."""
    parts = []
    for place, run in groupby(spots, key=lambda spot: spot[2]):
        if place == "inside":
            parts.append("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in run))
    return "".join(parts)


def _panel_label(component: Component, frame: Frame) -> str:
    lines = [component.title, *(["small is hard"] if component.harder_when == "small" else [])]
    below = "".join(
        f'<text class="dim" x="10" y="{frame.top + 30 + 15 * n:g}">{printable(line)}</text>'
        for n, line in enumerate(lines)
    )
    return (
        f"<g><title>{printable(component.meaning)}</title>"
        f'<text class="name" x="10" y="{frame.top + 14:g}">{component.name}</text>{below}</g>'
    )


def _strip(verifier: VerifierExplanation, steps: _Steps, top: float) -> str:
    found = [verifier.outcomes.get(point.instance, "left out") for point in steps.points]
    gap = 1.0 if steps.width >= 5 else 0.0
    tall = _STRIP - 3
    cells: dict[str, str] = {}
    number = 0
    for outcome, run in groupby(found):
        count = len(list(run))
        # Cells without a gap between them are one shape as long as nothing changes.
        for first, last in [(n, n + 1) for n in range(count)] if gap else [(0, count)]:
            left, wide = steps.left(number + first), steps.width * (last - first) - gap
            shape = f"M{left + gap / 2:.1f} {top:g}h{wide:.1f}v{tall:g}h-{wide:.1f}z"
            cells[outcome] = cells.get(outcome, "") + shape
        number += count
    late, judged = found.count("timeout"), found.count("timeout") + found.count("solved")
    y = top + tall - 3
    return (
        f'<text x="{_LEFT - 10}" y="{y:g}" text-anchor="end"><title>'
        f"{printable(verifier.verifier)}</title>{printable(shortened(verifier.verifier, 28))}"
        "</text>"
        + "".join(f'<path class="{OUTCOMES[name]}" d="{path}"/>' for name, path in cells.items())
        + f'<text class="dim" x="{steps.right + 8:.1f}" y="{y:g}"><title>'
        f"{late} of {judged} time out</title>{late}/{judged}</text>"
    )


def _changes(steps: _Steps, bottom: float) -> list[str]:
    """A faint line wherever the knob's value changes, if several instances share one."""
    places = [
        number
        for number in range(1, len(steps.steps))
        if steps.steps[number] != steps.steps[number - 1]
    ]
    if len(places) + 1 == len(steps.steps):
        return []
    lines = "".join(f"M{steps.left(n):.1f} {_TOP}V{bottom:g}" for n in places)
    return [f'<path class="change" d="{lines}"/>'] if lines else []


def _ticks(steps: _Steps, bottom: float) -> list[str]:
    """Values under the instances that have them, as many as there is room for."""
    labels: list[tuple[float, str]] = []
    if steps.trajectory.knob is None:
        every = int(nice_step(max(1.0, 36 / steps.width)))
        shown = [n for n in range(len(steps.points)) if n == 0 or (n + 1) % every == 0]
        labels = [(steps.middle(n), step_text(steps.steps[n])) for n in shown]
    else:
        number = 0
        for step, run in groupby(steps.steps):
            count = len(list(run))
            labels.append((steps.left(number + count / 2), shortened(step_text(step), 12)))
            number += count
    parts, free = [], -math.inf
    for x, label in labels:
        half = _CHARACTER * len(label) / 2
        if x - half >= free:
            parts.append(
                f'<text x="{x:.1f}" y="{bottom + 14:g}" text-anchor="middle">'
                f"{printable(label)}</text>"
            )
            free = x + half + _CHARACTER
    title = steps.trajectory.knob or "instance, in the listed order"
    middle = (_LEFT + max(_LEFT + 300, steps.right)) / 2
    parts.append(
        f'<text class="title" x="{middle:.1f}" y="{bottom + 34:g}" text-anchor="middle">'
        f"{printable(title)}</text>"
    )
    return parts


def _words(steps: _Steps, number: int, verifiers: Sequence[VerifierExplanation]) -> str:
    """What is known of one instance, a line each: name, knobs, components, outcomes."""
    point = steps.points[number]
    knobs = ", ".join(f"{name} = {step_text(value)}" for name, value in point.knobs.items())
    values = [
        f"{component.name} = {number_text(point.values.get(component.name, math.nan))}"
        for component in COMPONENTS
    ]
    lines = [point.instance, shortened(knobs, _LONGEST_KNOBS), ", ".join(values)]
    for verifier in verifiers:
        outcome = verifier.outcomes.get(point.instance, "left out")
        time = verifier.seconds.get(point.instance)
        spent = f" after {seconds(time)}" if time is not None and outcome != "left out" else ""
        lines.append(f"{verifier.verifier}: {outcome}{spent}")
    return "\n".join(printable(line) for line in lines if line)


def _legend() -> str:
    parts, x = [], 10.0
    for words, kind in OUTCOMES.items():
        parts.append(
            f'<rect class="{kind}" x="{x:g}" y="6" width="14" height="12"/>'
            f'<text x="{x + 20:g}" y="16">{words}</text>'
        )
        x += 36 + _CHARACTER * len(words)
    return "".join(parts)
