"""The horizontal axis of a trajectory: instances side by side, with the knob's values below."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from assay.difficulty.explanation import Point, Trajectory
from assay.report.drawing import CHARACTER, printable, shortened
from assay.report.scales import nice_step

_USUAL_WIDTH, _WIDEST, _NARROWEST = 780.0, 6000.0, 300.0
_LONGEST_LABEL = 12


@dataclass(frozen=True)
class KnobAxis:
    """The instances of a trajectory that have a profile, each as wide as the next."""

    start: float
    title: str
    knob: str | None
    points: tuple[Point, ...]
    steps: tuple[float | str, ...]

    @classmethod
    def along(cls, trajectory: Trajectory, points: Mapping[str, Point], start: float) -> KnobAxis:
        known = [
            (points[name], trajectory.steps[number] if trajectory.knob is not None else number + 1)
            for number, name in enumerate(trajectory.instances)
            if name in points
        ]
        found = tuple(point for point, _ in known)
        title = trajectory_title(trajectory)
        return cls(start, title, trajectory.knob, found, tuple(step for _, step in known))

    @property
    def step_width(self) -> float:
        """The usual space shared by all, but wide enough for each to be seen and pointed at."""
        count = max(1, len(self.points))
        return max(min(80.0, _USUAL_WIDTH / count), min(3.0, _WIDEST / count))

    @property
    def end(self) -> float:
        return self.left(len(self.points))

    @property
    def room(self) -> float:
        """Where the picture may end: few instances need room for the words below them too."""
        return max(self.start + _NARROWEST, self.end)

    @property
    def groups(self) -> list[range]:
        """The places of neighbours that share a value."""
        found, first = [], 0
        for _, run in groupby(self.steps):
            found.append(range(first, first + len(list(run))))
            first = found[-1].stop
        return found

    def left(self, number: float) -> float:
        return self.start + number * self.step_width

    def middle(self, number: int) -> float:
        return self.left(number + 0.5)

    def changes(self, top: float, bottom: float) -> str:
        """A faint line wherever the value changes, if several instances share one."""
        places = [group.start for group in self.groups[1:]]
        if not places or len(places) + 1 == len(self.steps):
            return ""
        lines = "".join(f"M{self.left(n):.1f} {top:g}V{bottom:g}" for n in places)
        return f'<path class="change" d="{lines}"/>'

    def ticks(self, bottom: float) -> str:
        """Values under the instances that have them, as many as there is room for."""
        parts, free = [], -math.inf
        for x, text in self._labels():
            label = shortened(text, _LONGEST_LABEL)
            half = CHARACTER * len(label) / 2
            if x - half >= free:
                at = f'x="{x:.1f}" y="{bottom + 14:g}" text-anchor="middle"'
                parts.append(f"<text {at}>{printable(label)}</text>")
                free = x + half + CHARACTER
        at = f'x="{(self.start + self.room) / 2:.1f}" y="{bottom + 34:g}" text-anchor="middle"'
        return "".join(parts) + f'<text class="title" {at}>{printable(self.title)}</text>'

    def _labels(self) -> list[tuple[float, str]]:
        if self.knob is None:
            every = int(nice_step(max(1.0, 36 / self.step_width)))
            shown = [n for n in range(len(self.points)) if n == 0 or (n + 1) % every == 0]
            return [(self.middle(n), step_text(self.steps[n])) for n in shown]
        return [
            (self.left((group.start + group.stop) / 2), step_text(self.steps[group.start]))
            for group in self.groups
        ]


def trajectory_title(trajectory: Trajectory) -> str:
    along = f"along {trajectory.knob}" if trajectory.knob is not None else "in the listed order"
    return f"{trajectory.family} {along}"


def step_text(step: float | str) -> str:
    """A knob's value as it was given: 0.99999 is not 1."""
    return step if isinstance(step, str) else f"{step:.12g}"
