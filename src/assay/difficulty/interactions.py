"""What goes unsolved, over two components at a time: all pairs, in bins of about equal counts.

Bins come from all points, so that the maps of several verifiers have the same cells. Edges are
round numbers near quantiles, outer ones rounded outward. Where a value is infinite, so is the
outer edge. A component that never changes has one bin, both edges of which may be its value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from assay.difficulty.components import NAMES
from assay.difficulty.cuts import bins_of, quantile_cuts, rounded_down, rounded_up
from assay.difficulty.explanation import InteractionMap, Point
from assay.difficulty.ranks import Values

_MOST_BINS = 4
_FIRST = ("U", "d_eff")
PAIRS = (_FIRST, *(pair for pair in combinations(NAMES, 2) if pair != _FIRST))


def interaction_maps(
    points: Sequence[Point], outcomes: Mapping[str, str]
) -> tuple[InteractionMap, ...]:
    """One map a pair of components; only solved and unsolved instances are counted."""
    values = {name: np.array([point.values[name] for point in points]) for name in NAMES}
    edges = {name: _edges(values[name]) for name in NAMES}
    bins = {name: bins_of(values[name], edges[name][1:-1]) for name in NAMES}
    known = [outcomes.get(point.instance, "") for point in points]
    late = np.array([outcome == "unsolved" for outcome in known])
    seen = late | np.array([outcome == "solved" for outcome in known])
    maps = []
    for x, y in PAIRS:
        shape = len(edges[y]) - 1, len(edges[x]) - 1
        cells = bins[y] * shape[1] + bins[x]
        unsolved, counts = (
            np.bincount(cells[chosen], minlength=shape[0] * shape[1]).reshape(shape).tolist()
            for chosen in (late, seen)
        )
        maps.append(
            InteractionMap(
                x=x,
                y=y,
                x_edges=edges[x],
                y_edges=edges[y],
                unsolved=tuple(map(tuple, unsolved)),
                counts=tuple(map(tuple, counts)),
            )
        )
    return tuple(maps)


def _edges(values: Values) -> tuple[float, ...]:
    low, high = float(values.min()), float(values.max())
    return rounded_down(low), *_short_cuts(values), rounded_up(high)


def _short_cuts(values: Values) -> tuple[float, ...]:
    """Quantiles with two digits, unless these leave values that differ in one bin."""
    cuts = quantile_cuts(values, _MOST_BINS)
    short: list[float] = []
    for cut in sorted({float(f"{cut:.1e}") for cut in cuts}):
        above = values >= cut
        between = ~above & (values >= short[-1]) if short else ~above
        if above.any() and between.any():
            short.append(cut)
    return tuple(short) or cuts
