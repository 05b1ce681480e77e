"""The page says what the score says, holds whatever names and logs hold, and stays small."""

from __future__ import annotations

import json
import re
import tracemalloc
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from page_reader import CHROMIUM, EVIL, Page, in_browser
from small_runs import answers, benchmark, result, run, truth

from assay.errors import BadInput
from assay.judge.scored_runs import open_runs, score_runs
from assay.report.banner import banners
from assay.report.charts import cactus
from assay.report.details import LOG_TAIL, details, margin_text
from assay.report.material import gather
from assay.report.page import write_charts, write_report
from assay.report.png import png
from assay.report.scales import LogScale
from assay.suite.folder import BenchmarkFolder
from assay.truth.record import Truth


def test_soundness_comes_first(first: Path) -> None:
    found = banners(gather([first], None))
    assert [(b.verifier, b.level, b.headline) for b in found] == [
        ("liar", "unsound", "Unsound"),
        ("good", "sound", "No wrong answer"),
    ]
    assert [f.instance for f in found[0].examples] == ["a-violated"]
    assert "answered against real arithmetic" in found[1].aside


def test_the_page_agrees_with_the_score(first: Path, tmp_path: Path) -> None:
    report = write_report([first], None, tmp_path / "out" / "report.html")
    data = Page(report.path).data
    scores = score_runs([first], None, "2026")
    words, task, instance = data["words"], data["task"], data["instance"]
    shown = Counter(
        (words["verifier"][v], words["group"][instance["group"][i]], words["outcome"][o])
        for v, i, o in zip(task["verifier"], task["instance"], task["outcome"], strict=True)
    )
    scored = {
        (row.verifier, row.group, outcome): n
        for row in scores.rows
        if row.family == "all" and row.verifier in scores.verifiers
        for outcome, n in row.counts.items()
    }
    assert shown == scored
    assert (report.tasks, report.unsound) == (10, len(scores.unsound))


def test_a_task_can_be_looked_into(first: Path, tmp_path: Path) -> None:
    checked = {"a-violated": "s VERIFIED violated"}
    page = Page(write_report([first], None, tmp_path / "r.html", checked=checked).path)
    data = page.data
    number = data["instance"]["name"].index("a-violated")
    row = data["task"]["outcome"].index(data["words"]["outcome"].index("falsified"))
    assert data["details"][str(row)] == {
        "command": "/opt/good a-violated",
        "witness": "0.5",
        "log": "hello",
    }
    question = data["questions"][str(number)]
    assert question["property"].splitlines()[1:] == ["(assert (<= X_0 1))", "(assert (<= Y_1 Y_0))"]
    assert question["network"].startswith("1 inputs, 2 outputs")
    assert (question["truthWitness"], question["parameters"]) == ("0.25", "width = 3")
    assert data["instance"]["margin"][number] == "-1/7"
    assert data["checked"] == {str(number): "s VERIFIED violated"}
    assert data["runs"] == ["./run"]
    assert "1 labels proved again" in page.text


def test_nothing_is_loaded_and_only_our_script_runs(first: Path, tmp_path: Path) -> None:
    page = Page(write_report([first], None, tmp_path / "r.html").path)
    tags = Counter(tag for tag, _ in page.elements)
    assert (tags["script"], tags["link"], tags["img"], tags["iframe"]) == (2, 0, 0, 0)
    assert not any("src" in attributes for _, attributes in page.elements)
    policy = next(a["content"] for _, a in page.elements if "http-equiv" in a)
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    name = "a'\"<b onclick=x>&amp;"
    bench = benchmark(tmp_path / "bench", {"i": truth("violated"), name: truth("robust")})
    results = [
        result("i", "robust", f"v{EVIL.replace('/', '')}", detail=EVIL, log="logs/odd.log"),
        result(name, "violated", "w", witness=(EVIL,), witness_class="missing", version=EVIL),
        result("i", None, "\ud800\x00", ending="garbled", log="../../etc/passwd"),
    ]
    path = run(tmp_path / "run", bench, results)
    (path / "logs").mkdir()
    (path / "logs/odd.log").write_text(f"\x1b[31m{EVIL}\x1b[0m\n")
    return path


