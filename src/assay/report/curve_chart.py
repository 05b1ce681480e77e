"""Robustness curves as a picture: the share called robust at each radius, with its bounds."""

from __future__ import annotations

from collections.abc import Sequence

from assay.analyse.weakened.curve import CurvePoint
from assay.report.drawing import PALETTE, Frame, axes, picture, polyline, printable, shortened
from assay.report.scales import LinearScale, number_text

_WIDTH, _HEIGHT, _TOP = 680.0, 456.0, 56.0
_LONGEST_TITLE = 90
_DASHES = ("none", "7 4", "2 4", "9 3 2 3")
"""A line for each eps, so that colour is not the only sign."""
_STYLE = ".band{fill-opacity:.13;stroke-opacity:.3}"


def curve_chart(points: Sequence[CurvePoint], title: str) -> str:
    """One curve an eps over the radius, in a band of bounds for the population."""
    frame = Frame(56, _TOP, _WIDTH - 56 - 124, _HEIGHT - _TOP - 48)
    scale = LinearScale.over(point.radius for point in points)
    shares = [(n / 5, f"{20 * n} %") for n in range(6)]
    parts = [axes(frame, scale.ticks(), shares, "radius", "inputs called robust")]
    for number, eps in enumerate(sorted({p.promise.eps for p in points})):
        mine = sorted((p for p in points if p.promise.eps == eps), key=lambda p: p.radius)
        color = PALETTE[number % len(PALETTE)]
        places = [frame.x(scale.share(p.radius)) for p in mine]
        over = [(x, frame.y(p.most_below_inner)) for x, p in zip(places, mine, strict=True)]
        under = [(x, frame.y(p.least_below_eps)) for x, p in zip(places, mine, strict=True)]
        outline = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*over, *reversed(under)])
        line = polyline([(x, frame.y(p.share)) for x, p in zip(places, mine, strict=True)])
        # the edge shows a band that has no width, of one radius
        parts.append(f'<polygon class="band" fill="{color}" stroke="{color}" points="{outline}"/>')
        look = (
            f'stroke="{color}" fill="{color}" stroke-dasharray="{_DASHES[number % len(_DASHES)]}"'
        )
        parts.append(f'<g class="curve" {look}>{_unfilled(line)}</g>')
        y = frame.top + 14 + 18 * number
        sample = f"M{frame.x(1) + 8:.1f} {y - 4:.1f}h22"
        parts.append(
            f'<path class="curve" {look} d="{sample}"/>'
            f'<text x="{frame.x(1) + 34:.1f}" y="{y:.1f}" style="fill:{color}">'
            f"eps = {number_text(eps)}</text>"
        )
    shown = shortened(title, _LONGEST_TITLE)
    parts.append(f'<text class="title" x="12" y="18">{printable(shown)}</text>')
    return picture(_WIDTH, _HEIGHT, title, parts, False, _STYLE)


def _unfilled(line: str) -> str:
    return line.replace("<polyline ", '<polyline fill="none" ')
