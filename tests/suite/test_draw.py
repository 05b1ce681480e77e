"""Drawing tasks: stable, without repetition, inside the ranges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.suite.draw import Task, _choose, _draw_value, draw_tasks
from assay.suite.spec import Range, parse_suite

pytestmark = pytest.mark.usefixtures("tiny")


def tasks(entry: str, seed: int | None = None) -> list[Task]:
    return draw_tasks(
        parse_suite(f"name: a\nfamilies:\n  - {{family: tiny, {entry}}}\n", "a"), seed
    )


def values(drawn: list[Task], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(getattr(task.knobs, name) for name in names) for task in drawn]


def test_the_whole_grid_in_order() -> None:
    drawn = tasks("grid: {level: [1, 2], steps: [3, 4]}")
    assert values(drawn, "level", "steps") == [(1, 3), (1, 4), (2, 3), (2, 4)]
    assert [task.stem for task in drawn] == [f"tiny-00-00{i}" for i in range(4)]
    assert len({task.seed for task in drawn}) == 4


def test_more_draws_cycle_the_grid_with_new_seeds() -> None:
    drawn = tasks("count: 5, grid: {level: [1, 2]}")
    assert [v for (v,) in values(drawn, "level")] == [1, 2, 1, 2, 1]
    assert len({task.seed for task in drawn}) == 5


def test_fewer_draws_do_not_repeat_and_depend_on_the_seed() -> None:
    grid = "count: 4, grid: {steps: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}"
    picks = [tuple(values(tasks(grid, seed), "steps")) for seed in range(20)]
    assert all(len(set(pick)) == 4 and list(pick) == sorted(pick) for pick in picks)
    assert len(set(picks)) > 10
    assert tasks(grid, 7) == tasks(grid, 7)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.data())
def test_fewer_draws_take_every_value_about_equally_often(
    sizes: list[int], data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, math.prod(sizes)))
    seed = data.draw(st.integers(0, 1000))
    chosen = _choose(sizes, count, seed, 0)
    assert len(set(chosen)) == count
    for side, size in zip(np.unravel_index(chosen, sizes), sizes, strict=True):
        times = np.bincount(side, minlength=size)
        assert times.max() - times.min() <= 2
        if count >= 2 * size:
            assert times.min() >= 1


def test_listed_seeds_multiply_the_grid() -> None:
    drawn = tasks("seeds: [11, 12], grid: {level: [1, 2]}")
    assert [task.seed for task in drawn] == [11, 11, 12, 12]
    assert drawn[0].replacements
    assert not {11, 12} & set(drawn[0].replacements)


def test_seeds_are_stable_across_releases() -> None:
    """Changing this changes every benchmark ever published: it must not happen unnoticed."""
    drawn = tasks("count: 2, range: {level: {low: 1e-3, high: 1, log: true}}", 1)
    assert [task.seed for task in drawn] == [1466275533, 1254365892]
    assert values(drawn, "level") == [(0.0164303,), (0.00506653,)]


@given(
    low=st.integers(1, 1000), width=st.integers(0, 1000), u=st.floats(0, 1, exclude_max=True),
    log=st.booleans(), whole=st.booleans(),
)  # fmt: skip
def test_drawn_values_stay_in_range(low: int, width: int, u: float, log: bool, whole: bool) -> None:
    ends = (low, low + width) if whole else (low / 7, (low + width) / 7)
    value = _draw_value(Range(low=ends[0], high=ends[1], log=log), u)
    assert ends[0] <= value <= ends[1]
    assert isinstance(value, int) == whole


def test_a_logarithmic_range_is_even_in_the_logarithm() -> None:
    drawn = tasks("count: 400, range: {level: {low: 1e-4, high: 1, log: true}}")
    logs = sorted(math.log10(v) for (v,) in values(drawn, "level"))
    assert abs(logs[200] + 2) < 0.3
    assert -4 <= logs[0] < -3.9
    assert -0.1 < logs[-1] <= 0