def test_hostile_names_and_logs_stay_text(hostile: Path, tmp_path: Path) -> None:
    report = write_report([hostile], None, tmp_path / "r.html", charts=tmp_path / "charts")
    page = Page(report.path)
    assert Counter(tag for tag, _ in page.elements)["script"] == 2
    assert not any(key.startswith("on") for _, found in page.elements for key in found)
    logs = [found.get("log") for found in page.data["details"].values()]
    assert f"{EVIL}\n" in logs
    assert page.data["logsElsewhere"].popitem()[1] == "./run/logs/odd.log"
    for chart in report.charts:
        assert ElementTree.parse(chart).getroot().tag.endswith("svg")


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_a_browser_shows_the_tasks_and_runs_nothing_else(hostile: Path, tmp_path: Path) -> None:
    report = write_report([hostile], None, tmp_path / "r.html")
    shown = in_browser(report.path, tmp_path / "profile")
    assert "<title>Assay report: bench</title>" in shown
    assert len(re.findall('<tr class="row"', shown)) == 3
    assert '<span class="chip o-unsound"' in shown


def test_long_logs_and_many_tasks_are_bounded(tmp_path: Path) -> None:
    names: dict[str, Truth | None] = {f"n{k}": truth("robust") for k in range(60)}
    bench = benchmark(tmp_path / "bench", names)
    results = [result(n, "violated" if n == "n59" else "robust") for n in names]
    path = run(tmp_path / "run", bench, results, "x" * 3 * LOG_TAIL)
    page = Page(write_report([path], None, tmp_path / "r.html", embedded=20_000).path)
    found = page.data["details"]
    assert 2 <= len(found) <= 6
    bogus = page.data["task"]["outcome"].index(page.data["words"]["outcome"].index("bogus"))
    assert str(bogus) in found
    assert all(len(d["log"]) == LOG_TAIL and d["logBytes"] == 3 * LOG_TAIL for d in found.values())


