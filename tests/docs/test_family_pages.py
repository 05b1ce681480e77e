"""Every family has a page that says what its code says, a sweep and a plot of that sweep."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from difficulty_plots import SymlogScale, figure
from difficulty_sweeps import SEEDS, SWEEPS

from assay.question.network import load
from assay.truth.constructor import Constructor
from assay.truth.families import families, family
from difficulty import EVIDENCE, IMAGES, LIMIT_CPU_S, as_text

DOCS = Path(__file__).parents[2] / "docs"
FAMILIES = sorted(families())
SECTIONS = ("Statement", "Proof", "What it stresses", "Twin", "Knobs", "Difficulty", "Try it")


def page(name: str) -> str:
    return (DOCS / "families" / f"{name}.md").read_text()


def index() -> str:
    return (DOCS / "families.md").read_text()


def knob_table(constructor: Constructor) -> str:
    """The table that a page must hold: the knobs as they are, in the constructor's own words."""
    lines = ["| knob | default | meaning |", "|---|---|---|"]
    for knob, field in constructor.knobs.model_fields.items():
        default = field.get_default(call_default_factory=True)
        shown = json.dumps(default).strip('"')
        meaning = (field.description or "").replace("|", "\\|")
        lines.append(f"| `{knob}` | {shown} | {meaning} |")
    return "\n".join(lines) + "\n"


def test_there_are_no_pages_and_sweeps_of_other_families() -> None:
    assert sorted(SWEEPS) == FAMILIES
    for folder, ending in ((DOCS / "families", "md"), (EVIDENCE, "json"), (IMAGES, "svg")):
        assert sorted(f.stem for f in folder.glob(f"*.{ending}")) == FAMILIES


@pytest.mark.parametrize("name", FAMILIES)
def test_a_page_has_its_sections_its_plot_and_an_example(name: str) -> None:
    text = page(name)
    assert text.startswith(f"# {name}\n")
    assert tuple(re.findall(r"^## (.*)$", text, re.MULTILINE)) == SECTIONS
    assert f"(../images/difficulty/{name}.svg)" in text
    assert "```console\n" in text


@pytest.mark.parametrize("name", FAMILIES)
def test_a_page_lists_the_knobs_as_they_are(name: str) -> None:
    table = knob_table(family(name))
    assert table in page(name), f"docs/families/{name}.md should hold\n{table}"


@pytest.mark.parametrize("name", FAMILIES)
def test_the_index_names_the_operators(name: str) -> None:
    (row,) = re.findall(rf"^\| \[{name}\]\(families/{name}\.md\) \|.*$", index(), re.MULTILINE)
    named = set(re.findall(r"`(\w+)`", row.split("|")[3]))
    constructor = family(name)
    for instance in constructor.make(constructor.knobs(), 0):
        assert load(instance.onnx, name).operators <= named


@pytest.mark.parametrize("name", FAMILIES)
def test_sweeps_name_knobs_that_there_are(name: str) -> None:
    for sweep in SWEEPS[name]:
        for value in sweep.values:
            family(name).knobs.model_validate(sweep.knobs(value))


@pytest.mark.parametrize("name", FAMILIES)
def test_what_was_measured_is_what_is_declared(name: str) -> None:
    text = (EVIDENCE / f"{name}.json").read_text()
    document = json.loads(text)
    assert as_text(document) == text
    assert document["limit_cpu_s"] == LIMIT_CPU_S
    declared = [{"knob": s.knob, "fixed": s.fixed, "values": s.values} for s in SWEEPS[name]]
    measured = [{key: s[key] for key in ("knob", "fixed", "values")} for s in document["sweeps"]]
    assert measured == json.loads(json.dumps(declared))
    for sweep in document["sweeps"]:
        for number in range(len(sweep["values"])):
            answers = [row["answer"] for row in sweep["rows"] if row["value"] == number]
            assert answers.count("robust") >= len(SEEDS) <= answers.count("violated")


@pytest.mark.parametrize("name", FAMILIES)
def test_a_plot_shows_what_was_measured(name: str) -> None:
    document = json.loads((EVIDENCE / f"{name}.json").read_text())
    drawn = figure(document)
    assert (IMAGES / f"{name}.svg").read_text() == drawn, "run benchmarks/difficulty.py draw"


@pytest.mark.parametrize("values", [[0.01, -5e18], [1e-9, 0.05, -0.1], [0.3, 0.4], [-2.0, -3.0]])
def test_ticks_lie_on_the_axis_and_apart(values: list[float]) -> None:
    scale = SymlogScale.over(values)
    shares = sorted(share for share, _ in scale.ticks())
    assert len(shares) >= 2
    assert shares[0] >= 0
    assert shares[-1] <= 1
    assert all(b - a > 0.05 for a, b in pairwise(shares))
    places = [scale.share(value) for value in sorted(values)]
    assert places == sorted(places)
