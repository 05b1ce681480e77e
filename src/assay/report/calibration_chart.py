"""Measured error rates against promises: a line for each method, a dot for each question."""

from __future__ import annotations

from collections.abc import Sequence

from assay.analyse.calibration.summary import Summary
from assay.report.drawing import CHARACTER, PALETTE, Frame, picture, printable
from assay.report.scales import LogScale

CHART = "calibration.svg"
_ACROSS, _LINE = 440.0, 26.0
_TOP, _RIGHT, _BOTTOM = 40.0, 24.0, 52.0
_LEAST = 1e-4
_PROMISE = "stroke:#888;stroke-width:3"
_KEPT, _BROKEN, _NOTHING = PALETTE[2], PALETTE[1], PALETTE[7]


def calibration_chart(summaries: Sequence[Summary], page: bool = False) -> str:
    """Logarithmic; what was never seen to be wrong stands at the left end.

    Tests of a law have no error rate and are left out.
    """
    counted = [found for found in summaries if not found.is_law]
    height = _TOP + _LINE * max(1, len(counted)) + _BOTTOM
    left = 24 + CHARACTER * max((len(_name(found)) for found in counted), default=1)
    frame = Frame(left, _TOP, _ACROSS, height - _TOP - _BOTTOM)
    scale = LogScale(_LEAST, 1.0)
    parts = [_ground(frame, scale)]
    parts += [_line(frame, scale, number, found) for number, found in enumerate(counted)]
    title = "Measured error rates against promises"
    parts.append(f'<text class="title" x="12" y="20">{title}</text>')
    return picture(left + _ACROSS + _RIGHT, height, title, parts, page)


def _ground(frame: Frame, scale: LogScale) -> str:
    parts = []
    for share, label in scale.ticks():
        x = frame.x(share)
        words = f"≤ {label}" if share == 0 else label
        parts.append(
            f'<line class="grid" x1="{x:.1f}" y1="{frame.top}" x2="{x:.1f}" y2="{frame.y(0):.1f}"/>'
            f'<text x="{x:.1f}" y="{frame.y(0) + 18:.1f}" text-anchor="middle">{words}</text>'
        )
    words = "error rate: bar promised, disc measured (diamond: promise broken, ring: none made)"
    parts.append(
        f'<text class="title" x="{frame.x(1):.1f}" y="{frame.y(0) + 40:.1f}" '
        f'text-anchor="end">{words}</text>'
    )
    return "".join(parts)


def _line(frame: Frame, scale: LogScale, number: int, found: Summary) -> str:
    y = frame.top + _LINE * (number + 0.5)
    color = _NOTHING if found.promised is None else _BROKEN if found.broken else _KEPT
    low, high = (frame.x(scale.share(end)) for end in found.interval or (0.0, 1.0))
    middle = frame.x(scale.share(found.rate or 0.0))
    parts = [
        f'<text x="{frame.left - 10:.1f}" y="{y + 4:.1f}" text-anchor="end">'
        f"{printable(_name(found))}</text>",
        f'<path style="stroke:{color};stroke-width:2" d="M{low:.1f} {y:.1f}H{high:.1f}"/>',
    ]
    for row in found.rows:
        x = frame.x(scale.share(row.rate or 0.0))
        parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{color}"/>')
    words = printable(f"{found.errors} errors in {found.runs:,} runs; {found.verdict}")
    parts.append(f"<g><title>{words}</title>{_mark(found, middle, y, color)}</g>")
    if found.promised:
        x = frame.x(scale.share(found.promised))
        parts.append(f'<path style="{_PROMISE}" d="M{x:.1f} {y - 9:.1f}v18"/>')
    return "".join(parts)


def _mark(found: Summary, x: float, y: float, color: str) -> str:
    """A shape for each verdict, so that colour is not the only sign."""
    if found.promised is not None and found.broken:
        corners = f"M{x:.1f} {y - 7.5:.1f}l7.5 7.5l-7.5 7.5l-7.5 -7.5z"
        return f'<path style="stroke:none" d="{corners}" fill="{color}"/>'
    inside = "#fff" if found.promised is None else color
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{inside}" stroke="{color}" '
        'stroke-width="1.8"/>'
    )


def _name(found: Summary) -> str:
    return f"{found.analyser}: {found.event}, {found.setting}"