def test_large_witnesses_do_not_pile_up_in_memory(tmp_path: Path) -> None:
    bench = benchmark(tmp_path / "bench", {"i": truth("violated")})
    wide = tuple(str(k / 7) for k in range(3000))
    every = (
        result("i", "violated", f"t{k}", witness=wide, witness_class="exact", log="")
        for k in range(150)
    )
    path = run(tmp_path / "run", bench, every)
    assert (path / "results.jsonl").stat().st_size > 8_000_000
    material, opened = gather([path], None), open_runs([path], None)
    tracemalloc.start()
    read = list(opened.results())
    found = details(material, 100_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(read) == 150
    assert peak < 4_000_000
    assert found.tasks[0]["witness"].endswith("… and 2,936 more")
    assert write_report([path], None, tmp_path / "r.html").path.stat().st_size < 1_000_000


def test_two_runs_and_two_versions(tmp_path: Path, bench: Path) -> None:
    old = run(tmp_path / "old", bench, answers("tool", True))
    new = run(tmp_path / "new", bench, (replace(r, version="2") for r in answers("tool", False)))
    data = Page(write_report([old, new], None, tmp_path / "r.html").path).data
    assert data["words"]["verifier"] == ["tool 1.0", "tool 2"]
    assert data["words"]["name"] == ["tool", "tool"]
    assert sorted(set(data["task"]["run"])) == [0, 1]


def test_a_profile_is_shown_where_there_is_one(first: Path, bench: Path, tmp_path: Path) -> None:
    (bench / "profile.csv").write_text("instance,unstable,depth\na-robust,12,3\nbroken\n")
    data = Page(write_report([first], None, tmp_path / "r.html").path).data
    assert data["words"]["profile"] == ["unstable", "depth"]
    assert list(data["profile"].values()) == [["12", "3"]]


def test_charts_for_papers(first: Path, tmp_path: Path) -> None:
    written = write_charts([first], None, tmp_path / "charts", pair=("liar", "good"))
    assert [path.name for path in written] == ["cactus.svg", "scatter.svg"]
    assert all("var(--" not in path.read_text() for path in written)
    with pytest.raises(BadInput, match="'nobody' has no results here; choose among good, liar"):
        write_charts([first], None, tmp_path / "charts", pair=("nobody", "good"))


def test_charts_as_png(first: Path, tmp_path: Path) -> None:
    if not any(Path("/usr/share/fonts").rglob("*.ttf")):
        with pytest.raises(BadInput, match="fonts-dejavu-core"):
            write_charts([first], None, tmp_path / "charts", with_png=True)
        return
    written = write_charts([first], None, tmp_path / "charts", with_png=True)
    assert [path.name for path in written] == [
        *("cactus.svg", "scatter.svg"),
        *("cactus.png", "scatter.png"),
    ]
    for drawing in (path for path in written if path.suffix == ".png"):
        assert drawing.read_bytes().startswith(b"\x89PNG")
    chart = written[0].read_text()
    # Without a font a renderer drops all words and says nothing.
    assert png(chart) != png(re.sub(r"<text.*?</text>", "", chart))


def test_a_chart_of_many_points_stays_small() -> None:
    drawing = cactus({"tool": [0.001 * k for k in range(100_000)], "idle": []})
    assert len(drawing) < 40_000
    assert ElementTree.fromstring(drawing) is not None


@pytest.mark.parametrize("values", [[], [0.0], [1.0], [1.0, 1.0], [0.003, 86_400.0], [1e9]])
def test_scales_hold_their_values(values: list[float]) -> None:
    scale = LogScale.over(values, 0.01, 1e7)
    assert scale.low < scale.high
    assert all(0 <= scale.share(value) <= 1 for value in values)
    assert all(0 <= share <= 1 for share, _ in scale.ticks())


@pytest.mark.parametrize(
    ("margin", "text"),
    [
        (Fraction(1, 3), "1/3"),
        (Fraction(10**9, 3**30), "4.85694e-06"),
        (Fraction(1, 10**400), "positive"),
        (-Fraction(10**400, 3), "negative"),
    ],
)
def test_margins(margin: Fraction, text: str) -> None:
    assert margin_text(margin) == text


def test_bad_input_is_one_sentence(first: Path, bench: Path, tmp_path: Path) -> None:
    target = tmp_path / "r.html"
    with pytest.raises(BadInput, match="no run to report about"):
        write_report([], None, target)
    with pytest.raises(BadInput, match="is a folder; name the file"):
        write_report([first], None, tmp_path)
    with pytest.raises(BadInput, match="cannot write"):
        write_report([first], None, first / "run.json" / "r.html")
    for key, value in (("wall_s", "soon"), ("wall_s", float("nan")), ("detail", 3)):
        line = json.dumps(json.loads(result("a-robust", "robust").to_line()) | {key: value})
        (first / "results.jsonl").write_text(line + "\n")
        with pytest.raises(BadInput, match=f"results.jsonl:1: not a readable result .{key} is not"):
            write_report([first], None, target)
    (first / "results.jsonl").write_bytes(b"\xff\n")
    with pytest.raises(BadInput, match=r"results\.jsonl:1: not a readable result"):
        write_report([first], None, target)
    (first / "results.jsonl").unlink()
    with pytest.raises(BadInput, match="cannot be read"):
        write_report([first], None, target)
    assert not target.exists()
    assert BenchmarkFolder.open(bench).entries


def test_only_files_of_its_own_are_written_over(first: Path, tmp_path: Path) -> None:
    target, charts = tmp_path / "r.html", tmp_path / "charts"
    for _ in range(2):
        write_report([first], None, target, charts=charts)
    precious = "<!doctype html><title>Assay report: mine</title>"
    target.write_text(precious)
    with pytest.raises(BadInput, match="was not written by Assay; choose another name"):
        write_report([first], None, target)
    (charts / "scatter.svg").write_text("<svg/>")
    (charts / "cactus.png").write_bytes(b"mine")
    with pytest.raises(BadInput, match=r"scatter\.svg: exists and was not written by Assay"):
        write_report([first], None, tmp_path / "other.html", charts=charts)
    assert target.read_text() == precious
    assert (charts / "scatter.svg").read_text() == "<svg/>"
    (charts / "scatter.svg").unlink()
    (charts / "cactus.svg").write_text("<svg/>")
    with pytest.raises(BadInput, match="cactus"):
        write_charts([first], None, charts, with_png=True)
    assert (charts / "cactus.png").read_bytes() == b"mine"
    assert not (tmp_path / "other.html").exists()


def test_an_incomplete_run_is_told(first: Path, tmp_path: Path) -> None:
    file = first / "results.jsonl"
    file.write_text(file.read_text().splitlines(keepends=True)[0])
    report = write_report([first], None, tmp_path / "r.html")
    assert report.incomplete.startswith("9 of 10 tasks were not run; run the same `assay run`")
    page = Page(report.path)
    assert report.incomplete in page.text
    assert page.data["words"]["verifier"] == ["good", "liar"]
    shown = {b.verifier: (b.solved, b.instances) for b in banners(gather([first], None))}
    assert shown == {"good": (1, 4), "liar": (0, 4)}


def test_verifiers_that_nobody_asked_about_stay_out(first: Path, tmp_path: Path) -> None:
    report = write_report([first], None, tmp_path / "r.html", only={"good"})
    assert (report.tasks, report.unsound, report.incomplete) == (5, 0, "")
    assert "liar" not in report.path.read_text()


def test_a_torn_last_line_is_left_out(first: Path, tmp_path: Path) -> None:
    with (first / "results.jsonl").open("a") as stream:
        stream.write('{"instance":"a-rob')
    assert write_report([first], None, tmp_path / "r.html").tasks == 10
