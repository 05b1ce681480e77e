"""The page explains itself: its product, its words, its order; at any width, without colour."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import pytest
from page_reader import CHROMIUM, Page, in_browser
from small_runs import benchmark, result, run, truth

from assay.judge.score_table import ALL_FAMILIES
from assay.judge.vnncomp_score import BenchmarkScore, Standing
from assay.report.charts import cactus
from assay.report.glossary import GLOSSARY
from assay.report.page import ranked_above, write_report
from assay.report.wording import OUTCOME_MEANING
from assay.truth.record import Truth

FAMILIES = ("attention", "corners", "meap", "residual", "smooth", "trained", "zebra")


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Seven families; the tool is wrong about the last of the alphabet, and bogus in one before."""
    known: dict[str, Truth | None] = {f"{f}-0": truth("violated", family=f) for f in FAMILIES}
    known["meap-1"] = truth("robust", family="meap")
    known["edge"] = truth("violated", "real", "meap")
    bench = benchmark(tmp_path / "bench", known)
    results = []
    for name in known:
        verdict = "robust" if name == "zebra-0" else "violated"
        witness = {"witness": ("0.5",), "witness_class": "exact"} if verdict == "violated" else {}
        results.append(result(name, verdict, "a-tool-with-a-rather-long-name", **witness))
        results.append(result(name, None, "slow", ending="timeout", wall_s=20.0))
    return run(tmp_path / "run", bench, results)


def test_families_with_wrong_answers_come_first(many: Path, tmp_path: Path) -> None:
    text = write_report([many], None, tmp_path / "r.html").path.read_text()
    matrix = text[text.index('<div class="matrix">') :]
    captions = re.findall(r"<caption>([^<]+)</caption>", matrix)[: len(FAMILIES) + 1]
    rest = [f for f in FAMILIES if f not in ("zebra", "meap")]
    assert captions == ["all families", "zebra", "meap", *rest]


def test_the_headline_says_what_this_is(many: Path, tmp_path: Path) -> None:
    text = write_report([many], None, tmp_path / "r.html").path.read_text()
    assert "<h1>Assay report: bench</h1>" in text
    before = text[: text.index("<h1>")]
    assert "tests neural-network verifiers on questions whose answers are proven" in before


def test_coined_words_are_explained_where_they_stand_and_in_a_glossary(
    many: Path, tmp_path: Path
) -> None:
    page = Page(write_report([many], None, tmp_path / "r.html").path)
    terms = [found for _, found in page.elements if "term" in (found.get("class") or "").split()]
    assert terms
    assert all(found.get("tabindex") == "0" for found in terms)
    assert page.count("tip") == len(terms)
    glossary = page.text[page.text.index("Words on this page") :]
    for word in ("guard", "knife-edge", "bogus", "unwitnessed", "PAR2", "hidden", "twin"):
        assert GLOSSARY[word] in glossary
    for word in ("guard", "PAR2", "unsound", "bogus"):
        explained = page.text.index(f"{word}: {GLOSSARY[word]}")
        assert explained < page.text.index("Words on this page")
    assert set(OUTCOME_MEANING) <= set(GLOSSARY)
    assert "(unsolved = 2 × limit)" in page.text
    assert "(only real arithmetic decides them, not float32)" in page.text


def test_the_rank_of_a_wrong_tool_is_explained() -> None:
    def standing(rank: int, name: str, score: float, wrong: int) -> Standing:
        return Standing(rank, name, score, (BenchmarkScore("f", 0, score, 3, wrong),))

    above = (standing(1, "wrong", 200, 2), standing(2, "right", 100, 0))
    assert ranked_above(above) == (
        "So wrong, with 2 wrong, stands above right, with none: it scored more in other families."
    )
    assert ranked_above(above[::-1][:1]) == ""


def test_the_table_of_vnncomp_says_how_it_ranks(many: Path, tmp_path: Path) -> None:
    page = Page(write_report([many], None, tmp_path / "r.html").path)
    assert "It adds points: 10 for a right answer, −150 for a wrong one." in page.text
    assert "put soundness first instead" in page.text
    assert ALL_FAMILIES == "all"


def test_tools_differ_in_shape_not_only_in_colour() -> None:
    drawn = cactus({"a": [1.0, 2.0], "b": [1.0, 3.0], "c": [2.0]}, page=True)
    marks = re.findall(r'class="marks" stroke-dasharray="none" d="M[\d. ]+([a-z][^M"]*)', drawn)
    assert len(set(marks)) == 3
    assert len(
        set(re.findall(r'<g class="curve"[^>]*?( stroke-dasharray="[^"]*")?><title>', drawn))
    )


LAYOUT = """
const late = (where) => [...document.querySelectorAll(where)].filter((found) => {
  const box = found.getBoundingClientRect();
  return box.width && (box.right > innerWidth + 1 || box.left < -1);
}).length;
const shown = [...document.querySelectorAll(".charts .chart")].filter((svg) => svg.clientWidth);
const scale = Math.min(...shown.map((svg) => svg.clientWidth / svg.viewBox.baseVal.width));
document.body.dataset.said = [innerWidth, document.documentElement.scrollWidth,
  late("#families .chip, #verdicts .chip, .finding .chip"),
  document.querySelectorAll("#families .chip.o-unsound").length, (12 * scale).toFixed(1)].join("|");
"""


# No window of Chromium is as narrow as a phone, but a frame is.
FRAME = """<!doctype html><body><iframe style="width:{width}px;height:2000px;border:0"
 onload="document.body.dataset.said = this.contentDocument.body.dataset.said"
 srcdoc="{inside}"></iframe></body>"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.parametrize("width", [390, 1280])
def test_no_wrong_answer_is_off_screen(many: Path, tmp_path: Path, width: int) -> None:
    text = write_report([many], None, tmp_path / "r.html").path.read_text()
    free = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    page = tmp_path / "measured.html"
    inside = escape(free.replace("</body>", f"<script>{LAYOUT}</script></body>"))
    page.write_text(FRAME.format(width=width, inside=inside))
    shown = in_browser(page, tmp_path / "profile")
    said = re.search('<body data-said="([^"]*)"', shown)
    assert said
    inner, across, late, chips, letters = (float(part) for part in said[1].split("|"))
    assert inner == width
    assert across <= width
    assert (late, chips >= 2) == (0, True)
    assert letters >= 9  # pixels of a chart's smallest text
