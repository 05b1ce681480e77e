"""Two pictures that the studies need beside curves: lines over eps, and columns of dots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.report.drawing import PALETTE, Frame, axes, picture, polyline, printable
from assay.report.scales import LinearScale, LogScale

_WIDTH, _HEIGHT = 680.0, 420.0
_RIGHT = 150.0
Points = Sequence[tuple[float, float]]


def lines_over_eps(lines: Mapping[str, Points], title: str) -> str:
    """Radii over eps (logarithmic), one line a name; the radius axis begins at zero."""
    frame = Frame(64, 46, _WIDTH - 64 - _RIGHT, _HEIGHT - 46 - 48)
    across = LogScale.over(eps for points in lines.values() for eps, _ in points)
    upward = LinearScale.over(radius for points in lines.values() for _, radius in points)
    parts = [axes(frame, across.ticks(), upward.ticks(), "eps", "radius")]
    for number, (name, points) in enumerate(lines.items()):
        color = PALETTE[number % len(PALETTE)]
        places = [(frame.x(across.share(e)), frame.y(upward.share(r))) for e, r in sorted(points)]
        line = polyline(places).replace("<polyline ", '<polyline fill="none" ')
        parts.append(f'<g class="curve" stroke="{color}" fill="{color}">{line}</g>')
        parts.append(_name(frame, number, name, color))
    parts.append(_title(title))
    return picture(_WIDTH, _HEIGHT, title, parts, False)


def columns_of_dots(columns: Mapping[str, Sequence[float]], title: str) -> str:
    """One dot a value, a column a name, in the order given; a bar marks each mean."""
    frame = Frame(64, 46, _WIDTH - 64 - 24, _HEIGHT - 46 - 48)
    upward = LinearScale.over(value for values in columns.values() for value in values)
    width = 1 / max(len(columns), 1)
    names = [((n + 0.5) * width, printable(name)) for n, name in enumerate(columns)]
    parts = [axes(frame, names, upward.ticks(), "", "radius")]
    for number, values in enumerate(columns.values()):
        color = PALETTE[number % len(PALETTE)]
        for place, value in enumerate(values):
            x = frame.x((number + 0.1 + 0.8 * (place + 0.5) / len(values)) * width)
            y = frame.y(upward.share(value))
            parts.append(f'<circle class="dot" fill="{color}" cx="{x:.1f}" cy="{y:.1f}" r="1.6"/>')
        if values:
            y = frame.y(upward.share(sum(values) / len(values)))
            ends = frame.x((number + 0.06) * width), frame.x((number + 0.94) * width)
            parts.append(
                f'<line x1="{ends[0]:.1f}" x2="{ends[1]:.1f}" y1="{y:.1f}" y2="{y:.1f}" '
                'stroke="#222" stroke-width="2"/>'
            )
    parts.append(_title(title))
    return picture(_WIDTH, _HEIGHT, title, parts, False)


def _name(frame: Frame, number: int, name: str, color: str) -> str:
    x, y = frame.x(1) + 12, frame.top + 14 + 18 * number
    return f'<text x="{x:.1f}" y="{y:.1f}" style="fill:{color}">{printable(name)}</text>'


def _title(title: str) -> str:
    return f'<text class="title" x="12" y="18">{printable(title)}</text>'
