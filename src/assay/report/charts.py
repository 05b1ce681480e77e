"""The cactus plot and the scatter of two tools as SVG, drawn from nothing but numbers.

On the page colours come from its style sheet (`page=True`), so that they follow light and dark;
exported files carry their own. Curves and clouds are thinned to what the picture can show.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from assay.judge.outcome import SOLVED
from assay.judge.score_table import VIRTUAL_BEST, Group
from assay.report.drawing import (
    PALETTE,
    Frame,
    axes,
    picture,
    polyline,
    printable,
    shortened,
    tool_color,
)
from assay.report.material import Material
from assay.report.scales import LogScale, nice_step

_DASHES = ("", "6 3", "2 3", "8 3 2 3")
_SHORTEST_S, _LONGEST_S = 0.01, 1e7
_WIDTH, _HEIGHT, _NARROW_WIDTH = 680.0, 500.0, 330.0
_MOST_MARKS = 12
_SHAPES = (
    "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
    "m-3.5-3.5h7v7h-7z",
    "m0-4.5l4.5 8h-9z",
    "m0-5l4.5 5l-4.5 5l-4.5-5z",
    "m0 4.5l4.5-8h-9z",
    "m-4-1.5h2.5v-2.5h3v2.5h2.5v3h-2.5v2.5h-3v-2.5h-2.5z",
)
"""A mark for each tool, so that colour is not the only sign."""


def solved_times(material: Material, group: Group) -> dict[str, list[float]]:
    """Times on solved instances, sorted, by verifier; the virtual best too if there are several."""
    times: dict[str, list[float]] = {name: [] for name in material.scores.verifiers}
    best: dict[str, float] = {}
    for task in material.tasks:
        item = task.settled
        if task.group == group and item.outcome in SOLVED:
            times[item.verifier].append(item.wall_s)
            best[item.instance] = min(item.wall_s, best.get(item.instance, math.inf))
    if len(times) > 1:
        times[VIRTUAL_BEST] = list(best.values())
    return {name: sorted(values) for name, values in times.items()}


def cactus(
    times: Mapping[str, Sequence[float]], *, page: bool = False, narrow: bool = False
) -> str:
    """How many instances each tool solves when every one is granted this many seconds.

    A narrow chart fits a phone: the names stand below, not beside the ends of the curves.
    """
    width, height = (_NARROW_WIDTH, _NARROW_WIDTH) if narrow else (_WIDTH, _HEIGHT)
    frame = Frame(56, 26, width - 56 - (16 if narrow else 146), height - 26 - 48)
    most = max((len(values) for values in times.values()), default=0) or 1
    scale = _seconds_scale(value for values in times.values() for value in values)
    step = int(nice_step(max(1.0, most / (4 if narrow else 6))))
    right = [(n / most, f"{n:,}") for n in range(0, most + 1, step)]
    parts = [axes(frame, right, scale.ticks(), "instances solved", "seconds each")]
    ends: list[tuple[float, str]] = []
    names = [name for name in times if name != VIRTUAL_BEST]
    for name in (*(n for n in times if n == VIRTUAL_BEST), *names):
        values = times[name]
        points = [(frame.x((i + 1) / most), frame.y(scale.share(v))) for i, v in enumerate(values)]
        if points:
            best = name == VIRTUAL_BEST
            look = 'class="curve best"' if best else _line(names.index(name), page)
            title = f"{name}: {len(values):,} solved"
            line = polyline(points) if best else _marked(points, names.index(name))
            parts.append(f"<g {look}><title>{printable(title)}</title>{line}</g>")
        ends.append((points[-1][1] if points else frame.y(0), name))
    if narrow:
        ends = [(height + 14 + 18 * n, name) for n, name in enumerate(times)]
        parts += [_label(12, y, name, times, names, page) for y, name in ends]
        height += 18 * len(ends) + 8
    else:
        parts += _end_labels(frame, ends, times, names, page)
    return picture(width, height, "Cactus plot: time against instances solved", parts, page)


def scatter(
    first: str, second: str, points: Sequence[tuple[float, float]], limit: float, color: str = ""
) -> str:
    """The times of two tools on the same instances; unsolved ones lie on the limit's line."""
    side = 400.0
    frame = Frame(62, 26, side, side)
    scale = _seconds_scale((limit, *(value for pair in points for value in pair)))
    parts = [axes(frame, scale.ticks(), scale.ticks(), f"{first}, seconds", f"{second}, seconds")]
    edge = scale.share(limit)
    lines = (
        ("diagonal", frame.x(0), frame.y(0), frame.x(1), frame.y(1)),
        ("limit", frame.x(edge), frame.y(0), frame.x(edge), frame.y(1)),
        ("limit", frame.x(0), frame.y(edge), frame.x(1), frame.y(edge)),
    )
    parts += [
        f'<line class="{kind}" x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}"/>'
        for kind, a, b, c, d in lines
    ]
    parts.append(
        f'<text x="{frame.x(edge) - 5:.1f}" y="{frame.top + 13}" text-anchor="end">limit</text>'
    )
    spots = {
        (round(2 * frame.x(scale.share(a))), round(2 * frame.y(scale.share(b)))) for a, b in points
    }
    fill = color or PALETTE[0]
    parts += [
        f'<circle class="dot" fill="{fill}" cx="{x / 2:g}" cy="{y / 2:g}" r="3"/>'
        for x, y in sorted(spots)
    ]
    return picture(62 + side + 24, 26 + side + 52, f"{first} against {second}", parts, False)


