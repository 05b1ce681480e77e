"""What every chart is drawn with: a frame, axes, curves and the SVG document around them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from assay.report.own_files import SVG_MARK

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#b5539c", "#c08a00", "#3a8fd6", "#7a5cc9", "#6b6b6b")
CHARACTER = 6.8
"""About as wide as a character of a label, in pixels."""
_STYLE = """<style>
text{font:12px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#444}
.grid{stroke:#e3e3e3}.axis,.limit,.diagonal{stroke:#888;fill:none}
.diagonal,.limit{stroke-dasharray:4 4}.curve{fill:none;stroke-width:2}
.title{font-weight:600;fill:#222}.best{stroke:#999;stroke-dasharray:3 4;stroke-width:1.5}
.marks{fill:#fff;stroke-width:1.5}.name-best{fill:#777}.dot{fill-opacity:.55}
</style>"""


@dataclass(frozen=True)
class Frame:
    """The part of a picture that holds the data."""

    left: float
    top: float
    width: float
    height: float

    def x(self, share: float) -> float:
        return self.left + share * self.width

    def y(self, share: float) -> float:
        return self.top + (1 - share) * self.height


def polyline(points: Sequence[tuple[float, float]], marks: bool = True) -> str:
    """A curve without the points that lie within a pixel of the last one drawn."""
    kept = [points[0]]
    for point in points[1:]:
        if math.dist(point, kept[-1]) >= 1:
            kept.append(point)
    kept.append(points[-1])
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in kept)
    few = marks and len(points) <= 40
    circles = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in points if few)
    return f'<polyline points="{text}"/>{circles}'


def axes(
    frame: Frame,
    below: Sequence[tuple[float, str]],
    beside: Sequence[tuple[float, str]],
    below_title: str,
    beside_title: str,
) -> str:
    bottom, right = frame.y(0), frame.x(1)
    parts = []
    for share, label in beside:
        y = frame.y(share)
        parts.append(
            f'<line class="grid" x1="{frame.left}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}"/>'
            f'<text x="{frame.left - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
        )
    for share, label in below:
        x = frame.x(share)
        parts.append(
            f'<line class="grid" x1="{x:.1f}" y1="{frame.top}" x2="{x:.1f}" y2="{bottom:.1f}"/>'
            f'<text x="{x:.1f}" y="{bottom + 18:.1f}" text-anchor="middle">{label}</text>'
        )
    corner = f"M{frame.left} {frame.top}V{bottom:.1f}H{right:.1f}"
    middle = frame.left + frame.width / 2
    parts.append(
        f'<path class="axis" d="{corner}"/>'
        f'<text class="title" x="{middle:.1f}" y="{bottom + 38:.1f}" text-anchor="middle">'
        f"{printable(below_title)}</text>"
        f'<text class="title" x="{frame.left - 44}" y="{frame.top - 10}">'
        f"{printable(beside_title)}</text>"
    )
    return "".join(parts)


def printable(text: str) -> str:
    """Escaped, and without the characters that XML does not know."""
    return escape("".join(c if c.isprintable() else "\ufffd" for c in text))


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def tool_color(number: int, page: bool) -> str:
    """The colour of a tool by its place among all: from the style sheet on a page."""
    number %= len(PALETTE)
    return f"var(--tool-{number})" if page else PALETTE[number]


def picture(
    width: float,
    height: float,
    title: str,
    parts: Sequence[str],
    page: bool,
    style: str = "",
    own_size: bool = False,
) -> str:
    """The SVG document; `style` adds rules for what an exported file draws beyond the usual.

    On a page it fills the place it is put in, unless it keeps its own size.
    """
    rules = _STYLE.replace("</style>", f"{style}</style>")
    own = "" if page else f'{SVG_MARK}{rules}<rect width="100%" height="100%" fill="#fff"/>'
    size = "" if page else f' width="{width:g}" height="{height:g}"'
    if page and own_size:
        size = f' style="width:{width:g}px"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}"{size} '
        f'role="img" aria-label="{printable(title)}" class="chart">{own}{"".join(parts)}</svg>'
    )
