"""The bundled suites hold what their descriptions promise."""

from __future__ import annotations

from collections import Counter
from typing import Any

from assay.suite.draw import Task, draw_tasks
from assay.suite.spec import load_suite
from assay.truth.families import families

RELU_ROWS = {"meap": 14, "exact_radius": 31, "corners": 22, "constant_box": 5}
PAPER_ROWS = {
    **RELU_ROWS,
    "contractive_cnn": 50,
    "paired_bias": 46,
    "linear_attention": 18,
    "softmax_attention": 17,
    "polynomial": 22,
}
# the values that Table 5 lists for the rows beyond the ReLU ones
PAPER_RANGES: dict[str, dict[str, set[Any]]] = {
    "contractive_cnn": {
        "depth": {2, 4, 6, 8, 10},
        "channels": {4, 8, 16, 32, 64},
        "contraction": {0.7, 0.8, 0.9, 0.95, 0.98},
        "gamma": {1e-4, 5e-4, 1e-3, 1e-2, 1e-1},
        "instability": {0.1, 0.25, 0.4, 0.55, 0.7},
        "epsilon": {0.02},
        "classes": {10},
    },
    "paired_bias": {
        "pairs": {2, 4, 8, 16, 32},
        "gamma": {1e-3, 0.05, 0.1, 0.5, 1.0},
        "delta": {0.005, 0.01, 0.025, 0.05, 0.1},
        "backbone": {1, 2, 3, 4},
        "size": {4, 8, 12, 16},
        "epsilon": {0.05},
        "classes": {10},
    },
    "linear_attention": {
        "tokens": {2, 4, 6},
        "width": {2, 4, 6, 8, 12},
        "value": {2, 4, 8},
        "epsilon": {0.02, 0.05, 0.08},
        "margin_factor": {1.1, 1.5, 2.0, 3.0},
        "classes": {10},
    },
    "softmax_attention": {
        "tokens": {2, 8, 16, 32},
        "width": {4, 8, 16},
        "alpha": {2.0, 5.0, 10.0},
        "epsilon": {5e-4, 1e-3, 1e-2},
        "margin_slack": {1.00001, 1.001, 1.05, 1.1, 2.0, 5.0},
        "value": {8},
        "classes": {50},
    },
    "polynomial": {
        "inputs": {50, 100},
        "hidden": {50, 100, 500},
        "degree": set(range(2, 23)),
    },
}
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


def paper_rows() -> tuple[list[Task], list[Task]]:
    """The tasks of the paper's rows, which come first, and the hard variants."""
    tasks = draw_tasks(load_suite("paper"))
    first_hard = next(
        t.entry for t in tasks if t.family == "contractive_cnn" and t.knobs.mixing == "hadamard"
    )
    return [t for t in tasks if t.entry < first_hard], [t for t in tasks if t.entry >= first_hard]


def test_paper_has_the_counts_of_the_papers_table_with_twins() -> None:
    rows, _ = paper_rows()
    assert Counter(task.family for task in rows) == PAPER_ROWS
    assert len(rows) == 225
    assert all(task.twins for task in rows)


def test_paper_covers_the_ranges_of_the_papers_table() -> None:
    rows, _ = paper_rows()
    for family, ranges in PAPER_RANGES.items():
        dumped = [task.knobs.model_dump() for task in rows if task.family == family]
        for knob, values in ranges.items():
            assert {knobs[knob] for knobs in dumped} == values, (family, knob)
    scales = {
        (t.knobs.gate_scale, t.knobs.noise_scale) for t in rows if t.family == "linear_attention"
    }
    assert scales == {(0.3, 0.1), (0.5, 0.2), (0.8, 0.3)}
    deltas = [t.knobs.delta for t in rows if t.family == "polynomial"]
    assert 1e-4 <= min(deltas) < 2e-4
    assert 4e-3 < max(deltas) <= 5e-3


def test_paper_repeats_the_entries_of_relu() -> None:
    relu, paper = load_suite("relu").spec.families, load_suite("paper").spec.families
    assert paper[: len(relu)] == relu


def test_paper_draws_every_network_anew() -> None:
    rows, hard = paper_rows()
    seeds = [(task.family, task.seed) for task in (*rows, *hard)]
    assert len(set(seeds)) == len(seeds)


def test_paper_has_a_hard_variant_wherever_the_rows_are_easy() -> None:
    _, hard = paper_rows()
    others = {"paired_bias", "planted", "trained"}
    assert {task.family for task in hard} == set(families()) - set(RELU_ROWS) - others


def test_quick_has_every_family_with_twins() -> None:
    tasks = draw_tasks(load_suite("quick"))
    assert {task.family for task in tasks} == {n for n, c in families().items() if c.twins}
    assert all(task.twins for task in tasks)


def test_soundness_has_every_planted_kind_placement_and_polarity_with_twins() -> None:
    tasks = draw_tasks(load_suite("soundness"))
    assert all(task.twins for task in tasks)
    assert len(tasks) <= 65
    drawn = [task.knobs.model_dump() for task in tasks if task.family == "planted"]
    kinds = Counter(knobs["kind"] for knobs in drawn)
    assert set(kinds) == {"soft_box", "rotated_box", "simplex", "tent", "xor_lock"}
    hidden = Counter(
        knobs["kind"]
        for knobs in drawn
        if knobs["charges"] == "capped" or knobs["kind"] == "xor_lock"
    )
    assert set(hidden) == set(kinds)
    assert min(hidden.values()) >= 7
    for kind in kinds:
        own = [knobs for knobs in drawn if knobs["kind"] == kind]
        assert {knobs["polarity"] for knobs in own} == {"raise", "lower"}
        placements = {knobs["placement"] for knobs in own}
        assert placements == {"inside", "face", "corner", "past_middle"}
