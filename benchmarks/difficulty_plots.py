"""The plot of a family's sweeps: who solves what, and how far bounds are from the truth."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from difficulty_sweeps import ASKED

from assay.report.drawing import PALETTE, Frame, axes, picture, polyline, printable

COLORS = {"linear": PALETTE[0], "interval": PALETTE[1], "milp": PALETTE[2], "attack": PALETTE[3]}
CERTIFIED = "#333333"
SETTLED = {"robust": "robust boxes proved", "violated": "twins falsified"}
BOUNDS = (
    ("certified", "margin", CERTIFIED),
    ("linear, no branching", "linear_bound", COLORS["linear"]),
    ("interval", "interval_bound", COLORS["interval"]),
)
_WIDTH, _HEIGHT, _TOP, _ROW = 880.0, 330.0, 54.0, 22.0
_LEFT, _MATRIX, _BOUNDS_LEFT, _BOUNDS = 92.0, 350.0, 540.0, 325.0
_CLOSEST_TICKS = 0.075
"""How much of the axis lies at least between two ticks, so that their labels do not touch."""


@dataclass(frozen=True)
class SymlogScale:
    """A logarithmic scale to both sides of zero; numbers well below `unit` lie next to zero."""

    unit: float
    low: float
    high: float

    @classmethod
    def over(cls, values: Iterable[float]) -> SymlogScale:
        found = [value for value in values if value != 0]
        unit = 10.0 ** math.floor(math.log10(min(map(abs, found))))
        return cls(unit, min(0.0, *found), max(0.0, *found))

    def _place(self, value: float) -> float:
        return math.copysign(math.log10(1 + abs(value) / self.unit), value)

    def share(self, value: float) -> float:
        """With some room below the lowest number and above the highest."""
        low, high = self._place(self.low), self._place(self.high)
        room = 0.06 * (high - low)
        return (self._place(value) - low + room) / (high - low + 2 * room)

    def ticks(self) -> list[tuple[float, str]]:
        """Zero, then powers of ten from the outside in, as long as there is room."""
        lowest = round(math.log10(self.unit))
        highest = math.floor(math.log10(max(-self.low, self.high)))
        step = 1 + (highest - lowest) // 6
        shown = [0.0]
        for power in range(highest, lowest - 1, -step):
            for value in (10.0**power, -(10.0**power)):
                gap = min(abs(self.share(value) - self.share(other)) for other in shown)
                if self.low <= value <= self.high and gap >= _CLOSEST_TICKS:
                    shown.append(value)
        return [(self.share(value), _number(value)) for value in shown]


def figure(document: Mapping[str, Any]) -> str:
    """One strip a sweep: solved shares on the left, bounds of the margin on the right."""
    parts = []
    for number, sweep in enumerate(document["sweeps"]):
        strip = _heading(sweep) + _solved(sweep, document["limit_cpu_s"]) + _bounds(sweep)
        parts.append(f'<g transform="translate(0 {number * _HEIGHT:g})">{strip}</g>')
    title = f"{document['family']}: what the built-in verifiers achieve"
    return picture(_WIDTH, _HEIGHT * len(parts), title, parts, False) + "\n"


def _heading(sweep: Mapping[str, Any]) -> str:
    fixed = ", ".join(f"{knob} {_label(value)}" for knob, value in sweep["fixed"].items())
    seeds = len({row["seed"] for row in sweep["rows"] if row["value"] == 0})
    text = f"{fixed or 'all other knobs at their defaults'}; {seeds} networks a value"
    return f'<text class="title" x="8" y="20">{printable(text)}</text>'


def _solved(sweep: Mapping[str, Any], limit_s: float) -> str:
    """A row a verifier, a column a value: how many of the instances it answered."""
    columns = len(sweep["values"])
    cell = _MATRIX / columns
    parts, y = [], _TOP
    for answer, heading in SETTLED.items():
        parts.append(
            f'<text class="title" x="8" y="{y + 15:g}">{heading} in {limit_s:g} CPU s</text>'
        )
        y += _ROW
        for name in ASKED[answer]:
            parts.append(_name(name, y))
            for column in range(columns):
                verdicts = [row["verdicts"][name] for row in _rows(sweep, column, answer)]
                parts.append(_cell(name, verdicts, answer, _LEFT + column * cell, y, cell))
            y += _ROW
    parts.append(f'<text x="8" y="{y + 15:g}">check, CPU ms</text>')
    for column in range(columns):
        seconds = statistics.median(r["check_cpu_s"] for r in _rows(sweep, column, "robust"))
        parts.append(_centred(f"{1000 * seconds:.0f}", _LEFT + (column + 0.5) * cell, y + 15))
    bottom = y + _ROW
    for column, value in enumerate(sweep["values"]):
        parts.append(_centred(_label(value), _LEFT + (column + 0.5) * cell, bottom + 18))
    parts.append(_axis_title(sweep, _LEFT + _MATRIX / 2, bottom + 38))
    return "".join(parts)


def _bounds(sweep: Mapping[str, Any]) -> str:
    """The certified margin and the bounds without branching; every network and the medians."""
    columns = len(sweep["values"])
    lines = 1 + sum(1 + len(names) for names in ASKED.values())
    frame = Frame(_BOUNDS_LEFT, _TOP, _BOUNDS, lines * _ROW)
    robust = [row for row in sweep["rows"] if row["answer"] == "robust"]
    scale = SymlogScale.over(row[key] for row in robust for _, key, _ in BOUNDS)
    places = [(column + 0.5) / columns for column in range(columns)]
    labels = [_label(value) for value in sweep["values"]]
    zero, top = frame.y(scale.share(0)), frame.top
    parts = [
        f'<rect x="{frame.left:g}" y="{top:g}" width="{frame.width:g}" '
        f'height="{zero - top:.1f}" fill="#eaf5ea"/>',
        axes(frame, list(zip(places, labels, strict=True)), scale.ticks(), "", "margin"),
        f'<line class="axis" x1="{frame.left:g}" y1="{zero:.1f}" x2="{frame.x(1):g}" '
        f'y2="{zero:.1f}"/>',
        _axis_title(sweep, frame.x(0.5), frame.y(0) + 38),
        _legend(frame),
    ]
    for _, key, color in BOUNDS:
        middles = []
        for column, place in enumerate(places):
            values = [row[key] for row in _rows(sweep, column, "robust")]
            x = frame.x(place)
            middles.append((x, frame.y(scale.share(statistics.median(values)))))
            parts += [
                f'<circle fill="{color}" fill-opacity=".35" cx="{x:.1f}" '
                f'cy="{frame.y(scale.share(value)):.1f}" r="3"/>'
                for value in values
            ]
        parts.append(f'<g class="curve" style="stroke:{color}">{polyline(middles)}</g>')
    return "".join(parts)


def _legend(frame: Frame) -> str:
    parts, x = [], frame.left - 44
    for name, _, color in BOUNDS:
        parts.append(
            f'<line x1="{x:g}" y1="{frame.top - 38:g}" x2="{x + 16:g}" y2="{frame.top - 38:g}" '
            f'stroke="{color}" stroke-width="2.5"/>'
            f'<text x="{x + 20:g}" y="{frame.top - 34:g}">{name}</text>'
        )
        x += 30 + 6.3 * len(name)
    parts.append(
        f'<rect x="{x:g}" y="{frame.top - 44:g}" width="12" height="12" fill="#d3ebd3"/>'
        f'<text x="{x + 16:g}" y="{frame.top - 34:g}">proof</text>'
    )
    return "".join(parts)


def _rows(sweep: Mapping[str, Any], column: int, answer: str) -> list[Mapping[str, Any]]:
    return [row for row in sweep["rows"] if row["value"] == column and row["answer"] == answer]


def _cell(name: str, verdicts: Sequence[str], answer: str, x: float, y: float, width: float) -> str:
    solved = verdicts.count(answer)
    unsupported = all(verdict == "unsupported" for verdict in verdicts)
    strength = 0.0 if unsupported else solved / len(verdicts)
    fill = COLORS[name] if strength else "#f3f3f3"
    label = "–" if unsupported else f"{solved}/{len(verdicts)}"
    light = strength > 0.5
    style = "fill:#fff;font-weight:600" if light else "fill:#777" if not strength else ""
    return (
        f'<rect x="{x + 1:.1f}" y="{y + 1:g}" width="{width - 2:.1f}" height="{_ROW - 2:g}" '
        f'rx="3" fill="{fill}" fill-opacity="{0.15 + 0.85 * strength if strength else 1:.2f}"/>'
        f"{_centred(label, x + width / 2, y + 15, style)}"
    )


def _name(name: str, y: float) -> str:
    style = f"fill:{COLORS[name]};font-weight:600"
    return f'<text x="22" y="{y + 15:g}" style="{style}">{name}</text>'


def _axis_title(sweep: Mapping[str, Any], x: float, y: float) -> str:
    return _centred(f"{sweep['knob']} (harder →)", x, y, "font-weight:600;fill:#222")


def _centred(text: str, x: float, y: float, style: str = "") -> str:
    looks = f' style="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle"{looks}>{printable(text)}</text>'


def _label(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "×".join(map(_label, value))
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def _number(value: float) -> str:
    """A power of ten or zero, short."""
    mantissa, exponent, power = f"{value:g}".partition("e")
    return f"{mantissa}{exponent}{int(power) if power else ''}".replace("-", "−")
