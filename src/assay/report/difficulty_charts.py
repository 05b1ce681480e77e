"""Which component goes with unsolved instances, alone and in pairs, as SVG drawn from numbers.

On the page colours come from its style sheet (`page=True`); exported files carry their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from assay.difficulty.components import COMPONENTS, Component
from assay.difficulty.explanation import InteractionMap, Separation, VerifierExplanation
from assay.report.drawing import (
    CHARACTER,
    Frame,
    axes,
    picture,
    printable,
    shortened,
    tool_color,
)
from assay.report.scales import different_texts, number_text

BY_NAME = {component.name: component for component in COMPONENTS}
_ROW, _BETWEEN_GROUPS, _SMALLEST_GROUP = 18.0, 16.0, 34.0
_LEAST, _MOST = (0xF6, 0xE7, 0xEE), (0xA3, 0x28, 0x5F)


@dataclass(frozen=True)
class _Layout:
    """Where the parts of an AUC chart stand; `heading` is the room above a component's rows."""

    width: float
    left: float
    across: float
    gap: float
    name: int
    least: float
    heading: float


_WIDE = _Layout(820, 290, 370, 14, 16, _SMALLEST_GROUP, 0)
_NARROW = _Layout(340, 84, 132, 8, 10, _ROW, 20)


@dataclass(frozen=True)
class _Row:
    layout: _Layout
    y: float
    color: str


_STYLE = """.half{stroke:#666;stroke-dasharray:4 4}.between{stroke:#e3e3e3}
.hollow{fill:#fff}.name{font-weight:600;fill:#222}.dim{fill:#777;font-weight:400}.cell{stroke:#fff}
.empty{fill:none;stroke:#bbb;stroke-dasharray:3 3}
.on-heat{fill:#222;font-weight:600}.on-heat.dense{fill:#fff}
.swatch{stroke:#a3285f;stroke-opacity:.35}
"""


def auc_chart(
    verifiers: Sequence[VerifierExplanation],
    confidence: float,
    *,
    page: bool = False,
    narrow: bool = False,
) -> str:
    """A row for each component and verifier: the AUC as a dot, its interval as a line.

    A hollow dot marks an interval that holds one half: there the component says nothing. A narrow
    chart fits a phone: a component's words stand above its rows, not beside them.
    """
    layout = _NARROW if narrow else _WIDE
    group = max(layout.least, _ROW * len(verifiers)) + layout.heading
    height = len(COMPONENTS) * (group + _BETWEEN_GROUPS)
    frame = Frame(layout.left, 34, layout.across, height)
    every = 2 if narrow else 4
    below = [(n / every, number_text(n / every)) for n in range(every + 1)]
    title = "AUC" if narrow else "chance that an unsolved instance has the larger value (AUC)"
    ends = (
        ("← small", "large →") if narrow else ("← small values unsolved", "large values unsolved →")
    )
    parts = [
        axes(frame, below, (), title, ""),
        f'<line class="half" x1="{frame.x(0.5):.1f}" y1="{frame.top}" x2="{frame.x(0.5):.1f}" '
        f'y2="{frame.y(0):.1f}"/>',
        f'<text x="{frame.x(0)}" y="{frame.top - 10}">{ends[0]}</text>',
        f'<text x="{frame.x(1)}" y="{frame.top - 10}" text-anchor="end">{ends[1]}</text>',
        f'<text class="dim" x="{frame.x(1) + layout.gap}" y="{frame.top - 10}">'
        f"AUC, {confidence:.0%}{'' if narrow else ' interval'}</text>",
    ]
    for number, component in enumerate(COMPONENTS):
        top = frame.top + number * (group + _BETWEEN_GROUPS) + _BETWEEN_GROUPS / 2
        parts.append(_component_label(component, top, number > 0, layout))
        rows = group - layout.heading
        first = top + layout.heading + (rows - _ROW * len(verifiers)) / 2 + _ROW / 2
        for place, verifier in enumerate(verifiers):
            found = next((s for s in verifier.separations if s.component == component.name), None)
            row = _Row(layout, first + _ROW * place, tool_color(place, page))
            parts.append(_auc_row(verifier, component, found, frame, row))
    return picture(
        layout.width,
        frame.y(0) + 52,
        "AUC of each component and verifier: unsolved against solved instances",
        parts,
        page,
        _STYLE,
        own_size=True,
    )


def interaction_chart(found: InteractionMap, verifier: str, *, page: bool = False) -> str:
    """Shares left unsolved over bins of two components, "unsolved/instances" in each cell.

    Every bin is drawn equally large, whatever it spans: the edges are written along the axes.
    """
    columns, rows = len(found.x_edges) - 1, len(found.y_edges) - 1
    x_texts, y_texts = different_texts(found.x_edges), different_texts(found.y_edges)
    x_room, y_room = (CHARACTER * (max(map(len, texts)) + 1) for texts in (x_texts, y_texts))
    wide = max(54.0, x_room, min(96.0, 240 / max(1, columns)))
    tall = max(30.0, min(52.0, 280 / max(1, rows)))
    frame = Frame(max(62.0, 16 + y_room), 108, wide * columns, tall * rows)
    width = max(_NARROW.width, frame.x(1) + 24)
    below = [(n / max(1, columns), text) for n, text in enumerate(x_texts)]
    beside = [(n / max(1, rows), text) for n, text in enumerate(y_texts)]
    x, y = BY_NAME[found.x], BY_NAME[found.y]
    parts = [
        f'<text class="name" x="10" y="18">{printable(shortened(verifier, 44))}</text>',
        _heat_legend(page),
        axes(frame, below, beside, f"{x.name}: {x.title}", ""),
        f'<text class="title" x="10" y="{frame.top - 18}">{y.name}: {y.title}</text>',
    ]
    for row, column in product(range(rows), range(columns)):
        words = (
            f"{x.name} {x_texts[column]} to {x_texts[column + 1]}, "
            f"{y.name} {y_texts[row]} to {y_texts[row + 1]}"
        )
        left, top = frame.x(column / columns), frame.y((row + 1) / rows)
        late, total = found.unsolved[row][column], found.counts[row][column]
        parts.append(_map_cell(words, Frame(left, top, wide, tall), late, total, page))
    title = f"{verifier}: share left unsolved over {found.x} and {found.y}"
    return picture(width, frame.y(0) + 56, title, parts, page, _STYLE, own_size=True)


