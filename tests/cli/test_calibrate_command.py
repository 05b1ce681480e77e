"""`assay calibrate` as a person meets it, and its section in a report."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_line import assay

SUITE = """
name: known
description: One failure rate.
seed: 1
timeout: 10
families:
  - family: planted
    fixed: {kind: soft_box, inputs: 2, width: 0.3, neurons: 2, dilution: 0}
"""
FEW = ("--repeats", 60, "--samples-budget", 200_000, "--jobs", 1)
THREE = ("--analyser", "decide-sprt", "--analyser", "decide-paper", "--analyser", "count")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("calibrate")
    (place / "known.yaml").write_text(SUITE)
    assert assay("build", "known.yaml", "-o", "bench", "--jobs", 1, cwd=place).returncode == 0
    return place


@pytest.fixture(scope="module")
def done(folder: Path) -> str:
    found = assay("calibrate", "bench", "-o", "out", *FEW, *THREE, cwd=folder)
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_the_table_says_who_keeps_a_promise(done: str, folder: Path) -> None:
    flat = " ".join(done.split())
    assert "BROKEN" in flat
    assert "decide-sprt" in flat
    assert "No promise that is a theorem is contradicted" in flat
    assert "not contradicted" in flat
    document = json.loads((folder / "out" / "calibration.json").read_text())
    verdicts = {(r["analyser"], r["contradicted"]) for r in document["rows"]}
    assert ("decide-paper", True) in verdicts
    assert {name for name, broken in verdicts if broken} == {"decide-paper"}
    assert "instances" not in document
    ElementTree.fromstring((folder / "out" / "calibration.svg").read_text())
    assert (folder / "out" / "calibration.csv").read_text().startswith("kind,inputs,p,analyser")


@pytest.mark.usefixtures("done")
def test_the_same_again_measures_nothing_and_prints_json(folder: Path) -> None:
    found = assay("calibrate", "bench", "-o", "out", *FEW, *THREE, "--json", cwd=folder)
    assert found.returncode == 0, found.stderr
    assert "1 of 1 were done before" in found.stderr
    document = json.loads(found.stdout)
    events = {(row["analyser"], row["event"]) for row in document["rows"]}
    assert ("decide-sprt", "the interval at the stop misses p") in events
    assert ("count", "bounds miss p") in events
    assert document["effort"] == {"repeats": 60, "samples": 200_000, "error": 0.01, "seed": 0}


@pytest.mark.usefixtures("done")
def test_a_theorem_that_fails_ends_with_code_1(folder: Path, tmp_path: Path) -> None:
    """Made from a journal whose errors are not luck."""
    lines = (folder / "out" / ".calibration.jsonl").read_text().splitlines()
    measured = json.loads(lines[1])
    for row in measured["rows"]:
        if row["analyser"] == "decide-sprt":
            row["errors"] = row["runs"]
    place = tmp_path / "out"
    place.mkdir()
    (place / ".calibration.jsonl").write_text(f"{lines[0]}\n{json.dumps(measured)}\n")
    found = assay("calibrate", "bench", "-o", place, *FEW, *THREE, cwd=folder)
    assert found.returncode == 1
    assert "CONTRADICTED: decide-sprt" in found.stdout


@pytest.mark.usefixtures("done")
def test_an_exact_error_above_the_promise_ends_with_code_1(folder: Path, tmp_path: Path) -> None:
    """As of an SPRT with doubled errors, which made few errors in few runs."""
    lines = (folder / "out" / ".calibration.jsonl").read_text().splitlines()
    measured = json.loads(lines[1])
    for row in measured["rows"]:
        if row["analyser"] == "decide-sprt" and row["event"].startswith("says robust"):
            row["exact"], row["errors"] = 0.0175, 0
    place = tmp_path / "out"
    place.mkdir()
    (place / ".calibration.jsonl").write_text(f"{lines[0]}\n{json.dumps(measured)}\n")
    found = assay("calibrate", "bench", "-o", place, *FEW, *THREE, cwd=folder)
    assert found.returncode == 1
    flat = " ".join(found.stdout.split())
    assert "with probability 0.0175, computed exactly; 0.01 is promised" in flat


def test_power_names_who_is_caught_and_who_survives(folder: Path, tmp_path: Path) -> None:
    bugs = ("--broken", "sprt-spends-twice", "--broken", "samples-after-the-stop")
    options = ("--power", *bugs, "--repeats", 1, "--samples-budget", 5_000, "--jobs", 1)
    found = assay("calibrate", "bench", "-o", tmp_path, *options, cwd=folder)
    document = json.loads((tmp_path / "calibration-power.json").read_text())
    caught = {one["name"]: one["ground"] for one in document["broken"]}
    # one run shows nothing of the second
    assert caught == {"sprt-spends-twice": "exact", "samples-after-the-stop": ""}
    assert found.returncode == 1
    assert "1 of 2 are caught" in found.stdout
    assert "Survivors: samples-after-the-stop" in found.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--analyser", "decide-sprd"], "did you mean 'decide-sprt'?"),
        (["--repeats", 0], "--repeats 0 measures nothing"),
        (["--samples-budget", 0], "--samples-budget 0 buys nothing"),
        (["--error", 0.5], "--error 0.5 is no error probability"),
        (["--error", "nan"], "--error nan is no error probability"),
        (["--power", "--analyser", "count"], "leave out --analyser"),
        (["--power", "--broken", "block-repeat"], "did you mean 'blocks-repeat'?"),
        (["--broken", "blocks-repeat"], "give --power as well"),
    ],
)
def test_bad_options_are_one_sentence(options: list[object], said: str, folder: Path) -> None:
    found = assay("calibrate", "bench", "-o", "bad", *options, cwd=folder)
    assert found.returncode == 2
    assert said in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1
    assert not (folder / "bad").exists()


@pytest.mark.usefixtures("done")
def test_foreign_files_are_left_alone(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "calibration.svg").write_text("mine")
    found = assay("calibrate", "bench", "-o", tmp_path, *FEW, cwd=folder)
    assert found.returncode == 2
    assert (tmp_path / "calibration.svg").read_text() == "mine"
    assert assay("calibrate", "nowhere", "-o", tmp_path / "x", cwd=folder).returncode == 2


@pytest.mark.usefixtures("done")
def test_a_report_may_show_it(folder: Path) -> None:
    ran = assay("run", "bench", "-v", "interval", "-o", "run", "--jobs", 1, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    file = folder / "out" / "calibration.json"
    for name, options in (("plain.html", []), ("with.html", ["--calibration", file])):
        found = assay("report", "run", "-o", name, *options, cwd=folder)
        assert found.returncode == 0, found.stderr
    plain, shown = ((folder / name).read_text() for name in ("plain.html", "with.html"))
    assert "Analysers against truth" not in plain
    assert 'id="calibration"' in shown
    assert "decide-paper" in shown
    assert "BROKEN" in shown
    refused = assay("report", "run", "-o", "no.html", "--calibration", "known.yaml", cwd=folder)
    assert refused.returncode == 2
    assert "is no document of `assay calibrate`" in refused.stderr
    assert not (folder / "no.html").exists()
