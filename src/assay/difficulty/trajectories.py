"""The instances of a family in the order of a knob: how difficulty grows as it is turned."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.difficulty.components import NAMES
from assay.difficulty.explanation import Point, Trajectory
from assay.difficulty.ranks import spearman

_FEWEST_POINTS = 3
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def knobs_of(parameters: Mapping[str, Any]) -> dict[str, float | str]:
    """The parameters of a truth that can be a knob: numbers, words, and short lists of numbers.

    A list, such as the widths of layers, becomes a text as `20x20`; what is nested deeper, or not
    set, is left out.
    """
    knobs: dict[str, float | str] = {}
    for name, value in parameters.items():
        if isinstance(value, bool):
            knobs[name] = "yes" if value else "no"
        elif isinstance(value, int | float):
            knobs[name] = float(value)
        elif isinstance(value, str):
            knobs[name] = value
        elif isinstance(value, list) and value and all(type(v) in (int, float) for v in value):
            knobs[name] = "x".join(f"{v:g}" for v in value)
    return knobs


def trajectories(points: Sequence[Point], benchmark: str) -> tuple[Trajectory, ...]:
    """Every family along each of its knobs, the one that shows most first.

    `points` come in the order of the list. Where nothing is known of how instances were made,
    there is one trajectory a family (the network there) in that order, and one of all points.
    """
    families: dict[str, list[Point]] = defaultdict(list)
    for point in points:
        families[point.family].append(point)
    found: list[Trajectory] = []
    if not any(point.knobs for point in points):
        found.append(_in_list_order(benchmark, points))
        if len(families) == 1:
            return tuple(found)
    for family, members in families.items():
        if len(members) < _FEWEST_POINTS:
            continue
        if any(point.knobs for point in members):
            found += _along_knobs(family, members)
        else:
            found.append(_in_list_order(family, members))
    return tuple(found)


def _in_list_order(family: str, points: Sequence[Point]) -> Trajectory:
    steps = tuple(float(number) for number in range(1, len(points) + 1))
    return Trajectory(family, None, tuple(point.instance for point in points), steps)


def _along_knobs(family: str, points: Sequence[Point]) -> list[Trajectory]:
    shared = set.intersection(*(set(point.knobs) for point in points))
    ranked = []
    for knob in sorted(shared):
        places = [_place(point.knobs[knob]) for point in points]
        distinct = len(set(places))
        if () in places or distinct < 2:
            continue
        order = sorted(range(len(points)), key=lambda k: (places[k], points[k].instance))
        along = [points[k] for k in order]
        trajectory = Trajectory(
            family=family,
            knob=knob,
            instances=tuple(point.instance for point in along),
            steps=tuple(point.knobs[knob] for point in along),
        )
        ranked.append((-_visible(points, places), -distinct, knob, trajectory))
    return [trajectory for *_, trajectory in sorted(ranked, key=lambda entry: entry[:3])]


def _place(step: float | str) -> tuple[float, ...]:
    """Where a step stands among others; nowhere, if it is a word without a number."""
    if isinstance(step, str):
        return tuple(float(number) for number in _NUMBER.findall(step))
    return (step,)


def _visible(points: Sequence[Point], places: Sequence[tuple[float, ...]]) -> float:
    """How clearly some component follows the knob: the largest rank correlation."""
    numbers = {place: float(number) for number, place in enumerate(sorted(set(places)))}
    along = np.array([numbers[place] for place in places])
    components = (np.array([point.values[name] for point in points]) for name in NAMES)
    # Rounded, so that the order does not hang on the last bit of a float.
    return round(max(abs(spearman(along, component)) for component in components), 6)
