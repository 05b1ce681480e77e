"""The bundled suites hold what their descriptions promise."""

from __future__ import annotations

from collections import Counter

from assay.suite.draw import draw_tasks
from assay.suite.spec import load_suite
from assay.truth.families import families

RELU_ROWS = {"meap": 14, "exact_radius": 31, "corners": 22, "constant_box": 5}
FRACTIONS = {0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999}


def test_relu_has_the_counts_of_the_papers_table() -> None:
    tasks = draw_tasks(load_suite("relu"))
    assert Counter(task.family for task in tasks) == RELU_ROWS
    assert all(task.twins for task in tasks)


def test_relu_draws_every_network_anew() -> None:
    tasks = draw_tasks(load_suite("relu"))
    seeds = [(task.family, task.seed) for task in tasks]
    assert len(set(seeds)) == len(seeds)


def test_relu_covers_the_ranges_of_the_papers_table() -> None:
    seen: dict[str, dict[str, set[object]]] = {}
    for task in draw_tasks(load_suite("relu")):
        for knob, value in task.knobs.model_dump().items():
            seen.setdefault(task.family, {}).setdefault(knob, set()).add(value)
    assert seen["meap"]["pairs"] == {2, 16, 32, 128}
    assert seen["meap"]["epsilon"] == {0.05, 0.1, 0.25, 0.5}
    assert seen["meap"]["gamma"] == {1e-5, 1e-4, 1e-3, 1, 100}
    assert seen["corners"]["hinges"] == {16, 256, 1024, 4096}
    assert seen["corners"]["hinge_l1"] == {1e-4, 1e-2, 1, 1e2, 1e4, 1e6}
    assert seen["constant_box"]["depth"] == {1, 5, 10, 20, 50}
    assert {f for (f,) in seen["exact_radius"]["fractions"]} == FRACTIONS
    widths = {width for hidden in seen["exact_radius"]["hidden"] for width in hidden}
    assert widths == {5, 10, 20, 50, 100}
    small = {
        (task.knobs.hidden, task.knobs.fractions[0])
        for task in draw_tasks(load_suite("relu"))
        if task.family == "exact_radius"
    }
    assert small >= {((w, w), f) for w in (5, 10, 20) for f in FRACTIONS}


def test_quick_has_every_family_with_twins() -> None:
    tasks = draw_tasks(load_suite("quick"))
    assert {task.family for task in tasks} == set(families())
    assert all(task.twins for task in tasks)
