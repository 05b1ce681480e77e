"""Every number is drawn where it belongs, also those that no scale can hold."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

import pytest
from page_reader import EVIL
from small_explanations import explanation

from assay.difficulty.components import COMPONENTS, NAMES
from assay.difficulty.explanation import (
    Diagnosis,
    InteractionMap,
    Point,
    Separation,
    Trajectory,
    VerifierExplanation,
)
from assay.report.component_axis import ComponentAxis
from assay.report.difficulty_charts import auc_chart, interaction_chart
from assay.report.scales import LinearScale, LogScale, nice_step, number_text
from assay.report.trajectory_chart import trajectory_chart

SVG = "{http://www.w3.org/2000/svg}"
ORDINARY = {"M_min": 0.1, "G_IBP": 3.0, "U": 0.5, "A_tau": 2.0, "d_eff": 7.0}


def verifier(
    outcomes: Mapping[str, str], separations: tuple[Separation, ...] = (), name: str = "tool"
) -> VerifierExplanation:
    said = Diagnosis("nothing to say", (), ())
    words = {n: "unknown" if found == "unsolved" else "proved" for n, found in outcomes.items()}
    return VerifierExplanation(name, outcomes, words, {"a": 1.25}, separations, (), said)


def classes(svg: str) -> Counter[str]:
    found = ElementTree.fromstring(svg).iter()
    return Counter(word for e in found for word in e.get("class", "").split())


def titles(svg: str) -> list[str]:
    return [e.text or "" for e in ElementTree.fromstring(svg).iter(f"{SVG}title")]


def texts(svg: str) -> list[str]:
    return [_words(e) for e in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def _words(element: ElementTree.Element) -> str:
    """What is written, without what only a tooltip says."""
    parts = [(("" if e.tag == f"{SVG}title" else e.text or "") + (e.tail or "")) for e in element]
    return "".join([element.text or "", *parts])


def test_an_interval_that_holds_one_half_is_hollow() -> None:
    outcomes = {"a": "solved", "b": "unsolved"}
    telling = Separation("U", 0.9, 0.8, 1.0)
    silent = Separation("G_IBP", 0.6, 0.4, 0.8)
    nothing = Separation("A_tau", math.nan, math.nan, math.nan)
    wide = Separation("d_eff", 0.7, math.nan, math.nan)
    svg = auc_chart([verifier(outcomes, (telling, silent, nothing, wide))], 0.95)
    circles = [e.get("class") for e in ElementTree.fromstring(svg).iter(f"{SVG}circle")]
    assert sorted(c or "full" for c in circles) == ["full", "hollow", "hollow"]
    assert "tool, U: AUC 0.90, 0.80 to 1.00" in titles(svg)
    assert any("interval unknown" in text for text in texts(svg))
    assert "unknown" in texts(svg)
    assert classes(svg)["half"] == 1


def test_aucs_lie_where_the_axis_says() -> None:
    outcomes = {"a": "solved", "b": "unsolved"}
    rows = tuple(Separation("U", auc, auc, auc) for auc in (0.0,))
    other = tuple(Separation("U", auc, auc, auc) for auc in (1.0,))
    svg = auc_chart([verifier(outcomes, rows), verifier(outcomes, other)], 0.95)
    low, high = (float(e.get("cx", "")) for e in ElementTree.fromstring(svg).iter(f"{SVG}circle"))
    half = next(e for e in ElementTree.fromstring(svg).iter() if e.get("class") == "half")
    assert (low + high) / 2 == float(half.get("x1", ""))


@pytest.mark.parametrize(
    ("outcomes", "why"),
    [({"a": "solved"}, "nothing unsolved"), ({"a": "unsolved"}, "nothing solved")],
)
def test_where_there_is_no_auc_the_reason_is_written(outcomes: Mapping[str, str], why: str) -> None:
    svg = auc_chart([verifier(outcomes)], 0.95)
    assert texts(svg).count(why) == len(COMPONENTS)
    assert "<circle" not in svg


def test_a_map_counts_and_leaves_empty_cells_empty() -> None:
    edges = (0.0, 0.5, 1.0)
    found = InteractionMap(
        "U", "d_eff", edges, (0.0, 10.0, math.inf), ((0, 3), (0, 0)), ((2, 7), (0, 1))
    )
    svg = interaction_chart(found, "tool")
    cells = [text for text in texts(svg) if "/" in text]
    assert sorted(cells) == ["0/1", "0/2", "3/7"]
    assert "U 0.5 to 1, d_eff 0 to 10: 3 of 7 unsolved (43%)" in titles(svg)
    assert "U 0 to 0.5, d_eff 10 to ∞: no instance" in titles(svg)
    assert classes(svg)["cell"] == 3
    assert classes(svg)["empty"] == 2  # one of them explains the others
    heights = {
        "".join(e.itertext()): float(e.get("y", ""))
        for e in ElementTree.fromstring(svg).iter(f"{SVG}text")
    }
    assert heights["0/1"] < heights["3/7"]  # larger values lie higher


@pytest.mark.parametrize("edges", [(0.3, 0.3), (-math.inf, math.inf), (1e-9, 1e9)])
def test_a_map_of_one_bin(edges: tuple[float, float]) -> None:
    found = InteractionMap("M_min", "G_IBP", edges, edges, ((1,),), ((1,),))
    assert "1/1" in texts(interaction_chart(found, "tool"))


def trajectory(values: list[dict[str, float]], knob: str | None, steps: list[float | str]) -> str:
    points = {
        f"i{n}": Point(f"i{n}", "meap", ORDINARY | v, {"width": 3, "kind": "a<b"}, "robust")
        for n, v in enumerate(values)
    }
    tools = [
        verifier({"i0": "solved", "i1": "unsolved"}),
        verifier({"i0": "unsolved"}, name="another tool with a name that is quite long"),
    ]
    path = Trajectory("meap", knob, (*points, "without profile"), (*steps, 99))
    return trajectory_chart(path, points, tools)


def test_a_trajectory_has_a_column_an_instance_with_all_its_words() -> None:
    svg = trajectory([{}, {"G_IBP": math.inf}, {"M_min": -2e-7}], "width", [2, 4, 8])
    assert classes(svg)["hit"] == 3
    found = [title for title in titles(svg) if title.startswith("i1 ")]
    assert found == [
        "i1 (robust)\nwidth = 3, kind = a<b\n"
        "M_min = 0.1, G_IBP = ∞, U = 0.5, A_tau = 2, d_eff = 7\n"
        "tool: unsolved (unknown)\n"
        "another tool with a name that is quite long: left out (not run)"
    ]
    assert "M_min = -2e-7" in "".join(titles(svg))
    assert {"2", "4", "8", "∞", "≤ 0", "1/2", "1/1"} <= set(texts(svg))
    assert classes(svg)["mark"] == 2  # one path a panel: at its top, at its bottom


def shapes(svg: str, kind: str) -> list[str]:
    """The paths of a class, panel by panel."""
    return [e.get("d", "") for e in ElementTree.fromstring(svg).iter() if e.get("class") == kind]


def test_values_outside_the_scale_break_the_line() -> None:
    svg = trajectory([{}, {"G_IBP": math.inf}, {}], "width", [1, 2, 3])
    assert [shape.count("M") for shape in shapes(svg, "trend")] == [1, 2, 1, 1, 1]
    assert "trend" not in classes(trajectory([{}, {}], None, [1, 2]))


def test_the_line_joins_the_medians_of_a_knob() -> None:
    svg = trajectory([{"U": u} for u in (0.0, 0.5, 1.0, 1.0)], "width", [1, 1, 1, 2])
    line = re.findall(r"[ML][\d.]+ ([\d.]+)", shapes(svg, "trend")[2])
    dots = re.findall(r"M[\d.]+ ([\d.]+)", shapes(svg, "dots")[2])
    assert line == [dots[1], dots[3]]


def test_knobs_are_written_as_they_are() -> None:
    assert {"0.9999", "0.99999"} <= set(texts(trajectory([{}, {}], "f", [0.9999, 0.99999])))
    assert {"first", "a very long…"} <= set(
        texts(trajectory([{}, {}, {}], "order", ["first", "first", "a very long value"]))
    )


@pytest.mark.parametrize("count", [1, 2, 90, 3000])
def test_labels_do_not_meet(count: int) -> None:
    svg = trajectory([{}] * count, "seed", list(range(10_000, 10_000 + count)))
    ticks = sorted(float(x) for x in re.findall(r'<text x="([\d.]+)" [^>]*>\d{5}</text>', svg))
    assert ticks
    assert all(right - left >= 34 for left, right in pairwise(ticks))
    hits = [e for e in ElementTree.fromstring(svg).iter() if e.get("class") == "hit"]
    assert len(hits) == count


@pytest.mark.parametrize("component", COMPONENTS, ids=NAMES)
@pytest.mark.parametrize(
    "values",
    [
        [],
        [0.0],
        [math.inf],
        [-math.inf, math.inf],
        [math.nan, 1.0],
        [-3.0, -1e-9],
        [5e-324, 1.7e308],
        [1.0, 1.0 + 1e-15],
        [0.0, -1.0, 2.0, math.inf],
    ],
)
def test_axes_hold_every_value(component: object, values: list[float]) -> None:
    axis = ComponentAxis.over(component, values)  # type: ignore[arg-type]
    shares = [axis.share(value) for value in values if not math.isnan(value)]
    shares += [share for share, _ in axis.ticks()] + axis.borders()
    assert all(0 <= share <= 1 for share in shares)
    words = sorted(share for share, _ in axis.ticks())
    assert all(b - a > 0.09 for a, b in pairwise(words))
    finite = sorted(value for value in values if math.isfinite(value))
    places = [axis.share(value) for value in finite]
    assert places == sorted(places)


def test_the_edges_of_an_axis_are_not_part_of_its_scale() -> None:
    margin = next(c for c in COMPONENTS if c.name == "M_min")
    axis = ComponentAxis.over(margin, [-1.0, 0.0, 1e-9, 2.0, math.inf])
    assert [axis.place(v) for v in (-1.0, 0.0, 1e-9, math.inf)] == [
        *("below", "below", "inside", "above")
    ]
    low, high = axis.borders()
    assert (
        axis.share(0.0) < low <= axis.share(1e-9) < axis.share(2.0) <= high < axis.share(math.inf)
    )
    assert {"≤ 0", "∞"} <= {text for _, text in axis.ticks()}


def test_round_numbers() -> None:
    assert [nice_step(v) for v in (0.003, 0.5, 1.0, 1.1, 37.0)] == [0.005, 0.5, 1.0, 2.0, 50.0]
    assert [text for _, text in LinearScale.over([0.62]).ticks(4)] == ["0", "0.4", "0.8"]
    assert [text for _, text in LogScale.over([3.0, 2e6]).ticks(4)] == ["10", "1000", "1e5"]
    shown = [number_text(v) for v in (0.0, 2000.0, 123456.0, 2e-5, -0.125, math.inf, math.nan)]
    assert shown == ["0", "2000", "1.23e5", "2e-5", "-0.125", "∞", "unknown"]


@pytest.mark.parametrize("page", [True, False])
def test_hostile_names_stay_text(page: bool) -> None:
    evil = f"{EVIL}'&\"\x00\ud800 é雪"
    made = explanation(12, (evil, "b"), families=(evil,), prefix=evil)
    points = {point.instance: point for point in made.points}
    drawn = [
        auc_chart(made.verifiers, 0.9, page=page),
        interaction_chart(made.verifiers[0].maps[0], evil, page=page),
        trajectory_chart(made.trajectories[0], points, made.verifiers, page=page),
    ]
    for svg in drawn:
        tags = {e.tag.removeprefix(SVG) for e in ElementTree.fromstring(svg).iter()}
        assert not tags & {"script", "img", "a", "image", "foreignObject"}
        assert ("<style>" in svg) != page
        assert page or "var(--" not in svg
    assert "é雪" in drawn[2]
