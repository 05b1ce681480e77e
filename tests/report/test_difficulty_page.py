"""The page of an explanation stands alone, stays small, and answers to mouse and keyboard."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from page_reader import CHROMIUM, EVIL, Page, in_browser
from small_explanations import PAIRS, explanation

from assay.difficulty.explanation import Explanation
from assay.errors import BadInput
from assay.report import explained_runs
from assay.report.difficulty_page import write_explanation, write_explanation_charts
from assay.report.explained_runs import ExplainedRuns
from assay.report.page import write_report

FIVE = ("alpha", "beta", "gamma", "delta", "epsilon")


def page(found: Explanation, tmp_path: Path) -> Page:
    write_explanation(found, tmp_path / "why.html")
    return Page(tmp_path / "why.html")


def test_everything_is_on_the_page(tmp_path: Path) -> None:
    found = explanation()
    shown = page(found, tmp_path)
    assert shown.count("diagnosis") == 3
    assert shown.count("why-map") == 3 * len(PAIRS)
    assert shown.count("why-path") == 2
    columns = [(a["data-points"] or "").split() for _, a in shown.elements if "data-points" in a]
    assert sorted(int(n) for numbers in columns for n in numbers) == list(range(60))
    assert [words[0] for words in shown.data] == [point.instance for point in found.points]
    assert found.verifiers[0].diagnosis.sentence in shown.text
    assert "9 of 10 timeouts have G_IBP above 2e3" in shown.text
    assert "1 instance has no profile and cannot be explained: odd-operator." in shown.text
    assert "95% interval" in shown.text
    assert shown.text.count("How to read it:") == 3
    visible = [
        a for _, a in shown.elements if "why-map" in (a.get("class") or "") and "hidden" not in a
    ]
    assert [(a["data-verifier"], a["data-pair"]) for a in visible] == [("0", "0")]


def test_nothing_is_loaded_and_only_our_script_runs(tmp_path: Path) -> None:
    evil = f"{EVIL}'\"\x00\ud800"
    hostile = explanation(20, (evil, "b"), families=(evil,), benchmark=evil, prefix=evil)
    shown = page(replace(hostile, without_profile=(evil,)), tmp_path)
    tags = Counter(tag for tag, _ in shown.elements)
    assert (tags["script"], tags["link"], tags["img"], tags["iframe"]) == (2, 0, 0, 0)
    assert not any(key == "src" or key.startswith("on") for _, a in shown.elements for key in a)
    policy = next(a["content"] for _, a in shown.elements if "http-equiv" in a)
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "document.title" in shown.text  # as words


@pytest.mark.parametrize("knobs", [1, 12])
def test_a_thousand_instances_and_five_verifiers_stay_small(knobs: int, tmp_path: Path) -> None:
    found = explanation(1000, FIVE)
    along = tuple(replace(t, knob=f"knob{k}") for t in found.trajectories for k in range(knobs))
    shown = page(replace(found, trajectories=along), tmp_path)
    assert (tmp_path / "why.html").stat().st_size < 2_000_000
    titles = [f"{family} along knob0" for family in ("meap", "corners")]
    assert all(title in shown.text for title in titles)
    assert ("14 more trajectories are not on it" in shown.text) == (knobs == 12)


@pytest.mark.parametrize(
    "found",
    [
        explanation(1, ("alone",)),
        explanation(5, ("alone",), unsolved=False),
        explanation(0, ()),
        replace(explanation(3, ()), without_profile=()),
    ],
    ids=["one instance", "nothing unsolved", "no points", "no verifiers"],
)
def test_small_explanations(found: Explanation, tmp_path: Path) -> None:
    shown = page(found, tmp_path)
    assert shown.count("diagnosis") == len(found.verifiers)
    assert ("nothing to draw" in shown.text) == (not found.points)
    assert ("nothing unsolved" in shown.text) == any(
        not v.count("unsolved") for v in found.verifiers
    )
    write_explanation_charts(found, tmp_path / "charts")


def test_charts_for_papers(tmp_path: Path) -> None:
    found = explanation(12, ("ab", "a b"))
    written = write_explanation_charts(found, tmp_path / "charts")
    names = [path.name for path in written]
    assert names[:2] == ["auc.svg", "map-ab-U-d_eff.svg"]
    assert "map-a_b-M_min-G_IBP.svg" in names
    assert names[-2:] == ["trajectory-meap-width.svg", "trajectory-corners.svg"]
    assert len(names) == 1 + 2 * len(PAIRS) + 2
    assert all("var(--" not in path.read_text() for path in written)
    assert write_explanation_charts(found, tmp_path / "charts") == written


def test_file_names_are_safe_and_different(tmp_path: Path) -> None:
    found = explanation(8, ("Tool/..", "tool?..", "x" * 300), families=("../up",))
    written = write_explanation_charts(found, tmp_path / "charts")
    assert all(path.parent == tmp_path / "charts" and path.is_file() for path in written)
    assert len({path.name.lower() for path in written}) == len(written)
    assert "map-tool_..-U-d_eff-2.svg" in {path.name for path in written}


def test_charts_as_png(tmp_path: Path) -> None:
    if not any(Path("/usr/share/fonts").rglob("*.ttf")):
        pytest.skip("needs a font")
    found = explanation(12, ("one",))
    few = replace(found, verifiers=(replace(found.verifiers[0], maps=found.verifiers[0].maps[:1]),))
    written = write_explanation_charts(few, tmp_path / "charts", with_png=True)
    pictures = [path for path in written if path.suffix == ".png"]
    assert len(pictures) == 4
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)


def test_only_files_of_its_own_are_written_over(tmp_path: Path) -> None:
    found = explanation(6, ("one",))
    for _ in range(2):
        write_explanation(found, tmp_path / "why.html")
    (tmp_path / "mine.html").write_text("mine")
    with pytest.raises(BadInput, match="was not written by Assay"):
        write_explanation(found, tmp_path / "mine.html")
    (tmp_path / "map-one-U-d_eff.svg").write_text("<svg/>")
    with pytest.raises(BadInput, match=r"map-one-U-d_eff\.svg: exists"):
        write_explanation_charts(found, tmp_path)
    assert not (tmp_path / "auc.svg").exists()
    with pytest.raises(BadInput, match="cannot write"):
        write_explanation(found, tmp_path / "mine.html" / "why.html")


Explain = Callable[[Path, Sequence[Path]], Explanation]


def with_explained_runs(monkeypatch: pytest.MonkeyPatch, explain: Explain) -> None:
    def explain_runs(
        benchmark: Path, runs: Sequence[Path], *, seed: int, resamples: int
    ) -> ExplainedRuns:
        assert (seed, resamples) == (0, 1000)
        return ExplainedRuns(explain(benchmark, runs), "")

    monkeypatch.setattr(explained_runs, "explain_runs", explain_runs)


def test_a_report_explains_where_there_is_a_profile(
    first: Path,
    bench: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[Path, Sequence[Path]]] = []

    def explain(benchmark: Path, runs: Sequence[Path]) -> Explanation:
        asked.append((benchmark, runs))
        return explanation(9, ("liar", "other", "good"))

    with_explained_runs(monkeypatch, explain)
    assert "Why tools" not in Page(write_report([first], None, tmp_path / "r.html").path).text
    assert not asked
    (bench / "profile.csv").write_text("instance\na-robust\n")
    shown = Page(write_report([first], None, tmp_path / "r.html").path)
    assert asked == [(bench, (first,))]
    assert "Why tools leave instances unsolved" in shown.text
    assert shown.count("diagnosis") == 2
    named = shown.text.index("good", shown.text.index("Why tools"))
    assert named < shown.text.index("liar", shown.text.index("Why tools"))  # as everywhere else
    assert Counter(tag for tag, _ in shown.elements)["script"] == 3
    if CHROMIUM:
        after = in_browser(tmp_path / "r.html", tmp_path / "profile")
        assert len(re.findall('<tr class="row"', after)) == 10
        assert len(re.findall(r'<div class="why-map scroll"[^>]*\d">', after)) == 1


def test_a_report_reads_the_profile_itself(first: Path, bench: Path, tmp_path: Path) -> None:
    rows = ["instance,status,M_min,G_IBP,U,A_tau,d_eff", "foreign,no network,,,,,"]
    rows += [f"{name},ok,0.5,inf,0.1,2,3" for name in ("a-robust", "a-violated", "b-robust")]
    (bench / "profile.csv").write_text("\n".join(rows) + "\n")
    shown = Page(write_report([first], None, tmp_path / "r.html", only={"good"}).path)
    assert shown.count("diagnosis") == 1
    assert (
        "2 instances have no profile and cannot be explained: edge-violated, foreign" in shown.text
    )
    assert "too few timeouts (1) to say why" in shown.text


def test_a_report_says_why_a_profile_is_of_no_use(first: Path, bench: Path, tmp_path: Path) -> None:
    (bench / "profile.csv").write_text("instance\n<b>\n")
    shown = Page(write_report([first], None, tmp_path / "r.html").path)
    assert f"cannot be used: {bench / 'profile.csv'}:1: has no column" in shown.text


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_a_browser_runs_our_script_and_nothing_else(tmp_path: Path) -> None:
    page(explanation(12, (EVIL, "b"), families=(EVIL, "meap")), tmp_path)
    shown = in_browser(tmp_path / "why.html", tmp_path / "profile")
    assert "<title>Assay explanation: quick</title>" in shown
    assert len(re.findall(r'class="why-map scroll"[^>]*\d">', shown)) == 1


# The page's policy lets no other script run; this copy goes without it, to press keys.
ACTIONS = """
const press = (box, key) => box.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const said = [];
const note = () => said.push(document.getElementById("readout").textContent);
document.querySelectorAll(".show-map")[1].click();
const map = [...document.querySelectorAll(".why-map")].filter((box) => !box.hidden);
said.push(map.length, map[0].querySelector("svg").getAttribute("aria-label"));
const path = document.querySelector(".why-path");
path.focus(); note();
press(path, "ArrowRight"); note();
press(path, "End"); press(path, "ArrowRight"); note();
press(path, "Home"); press(path, "ArrowRight");
const here = path.querySelector(".column").getBoundingClientRect();
const over = { bubbles: true, clientX: here.left + 1.5 * here.width };
path.dispatchEvent(new PointerEvent("pointermove", over)); note();
const choice = document.getElementById("path-choice");
choice.value = "1"; choice.dispatchEvent(new Event("change"));
said.push([...document.querySelectorAll(".why-path")].map((box) => box.hidden));
document.body.dataset.said = said.join("|");
"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_mouse_and_keyboard_show_an_instance(tmp_path: Path) -> None:
    found = explanation(12)
    page(found, tmp_path)
    text = (tmp_path / "why.html").read_text()
    open_to_scripts = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    acted = tmp_path / "acted.html"
    acted.write_text(open_to_scripts.replace("</body>", f"<script>{ACTIONS}</script></body>"))
    shown = in_browser(acted, tmp_path / "profile")
    match = re.search('data-said="([^"]*)"', shown)
    assert match
    count, label, first_, second, last, pointed, hidden = match[1].split("|")
    assert (count, label) == ("1", "marabou: share left unsolved over G_IBP and U")
    names = found.trajectories[0].instances
    for words, name in ((first_, names[0]), (second, names[1]), (last, names[-1])):
        assert words.startswith(name)
    assert pointed.startswith(names[2])
    assert "ab-crown: solved" in first_
    assert hidden == "true,false"