def _component_label(component: Component, top: float, ruled: bool, layout: _Layout) -> str:
    y, right = top - _BETWEEN_GROUPS / 2, layout.width - 10
    rule = (
        f'<line class="between" x1="10" x2="{right:g}" y1="{y:.1f}" y2="{y:.1f}"/>' if ruled else ""
    )
    hard = ", small is hard" if component.harder_when == "small" else ""
    words = printable(component.title + hard)
    # On the wide chart the words stand beside the rows, below the name.
    beside = f'<text class="dim" x="10" y="{top + 29:.1f}">{words}</text>'
    above = f'<tspan class="dim" dx="8">{words}</tspan>'
    return (
        f'{rule}<g><title>{printable(component.meaning)}</title><text class="name" x="10" '
        f'y="{top + 13:.1f}">{component.name}{above if layout.heading else ""}</text>'
        f"{'' if layout.heading else beside}</g>"
    )


def _auc_row(
    verifier: VerifierExplanation,
    component: Component,
    found: Separation | None,
    frame: Frame,
    row: _Row,
) -> str:
    y, color, right = row.y, row.color, frame.x(1) + row.layout.gap
    name = printable(shortened(verifier.verifier, row.layout.name))
    label = (
        f'<text x="{frame.left - 10}" y="{y + 4:.1f}" text-anchor="end" style="fill:{color}">'
        f"<title>{printable(verifier.verifier)}</title>{name}</text>"
    )
    if found is None or math.isnan(found.auc):
        why = printable(_why_no_auc(verifier))
        return f'{label}<text class="dim" x="{right}" y="{y + 4:.1f}">{why}</text>'
    known = not (math.isnan(found.low) or math.isnan(found.high))
    telling = known and found.clear
    interval = f"{found.low:.2f} to {found.high:.2f}" if known else "interval unknown"
    shown = interval.replace(" to ", "–") if row.layout.heading else interval
    words = f"{verifier.verifier}, {component.name}: AUC {found.auc:.2f}, {interval}"
    line = (
        f'<path d="M{frame.x(found.low):.1f} {y - 4:.1f}v8m0-4H{frame.x(found.high):.1f}m0-4v8" '
        f'fill="none" style="stroke:{color}" stroke-width="1.5"/>'
        if known
        else ""
    )
    look = (
        f'style="fill:{color};stroke:{color}"'
        if telling
        else (f'class="hollow" style="stroke:{color}"')
    )
    return (
        f"{label}<g><title>{printable(words)}</title>{line}"
        f'<circle cx="{frame.x(found.auc):.1f}" cy="{y:.1f}" r="4" stroke-width="1.5" {look}/>'
        f'<text x="{right}" y="{y + 4:.1f}">{found.auc:.2f}'
        f'<tspan class="dim" dx="8">{shown}</tspan></text></g>'
    )


def _map_cell(spans: str, frame: Frame, late: int, total: int, page: bool) -> str:
    if not total:
        inset = 3
        return (
            f'<rect class="empty" x="{frame.left + inset:.1f}" y="{frame.top + inset:.1f}" '
            f'width="{frame.width - 2 * inset:.1f}" height="{frame.height - 2 * inset:.1f}">'
            f"<title>{printable(spans)}: no instance</title></rect>"
        )
    rate = late / total
    dense = " dense" if rate > 0.5 else ""
    return (
        f"<g><title>{printable(spans)}: {late} of {total} unsolved ({rate:.0%})</title>"
        f'<rect class="cell heat" {_heat(rate, page)} x="{frame.left:.1f}" y="{frame.top:.1f}" '
        f'width="{frame.width:.1f}" height="{frame.height:.1f}"/>'
        f'<text class="on-heat{dense}" text-anchor="middle" x="{frame.x(0.5):.1f}" '
        f'y="{frame.y(0.5) + 4:.1f}">{late}/{total}</text></g>'
    )


def _why_no_auc(verifier: VerifierExplanation) -> str:
    if not verifier.count("unsolved"):
        return "nothing unsolved"
    return "nothing solved" if not verifier.count("solved") else "unknown"


def _heat(rate: float, page: bool) -> str:
    """Pale where everything is solved, dark where everything is left unsolved."""
    if page:
        return f'style="--rate:{100 * rate:.0f}%"'
    mixed = [round(a + rate * (b - a)) for a, b in zip(_LEAST, _MOST, strict=True)]
    return f'fill="#{mixed[0]:02x}{mixed[1]:02x}{mixed[2]:02x}"'


def _heat_legend(page: bool) -> str:
    swatches = "".join(
        f'<rect class="swatch heat" {_heat(n / 4, page)} x="{162 + 22 * n}" y="30" '
        'width="22" height="12"/>'
        for n in range(5)
    )
    return (
        '<text x="10" y="40">share left unsolved</text>'
        f'<text x="156" y="40" text-anchor="end">0 %</text>{swatches}'
        '<text x="278" y="40">100 %</text>'
        '<rect class="empty" x="10" y="52" width="22" height="12"/>'
        '<text x="40" y="62">no instance</text>'
    )
