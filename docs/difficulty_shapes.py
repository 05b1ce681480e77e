"""What the pictures of docs/difficulty.md are drawn with: a plane of inputs, marks and colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.report.drawing import PALETTE, Frame, axes, printable

BLUE, RED, GREEN, PURPLE, DARK = PALETTE[0], PALETTE[1], PALETTE[2], PALETTE[3], "#222222"
HALVES = ((0.0, "−1"), (0.25, "−0.5"), (0.5, "0"), (0.75, "0.5"), (1.0, "1"))
Place = tuple[float, float]


@dataclass(frozen=True)
class Plane:
    """A square of inputs around a centre, in a frame."""

    frame: Frame
    reach: float = 1.0
    centre: Place = (0.0, 0.0)

    def place(self, point: Sequence[float] | np.ndarray) -> Place:
        x, y = (
            ((float(v) - c) / self.reach + 1) / 2 for v, c in zip(point, self.centre, strict=True)
        )
        return self.frame.x(x), self.frame.y(y)

    def polygon(self, corners: np.ndarray, looks: str) -> str:
        return f'<polygon points="{self._points(corners)}" {looks}/>'

    def path(self, points: Sequence[Sequence[float]] | np.ndarray, looks: str) -> str:
        return f'<polyline points="{self._points(points)}" fill="none" {looks}/>'

    def square(self, other: Plane, looks: str) -> str:
        """The outline of another square of inputs."""
        signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
        return self.polygon(np.array(other.centre) + signs * other.reach, looks)

    def axes(self, ticks: Sequence[tuple[float, str]] = HALVES) -> str:
        return axes(self.frame, ticks, ticks, "first input", "second input")

    def _points(self, points: Sequence[Sequence[float]] | np.ndarray) -> str:
        return " ".join("{:.1f},{:.1f}".format(*self.place(point)) for point in points)


def mixed(start: str, end: str, share: float) -> str:
    """A colour between two."""
    ends = ([int(color[k : k + 2], 16) for k in (1, 3, 5)] for color in (start, end))
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(*ends, strict=True))


def ramp(x: float, y: float, width: float, colors: Sequence[str]) -> str:
    """A colour scale of equal steps; a hair wider than they are, so that no gaps show."""
    step = width / len(colors)
    return "".join(
        f'<rect x="{x + step * number:.1f}" y="{y:.1f}" width="{step + 0.4:.1f}" height="14" '
        f'fill="{color}"/>'
        for number, color in enumerate(colors)
    )


def words(
    x: float, y: float, text: str, style: str = "", anchor: str = "start", color: str = ""
) -> str:
    if not text:
        return ""
    looks = (f' class="{style}"' if style else "") + (f' style="fill:{color}"' if color else "")
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}"{where}{looks}>{printable(text)}</text>'


def circle(place: Place, radius: float, fill: str, stroke: str = "") -> str:
    edge = f' stroke="{stroke}" stroke-width="2.5"' if stroke else ""
    return f'<circle cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="{radius:g}" fill="{fill}"{edge}/>'


def diamond(place: Place, size: float, fill: str) -> str:
    x, y = place
    return (
        f'<path d="M{x:.1f} {y - size:.1f}l{size:g} {size:g}l-{size:g} {size:g}'
        f'l-{size:g} -{size:g}z" fill="{fill}" stroke="#fff"/>'
    )


def arrow(start: Place, end: Place) -> str:
    whole = np.subtract(end, start)
    length = float(np.linalg.norm(whole))
    along = whole / length * min(5.0, 0.5 * length)
    across = np.array([-along[1], along[0]]) * 0.55
    left, right = end - along + across, end - along - across
    return (
        f'<path d="M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}'
        f'M{left[0]:.1f} {left[1]:.1f}L{end[0]:.1f} {end[1]:.1f}L{right[0]:.1f} {right[1]:.1f}" '
        f'stroke="{DARK}" stroke-width="1.2" fill="none"/>'
    )


def dots(places: Iterable[Place], color: str, opacity: float) -> str:
    """Many small dots as one path."""
    path = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places)
    return (
        f'<path d="{path}" stroke="{color}" stroke-opacity="{opacity:g}" stroke-width="2.2" '
        'stroke-linecap="round"/>'
    )


def level(frame: Frame, y: float, color: str) -> str:
    return (
        f'<line x1="{frame.left:g}" y1="{y:.1f}" x2="{frame.x(1):g}" y2="{y:.1f}" '
        f'stroke="{color}" stroke-width="1.8"/>'
    )


def bracket(x: float, top: float, bottom: float, label: str, color: str) -> str:
    """A vertical distance, its label along it near the lower end."""
    return (
        f'<path d="M{x:g} {top:.1f}V{bottom:.1f}m-5 0h10M{x - 5:g} {top:.1f}h10" '
        f'stroke="{color}" stroke-width="1.5" fill="none"/>'
        f'<text transform="translate({x - 6:g} {bottom - 6:.1f}) rotate(-90)" '
        f'style="fill:{color}">{printable(label)}</text>'
    )


def number(value: float, digits: int | None = None) -> str:
    text = f"{value:g}" if digits is None else f"{value:.{digits}f}"
    return text.replace("-", "−")
