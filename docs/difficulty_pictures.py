"""Draw the pictures of docs/difficulty.md: the five components on a network of two inputs.

python docs/difficulty_pictures.py

Everything drawn is computed by the code that `assay profile` runs, or exactly from the pieces on
which the network is affine (difficulty_toy.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from difficulty_shapes import (
    BLUE,
    DARK,
    GREEN,
    HALVES,
    PURPLE,
    RED,
    Plane,
    arrow,
    bracket,
    circle,
    diamond,
    dots,
    level,
    mixed,
    number,
    ramp,
    words,
)
from difficulty_toy import (
    DEFAULTS,
    SPECIFICATION,
    Piece,
    area,
    kept,
    margin_pieces,
    network,
    profiled,
    units,
)

from assay.bounds.descent import descended
from assay.difficulty.gradients import cell_counts
from assay.difficulty.margin import MarginFunction
from assay.difficulty.profile import Profile
from assay.difficulty.sampling import Sampler
from assay.report.drawing import PALETTE, Frame, axes, picture

IMAGES = Path(__file__).parent / "images" / "difficulty-components"
COARSE_TAU = 0.3
_SIDE, _LEFT, _TOP = 330.0, 62.0, 34.0
_BANDS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0, 3.75)
_FINE_BANDS = (*(0.32 + 0.02 * step for step in range(12)), _BANDS[-1])
_SMALLEST_LABELLED = 0.03
"""A piece of at least this area has room for a number."""
_DESCENT_STEPS = 40


@dataclass(frozen=True, eq=False)
class Samples:
    """The points at which the profile was taken, with what it saw there."""

    points: np.ndarray
    margins: np.ndarray
    gradients: np.ndarray


def pictures() -> dict[str, str]:
    """All five, by component."""
    found, function = profiled(), MarginFunction(network(), SPECIFICATION.cases)
    points, cases = Sampler(function, DEFAULTS.seed).points(DEFAULTS.samples)
    margins, gradients = function.with_gradients(points, cases)
    seen = Samples(points.numpy(), margins.numpy(), gradients.numpy())
    return {
        "M_min": minimum_margin(found, seen, function),
        "G_IBP": interval_gap(found, seen, function),
        "U": unstable_units(found),
        "A_tau": local_regions(found, seen),
        "d_eff": effective_dimension(found, function),
    }


def minimum_margin(found: Profile, seen: Samples, function: MarginFunction) -> str:
    """The margin as bands, the samples in it, and the way from the lowest one downwards."""
    plane = _plane()
    x, y = plane.frame.x(1) + 22, plane.frame.top
    first = seen.points[seen.margins.argmin()]
    middle = (first + np.array(found.point)) / 2
    near = Plane(Frame(x, plane.frame.y(0) - 150, 150, 150), 0.09, (middle[0], middle[1]))
    colors = [_band_color(step) for step in range(len(_BANDS) - 1)]
    parts = [
        plane.axes(),
        *_bands(plane, _BANDS, colors),
        dots(map(plane.place, seen.points), "#000", 0.45),
        plane.square(near, f'fill="none" stroke="{DARK}"'),
        *_found(plane, first, found),
        words(x, y + 122, "margin", "title"),
        ramp(x, y + 130, 192, colors),
        *(words(x + 16 * k, y + 160, f"{_BANDS[k]:g}", "", "middle") for k in (1, 4, 7, 10)),
    ]
    line = f'<path d="M-9 0H9" stroke="{DARK}" stroke-width="1.6"/>'
    legend = (
        (circle((0, 0), 1.4, "#000"), f"{DEFAULTS.samples:,} samples"),
        (circle((0, 0), 5.5, "#fff", RED), f"the lowest: M_min = {found.minimum:.3f}"),
        (line + circle((0, 0), 2.2, DARK), "a descent from there"),
        (diamond((0, 0), 7, RED), f"searched: {found.lowest:.3f} (by {found.found_by})"),
    )
    for step, (mark, text) in enumerate(legend):
        parts.append(f'<g transform="translate({x + 9:g} {y + 8 + 26 * step:g})">{mark}</g>')
        parts.append(words(x + 28, y + 12 + 26 * step, text))
    way = _descent(function, first)
    inside = [
        *_bands(near, _FINE_BANDS, colors),
        near.path(way, f'stroke="{DARK}" stroke-width="1.6"'),
        *(circle(near.place(point), 2.2, DARK) for point in way),
        *_found(near, first, found),
    ]
    box = f"{near.frame.left:g} {near.frame.top:g} {near.frame.width:g} {near.frame.height:g}"
    left, top, width, height = box.split()
    size = f'x="{left}" y="{top}" width="{width}" height="{height}"'
    parts += [
        f'<svg {size} viewBox="{box}">{"".join(inside)}</svg>',
        f'<rect {size} fill="none" stroke="{DARK}"/>',
    ]
    return _document(640, "The margin over the box, its samples and its minimum", parts)


def interval_gap(found: Profile, seen: Samples, function: MarginFunction) -> str:
    """All values of the margin, seen from the side, above the levels that bounds promise."""
    low, high = -4.0, 3.75
    frame = Frame(_LEFT, _TOP, 400, _SIDE)

    def height(value: float) -> float:
        return frame.y((value - low) / (high - low))

    ticks = [((value - low) / (high - low), number(value)) for value in range(-4, 4)]
    columns, rows = np.linspace(-1, 1, 81), np.linspace(-1, 1, 161)
    grid = torch.tensor([(x, y) for x in columns for y in rows], dtype=torch.float64)
    across = function.values(grid, _first_case(grid)).numpy().reshape(len(columns), -1)
    outline = [*zip(columns, across.max(1), strict=True)]
    outline += [*zip(columns, across.min(1), strict=True)][::-1]
    shape = " ".join(f"{frame.x((x + 1) / 2):.1f},{height(v):.1f}" for x, v in outline)
    shown = zip(seen.points[:, 0], seen.margins, strict=True)
    top, right = height(found.minimum), frame.x(1)
    levels = (
        (found.minimum, DARK, f"M_min {found.minimum:.3f}"),
        (0.0, RED, "0: violated below"),
        (found.linear_floor, GREEN, f"L_CROWN {number(found.linear_floor, 3)}"),
        (found.interval.floor, PURPLE, f"L_IBP {number(found.interval.floor, 3)}"),
    )
    linear, interval = (height(value) for value, *_ in levels[2:])
    parts = [
        f'<rect x="{frame.left:g}" y="{height(0):.1f}" width="{frame.width:g}" '
        f'height="{frame.y(0) - height(0):.1f}" fill="{RED}" fill-opacity=".07"/>',
        axes(frame, HALVES, ticks, "first input", "margin"),
        f'<polygon points="{shape}" fill="{BLUE}" fill-opacity=".22"/>',
        dots(((frame.x((x + 1) / 2), height(v)) for x, v in shown), BLUE, 0.6),
        *(level(frame, height(value), color) for value, color, _ in levels),
        *(words(right + 74, height(v) + 4, text, color=c) for v, c, text in levels),
        words(right + 74, linear + 20, f"G_CROWN = {found.linear_gap:.1f}", color=GREEN),
        words(right + 74, interval + 20, f"G_IBP = {found.interval_gap:.1f}", color=PURPLE),
        bracket(right + 26, top, linear, f"{found.linear_gap:.1f} M_min", GREEN),
        bracket(right + 56, top, interval, f"{found.interval_gap:.1f} M_min", PURPLE),
    ]
    return _document(650, "The values of the margin and what bounds promise", parts)


def unstable_units(found: Profile) -> str:
    """Where each ReLU switches, inside and around the box, beside its interval of inputs."""
    plane = Plane(Frame(_LEFT, _TOP, _SIDE, _SIDE), 2.0)
    ticks = [(k / 4, number(k - 2)) for k in range(5)]
    parts = [
        plane.axes(ticks),
        plane.square(
            _plane(), f'fill="{BLUE}" fill-opacity=".1" stroke="{DARK}" stroke-width="1.5"'
        ),
        words(*plane.place((-0.45, -0.93)), "the box", color=DARK),
    ]
    every = units(around=2.0)
    left, width, row = 522.0, 190.0, 31.0
    reach = max(abs(end) for unit in every for end in unit.interval)

    def bar(ends: tuple[float, float], y: float, height: float, looks: str) -> str:
        low, high = (left + (end / reach + 1) / 2 * width for end in ends)
        return (
            f'<rect x="{low:.1f}" y="{y - height / 2:g}" width="{high - low:.1f}" '
            f'height="{height:g}" {looks}/>'
        )

    for step, unit in enumerate(every):
        color = {"stable": "#8a8a8a", "by intervals only": PURPLE}.get(unit.state, RED)
        dashes = "" if color == RED else ' stroke-dasharray="5 4"'
        looks = f'stroke="{color}" stroke-width="2"{dashes}'
        parts += [plane.path(segment, looks) for segment in unit.switches]
        y = _TOP + 16 + row * step
        parts += [
            words(left - 12, y + 4, unit.name, "", "end", color),
            bar(unit.interval, y, 14, f'fill="{color}" fill-opacity=".3"'),
            bar(unit.range, y, 6, f'fill="{color}"'),
        ]
    bottom, middle = _TOP + 16 + row * len(every) - 12, left + width / 2
    said = f"U = {found.interval.unstable}/{found.interval.units}: a pale bar crosses 0"
    parts += [
        f'<line class="axis" x1="{middle:g}" y1="{_TOP:g}" x2="{middle:g}" y2="{bottom:g}"/>',
        words(middle, bottom + 16, "0", "", "middle"),
        words(left - 96, _TOP - 10, "what each ReLU gets, over the box", "title"),
        words(left - 96, bottom + 38, "pale: by intervals; dark: what really occurs"),
        words(left - 96, bottom + 58, said, "title"),
    ]
    return _document(730, "Where units switch, and which of them intervals call unstable", parts)


def local_regions(found: Profile, seen: Samples) -> str:
    """The box coloured by the cell of the gradient, on a fine and on a coarse grid."""
    top, side = 60.0, 280.0
    parts = []
    for panel, tau in enumerate((DEFAULTS.tau, COARSE_TAU)):
        plane = Plane(Frame(_LEFT + panel * 350, top, side, side))
        counts = cell_counts([seen.gradients], tau, found.steepest)
        cells = {piece: _cell(piece, tau, found.steepest) for piece in margin_pieces()}
        largest: dict[bytes, Piece] = {}
        for piece in sorted(cells, key=lambda piece: -area(piece.corners)):
            largest.setdefault(cells[piece], piece)
        order = list(largest)
        parts.append(plane.axes())
        for piece, cell in cells.items():
            place = order.index(cell)
            looks = f'fill="{PALETTE[place % 8]}" fill-opacity="{0.65 if place < 8 else 0.3}"'
            parts.append(plane.polygon(piece.corners, f'{looks} stroke="#fff" stroke-width=".8"'))
        for cell, piece in largest.items():
            x, y = plane.place(piece.centre)
            if area(piece.corners) >= _SMALLEST_LABELLED:
                parts.append(words(x, y + 4, str(counts[cell]), "count", "middle"))
        said = f"{len(counts)} cells, A_τ = log {len(counts)} = {np.log(len(counts)):.2f}"
        parts.append(words(plane.frame.x(0.5), 22, f"τ = {tau:g}: {said}", "title", "middle"))
    title, style = "The box by cells of the gradient", ".count{fill:#111;font-size:11px}"
    return picture(720, top + side + 48, title, parts, False, style) + "\n"


def effective_dimension(found: Profile, function: MarginFunction) -> str:
    """The gradient as arrows, shaded by how evenly it is spread over the two inputs."""
    plane = _plane()
    ticks = np.linspace(-0.9, 0.9, 10)
    points = torch.tensor([(x, y) for x in ticks for y in ticks], dtype=torch.float64)
    _, gradients = function.with_gradients(points, _first_case(points))
    sizes = gradients.norm(dim=1, keepdim=True)
    # Lengths grow with the root of the slope, so that the flat parts have arrows to be seen.
    halves = (gradients / sizes * (sizes / sizes.max()).sqrt() * 0.085).numpy()
    x, y = plane.frame.x(1) + 22, plane.frame.top
    parts = [
        plane.axes(),
        *(
            plane.polygon(piece.corners, f'fill="{_spread_color(piece)}" stroke="#fff"')
            for piece in margin_pieces()
        ),
        *(
            arrow(plane.place(point - half), plane.place(point + half))
            for point, half in zip(points.numpy(), halves, strict=True)
        ),
        words(x, y + 10, "inputs that share the slope", "title"),
        words(x, y + 30, "‖g‖₁² / ‖g‖₂², piece by piece"),
        ramp(x, y + 42, 190, [_shade(share) for share in np.linspace(0, 1, 20)]),
        words(x, y + 72, "1"),
        words(x + 95, y + 72, "1.5", "", "middle"),
        words(x + 190, y + 72, "2", "", "end"),
        words(x, y + 106, f"over the samples: d_eff = {found.dimension.value:.2f}", "title"),
        words(x, y + 138, "along an axis: one input matters"),
        words(x, y + 158, "along a diagonal: both do"),
        words(x, y + 190, "longer arrows: steeper"),
    ]
    return _document(640, "The gradient of the margin and how evenly it is spread", parts)


def _descent(function: MarginFunction, start: np.ndarray) -> list[list[float]]:
    """The lowest points so far of a descent from one sample."""
    box, begin = (function.lower[0], function.upper[0]), torch.from_numpy(start).unsqueeze(0)
    found: list[list[float]] = []
    for steps in range(_DESCENT_STEPS + 1):
        end = descended(function.view, function.case_excesses(0), box, begin, steps)
        if (point := end.points[0].tolist()) not in found:
            found.append(point)
    return found


def _found(plane: Plane, first: np.ndarray, found: Profile) -> tuple[str, str]:
    """The lowest sample and the searched minimum."""
    return circle(plane.place(first), 5.5, "#fff", RED), diamond(plane.place(found.point), 7, RED)


def _bands(plane: Plane, levels: Sequence[float], colors: Sequence[str]) -> list[str]:
    """The margin between levels, in what the plane shows of each piece."""
    parts = []
    for piece in margin_pieces():
        corners, slope, offset = piece.corners, piece.weights[0], float(piece.offsets[0])
        for axis, sign in ((0, 1), (0, -1), (1, 1), (1, -1)):
            direction = np.eye(2)[axis] * sign
            corners = kept(corners, direction, plane.reach - sign * plane.centre[axis])
        for low, high, color in zip(levels, levels[1:], colors, strict=False):
            band = kept(kept(corners, slope, offset - low), -slope, high - offset)
            if len(band) > 2:
                looks = f'fill="{color}" stroke="{color}" stroke-width=".6"'
                parts.append(plane.polygon(band, looks))
    return parts


def _band_color(step: int) -> str:
    return mixed("#3d86bd", "#f4f9fd", (step / (len(_BANDS) - 2)) ** 0.7)


def _spread_color(piece: Piece) -> str:
    gradient = piece.weights[0]
    return _shade(float(np.abs(gradient).sum() ** 2 / np.square(gradient).sum()) - 1)


def _shade(share: float) -> str:
    return mixed("#f6efe2", "#c08a00", share)


def _cell(piece: Piece, tau: float, steepest: float) -> bytes:
    """The one cell that the gradient on a piece falls into."""
    (cell,) = cell_counts([piece.weights[:1]], tau, steepest)
    return cell


def _first_case(points: torch.Tensor) -> torch.Tensor:
    return torch.zeros(len(points), dtype=torch.int64)


def _plane() -> Plane:
    return Plane(Frame(_LEFT, _TOP, _SIDE, _SIDE))


def _document(width: float, title: str, parts: Sequence[str]) -> str:
    return picture(width, _TOP + _SIDE + 50, title, parts, False) + "\n"


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, drawn in pictures().items():
        (IMAGES / f"{name}.svg").write_text(drawn)
