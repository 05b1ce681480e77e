"""Profiles in a terminal: a table with a small bar beside every component."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from assay.cli.output import print_line, print_table
from assay.difficulty.components import COMPONENTS, Component
from assay.difficulty.profile_rows import Row
from assay.difficulty.settings import Settings

_MOST_ROWS = 100
_BAR = 5
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def print_profiles(rows: Sequence[Row], settings: Settings) -> None:
    """Every row, or where there are too many the middle of each group of instances."""
    done = [row for row in rows if row.status == "ok"]
    values = {c.name: [float(row.cells[c.name]) for row in done] for c in COMPONENTS}
    header = ["instance", *(c.name for c in COMPONENTS), "M_searched", "found by", "s"]
    if len(rows) > _MOST_ROWS:
        _print_groups(done, values, settings)
        return
    table = [_line(row, values) for row in rows]
    print_table(f"difficulty, {settings.samples} samples, tau {settings.tau:g}", header, table)
    _print_legend(done)


def _line(row: Row, values: dict[str, list[float]]) -> list[str]:
    if row.status != "ok":
        return [row.instance, row.status, *[""] * (len(COMPONENTS) + 2)]
    cells = [_cell(c, float(row.cells[c.name]), values[c.name]) for c in COMPONENTS]
    if row.cells["saturated"] == "yes":
        cells[3] += "+"
    lowest, seconds = float(row.cells["M_searched"]), float(row.cells["seconds"])
    return [row.instance, *cells, f"{lowest:.3g}", str(row.cells["found_by"]), f"{seconds:.2f}"]


def _print_groups(done: Sequence[Row], values: dict[str, list[float]], settings: Settings) -> None:
    groups: dict[str, list[Row]] = {}
    for row in done:
        groups.setdefault(_group(row.instance), []).append(row)
    table = []
    for name, members in groups.items():
        middles = [
            statistics.median_low([float(row.cells[c.name]) for row in members]) for c in COMPONENTS
        ]
        cells = [_cell(c, v, values[c.name]) for c, v in zip(COMPONENTS, middles, strict=True)]
        table.append([name, len(members), *cells])
    title = f"difficulty, medians by group, {settings.samples} samples, tau {settings.tau:g}"
    print_table(title, ["group", "instances", *(c.name for c in COMPONENTS)], table)
    _print_legend(done)


def _print_legend(done: Sequence[Row]) -> None:
    print_line("A longer bar is the harder end of what this benchmark holds.")
    if any(row.cells["saturated"] == "yes" for row in done):
        print_line("+ nearly every sample had a gradient of its own: A_tau is at least this.")


def _group(instance: str) -> str:
    """Instances of one family, or of one network."""
    return instance.split("--")[0] if "--" in instance else instance.split("-")[0]


def _cell(component: Component, value: float, among: Sequence[float]) -> str:
    return f"{value:<8.3g} {_bar(_share(component, value, among))}"


def _share(component: Component, value: float, among: Sequence[float]) -> float:
    """Where a value lies between the easiest and the hardest one here, 0 to 1.

    A margin that is not positive has no bar: its samples violate already.
    """
    hard_when_small = component.harder_when == "small"
    if component.logarithmic and value <= 0:
        return 0.0
    scaled = math.log if component.logarithmic else float
    places = [
        scaled(v) for v in among if math.isfinite(v) and not (component.logarithmic and v <= 0)
    ]
    if not places:
        return 1.0
    low, high = min(places), max(places)
    place = min(scaled(value), high) if math.isfinite(value) else high
    share = (place - low) / (high - low) if high > low else 0.0
    return 1 - share if hard_when_small else share


def _bar(share: float) -> str:
    eighths = round(share * _BAR * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(_BAR)