def paired_times(
    material: Material, first: str, second: str, group: Group
) -> tuple[list[tuple[float, float]], float]:
    """Times of both tools where both ran and one solved it, unsolved as the limit; the limit."""
    limit = max(material.limits.values(), default=1.0)
    found: dict[str, dict[str, float]] = {}
    for task in material.tasks:
        item = task.settled
        if task.group == group and item.verifier in (first, second):
            time = min(item.wall_s, limit) if item.solved else limit
            found.setdefault(item.instance, {})[item.verifier] = time
    pairs = [(times[first], times[second]) for times in found.values() if len(times) == 2]
    return [pair for pair in pairs if min(pair) < limit], limit


def _seconds_scale(values: Iterable[float]) -> LogScale:
    return LogScale.over(values, _SHORTEST_S, _LONGEST_S)


def _line(number: int, page: bool) -> str:
    dash = _DASHES[number % len(_DASHES)]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'class="curve" style="stroke:{tool_color(number, page)}"{dashed}'


def _end_labels(
    frame: Frame,
    ends: Sequence[tuple[float, str]],
    times: Mapping[str, Sequence[float]],
    names: Sequence[str],
    page: bool,
) -> list[str]:
    """Names beside the ends of the curves, moved apart where they would overlap."""
    gap = 15.0
    placed: list[tuple[float, str]] = []
    lowest = -math.inf
    for y, name in sorted(ends):
        lowest = max(y, lowest + gap)
        placed.append((lowest, name))
    overflow = max(0.0, (placed[-1][0] if placed else 0.0) - (frame.top + frame.height))
    return [_label(frame.x(1) + 14, y - overflow, name, times, names, page) for y, name in placed]


def _label(
    x: float,
    y: float,
    name: str,
    times: Mapping[str, Sequence[float]],
    names: Sequence[str],
    page: bool,
) -> str:
    """The mark of a tool, its name and how many it solves."""
    mark, look = "", 'class="name-best"'
    if name != VIRTUAL_BEST:
        number = names.index(name)
        color = tool_color(number, page)
        look = f'style="fill:{color};font-weight:600"'
        mark = f'<path style="fill:{color}" d="M{x:.1f} {y:.1f}{_shape(number)}"/>'
    text = printable(f"{shortened(name, 14)} {len(times[name]):,}")
    at = f'x="{x + 10:.1f}" y="{y + 4:.1f}"'
    return f"{mark}<text {look} {at}><title>{printable(name)}</title>{text}</text>"


def _shape(number: int) -> str:
    return _SHAPES[number % len(_SHAPES)]


def _marked(points: Sequence[tuple[float, float]], number: int) -> str:
    """A curve with a few marks of its tool, the last at its end."""
    every = max(1, len(points) // _MOST_MARKS)
    chosen = points[::-1][::every]
    marks = "".join(f"M{x:.1f} {y:.1f}{_shape(number)}" for x, y in chosen)
    line = polyline(points, marks=False)
    return f'{line}<path class="marks" stroke-dasharray="none" d="{marks}"/>'
