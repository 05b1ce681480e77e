"""`assay run`, `assay score` and `assay verifiers` as a person uses them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import assay


def test_run_then_score(bench: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = assay("run", bench, "-v", "milp", "--timeout", 60, "-o", run)
    assert done.returncode == 0, done.stderr
    assert "milp" in done.stdout
    scored = assay("score", run)
    assert scored.returncode == 0, scored.stderr
    assert "proved" in scored.stdout
    document = json.loads(assay("score", run, "--json").stdout)
    assert document
    assert "milp" in assay("score", run, "--csv").stdout
    assert "tabular" in assay("score", run, "--latex").stdout


def test_an_incomplete_run_is_told(bench: Path, tmp_path: Path) -> None:
    run, told = tmp_path / "run", "1 of 2 tasks were not run; run the same `assay run` again"
    tool = "mine=true {onnx} {vnnlib} {result}"
    assert assay("run", bench, "--verifier-command", tool, "-o", run).returncode == 0
    whole = assay("score", run, "--fail-on", "unsound")
    assert (whole.returncode, whole.stderr) == (0, "")
    file = run / "results.jsonl"
    file.write_text(file.read_text().splitlines(keepends=True)[0])
    scored = assay("score", run, "--fail-on", "unsound")
    assert scored.returncode == 0, "what was not run is no fault of the tool"
    assert told in scored.stdout
    assert "0/2, 1 not run" in scored.stdout
    assert scored.stderr == f"assay: {told}\n"
    document = json.loads(assay("score", run, "--json").stdout)
    assert (document["tasks"], document["not_run"], document["incomplete"]) == (2, 1, told)
    assert "1 of 2 tasks were not run" in assay("score", run, "--latex").stdout
    reported = assay("report", run, "-o", tmp_path / "r.html")
    assert (reported.returncode, reported.stderr) == (0, f"assay: {told}\n")


def test_published_results_that_are_incomplete(bench: Path, tmp_path: Path) -> None:
    name = min((bench / "vnnlib").glob("*.vnnlib")).stem
    results = tmp_path / "results.csv"
    results.write_text(f"t,{name}.onnx,{name}.vnnlib,0,timeout,1.0\n")
    scored = assay("score", "--results", results, "--benchmark", bench, "--fail-on", "unsound")
    assert scored.returncode == 0
    assert scored.stderr == (
        f"assay: 1 of 2 tasks have no row in {results}; they count as unsolved\n"
    )
    assert "0/2, 1 not run" in scored.stdout


def test_published_results_that_are_unsound_fail(bench: Path, tmp_path: Path) -> None:
    rows = [
        f"t,{path.stem}.onnx,{path.stem}.vnnlib,0,unsat,1.0"
        for path in sorted((bench / "vnnlib").glob("*.vnnlib"))
    ]
    results = tmp_path / "results.csv"
    results.write_text("\n".join(rows) + "\n")
    scored = assay("score", "--results", results, "--benchmark", bench)
    assert scored.returncode == 1, scored.stderr
    assert "unsound" in scored.stdout


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["run", "{bench}", "-v", "marabu", "-o", "x"], "did you mean 'marabou'"),
        (["run", "nowhere", "-v", "milp", "-o", "x"], "not a folder"),
        (["score", "nowhere"], "has no readable run.json"),
        (["score"], "nothing to score"),
        (["score", "--results", "r.csv"], "goes with --benchmark"),
        (["score", "{bench}", "--rules", "1999"], "give 2024 or 2026"),
        (["score", "{bench}", "--json", "--csv"], "give one of them"),
        (["verifiers", "check", "milp", "--memory", "nan"], "--memory nan is not a limit"),
    ],
)
def test_bad_input_is_one_sentence(
    bench: Path, tmp_path: Path, command: list[str], sentence: str
) -> None:
    filled = [part.format(bench=bench) for part in command]
    done = subprocess.run(
        [sys.executable, "-m", "assay.cli.main", *filled],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "x").exists()


def test_verifiers_are_listed() -> None:
    listed = json.loads(assay("verifiers", "--json").stdout)
    assert {"milp", "attack", "marabou"} <= {entry["name"] for entry in listed}
    assert "marabou" in assay("verifiers").stdout
