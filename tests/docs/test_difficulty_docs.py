"""docs/difficulty.md says what the code says: its columns, its operators, its toy's numbers."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from difficulty_pictures import COARSE_TAU
from difficulty_toy import BOX, LAYERS, VIOLATION, margin_pieces, profiled, units

from assay.difficulty.components import NAMES
from assay.difficulty.gradients import mass_below_minimum
from assay.difficulty.profile import Profile
from assay.difficulty.profile_rows import COLUMNS
from assay.difficulty.search import STAGES
from assay.difficulty.settings import Settings
from assay.difficulty.slope_variation import SLOPE_RULES
from assay.question.asked import read_question
from assay.question.graph import mlp

PAGE = (Path(__file__).parents[2] / "docs" / "difficulty.md").read_text()


@pytest.fixture(scope="module")
def toy() -> Profile:
    return profiled()


def section(title: str) -> str:
    (found,) = re.findall(rf"^##+ {re.escape(title)}.*?\n(.*?)(?=^##|\Z)", PAGE, re.M | re.S)
    return str(found)


def first_cells(text: str) -> list[str]:
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


def test_the_page_lists_the_columns_as_they_are() -> None:
    assert tuple(first_cells(section("Every column of profile.csv"))) == COLUMNS


def test_columns_with_a_guarantee_are_columns() -> None:
    text = section("How far each number can be trusted")
    named = re.findall(r"`([^`]+)`", "".join(re.findall(r"^\| (.*?) \|", text, re.MULTILINE)))
    assert set(named) <= set(COLUMNS)


def test_every_operator_with_a_slope_is_in_the_table() -> None:
    text = section("U, the unstable fraction")
    missing = [name for name in SLOPE_RULES if not re.search(rf"\b{name}\b", text)]
    assert missing == []


def test_the_stages_of_the_search_come_in_their_order() -> None:
    text = section("M_min, the minimum margin")
    assert tuple(re.findall(r"^\d\. `([^`]+)`:", text, re.MULTILINE)) == STAGES


def test_every_component_has_its_section_and_picture() -> None:
    pictures = re.findall(r"\(images/difficulty-components/(\w+)\.svg\)", PAGE)
    assert tuple(pictures) == NAMES
    for name in NAMES:
        assert re.search(rf"^### {name}, .*\(Eq\. \d+\)$", PAGE, re.MULTILINE)


def test_the_defaults_are_those_of_the_code() -> None:
    defaults = Settings()
    assert f"{defaults.samples:,} points (`--samples`)" in PAGE
    assert f"U and A_tau, {defaults.tau:g} unless told" in PAGE
    assert f"`--growth` times ({defaults.growth})" in PAGE
    assert f"{mass_below_minimum(defaults.samples):.1%}".replace("%", " %") in PAGE


def test_the_network_of_the_page_is_the_one_of_the_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```python\n(from fractions.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    exec(block, {})  # noqa: S102
    assert Path("toy.onnx").read_bytes() == mlp(list(LAYERS))
    _, specification = read_question(Path("toy.onnx"), Path("toy.vnnlib"))
    assert [(case.box, case.violation) for case in specification.cases] == [(BOX, VIOLATION)]


def test_the_table_of_the_toy_holds_its_profile(toy: Profile) -> None:
    cells = (
        f"{toy.minimum:.3f}",
        f"{toy.interval_gap:.2f}",
        f"{toy.interval.unstable}/{toy.interval.units}",
        f"log {toy.regions.distinct}",
        f"{toy.dimension.value:.2f}",
        f"{toy.lowest:.3f}",
        f"{toy.interval.floor:.3f}",
        f"{toy.linear_floor:.3f}",
        f"{toy.steepest:.3f}",
    )
    assert f"\n| {' | '.join(cells).replace('-', '−')} |\n" in PAGE


def test_captions_say_what_the_pictures_show(toy: Profile) -> None:
    pieces = margin_pieces()
    least = min(float(piece.at(piece.corners).min()) for piece in pieces)
    assert toy.lowest == pytest.approx(least, abs=1e-12)
    states = [unit.state for unit in units(around=2.0)]
    assert [states.count(s) for s in ("unstable", "by intervals only", "stable")] == [6, 1, 2]
    coarse = profiled(COARSE_TAU).regions
    text = " ".join(PAGE.split())
    for said in (
        f"It is affine on {len(pieces)} polygons of the box",
        f"The lowest of 1,000 samples has a margin of {toy.minimum:.3f}.",
        f"in its kink, at {toy.lowest:.3f}, which is the true minimum here.",
        f"promise −{-toy.interval.floor:.3f}, so they lose {toy.interval_gap:.1f} times M_min",
        f"promise −{-toy.linear_floor:.3f} and lose {toy.linear_gap:.1f} times M_min",
        f"U = {toy.interval.unstable}/{toy.interval.units}.",
        f"{toy.regions.distinct} of the {len(pieces)} were met",
        f"At tau {COARSE_TAU:g} similar slopes fall together: {coarse.distinct} cells.",
        f"The mean over the samples is {toy.dimension.value:.2f}.",
    ):
        assert said in text, said
    assert toy.regions.unseen == 0
    assert math.log(toy.regions.distinct) == toy.regions.value
