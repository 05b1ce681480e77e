"""`assay audit` as a person runs it: real build, check, tools, score and page."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command_line import assay

from assay.audit import DEFAULT_VERIFIERS, default_verifiers

SUITE = """name: small
timeout: 30
families:
  - {family: meap, fixed: {pairs: 2, inputs: 4, classes: 3, gamma: 0.5}}
"""


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, int]:
    folder = tmp_path_factory.mktemp("audited")
    (folder / "small.yaml").write_text(SUITE)
    done = assay("audit", "milp", "--suite", "small.yaml", "-o", "out", "--demo-liars", cwd=folder)
    return folder, done.stdout, done.returncode


def test_liars_are_unsound_and_the_exit_code_says_so(audited: tuple[Path, str, int]) -> None:
    folder, shown, code = audited
    assert code == 1
    assert f"Report: {folder / 'out' / 'report.html'}" in shown
    scores = json.loads((folder / "out" / "scores.json").read_text())
    found = {(f["verifier"], f["outcome"]) for f in scores["findings"]}
    assert ("liar-unsat", "unsound") in found
    assert ("liar-sat", "bogus") in found
    assert not any(verifier == "milp" for verifier, _ in found)
    best = [standing for standing in scores["ranking"]["float32"] if standing["rank"] == 1]
    assert [standing["verifier"] for standing in best] == ["milp"]
    page = (folder / "out" / "report.html").read_text()
    assert "liar-unsat" in page
    assert "s VERIFIED robust" in page


def test_the_same_command_again_runs_nothing_again(audited: tuple[Path, str, int]) -> None:
    folder = audited[0]
    results = folder / "out" / "run" / "results.jsonl"
    before = results.read_bytes()
    again = assay(
        *("audit", "milp", "--suite", "small.yaml", "-o", "out", "--demo-liars", "--json"),
        cwd=folder,
    )
    assert again.returncode == 1
    assert results.read_bytes() == before
    assert json.loads(again.stdout)["scores"]["sound"] is False


def test_an_own_command_joins(audited: tuple[Path, str, int]) -> None:
    folder = audited[0]
    tool = folder / "tool.py"
    tool.write_text("import sys; open(sys.argv[3], 'w').write('unknown\\n')")
    template = f"mine={sys.executable} tool.py {{onnx}} {{vnnlib}} {{result}}"
    done = assay(
        *("audit", "--suite", "small.yaml", "-o", "own", "--verifier-command", template),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert "No verifier was unsound." in done.stdout


def test_wrong_input_is_one_sentence(audited: tuple[Path, str, int]) -> None:
    folder = audited[0]
    (folder / "other.yaml").write_text(SUITE.replace("0.5", "0.25"))
    for arguments, word in (
        (("audit", "marabu", "-o", "x"), "did you mean 'marabou'?"),
        (("audit", "milp", "--suite", "qick", "-o", "x"), "qick"),
        (("audit", "milp", "--suite", "other.yaml", "-o", "out"), "choose another folder"),
        (("audit", "--verifier-command", "tool {onnx}", "-o", "x"), "lacks {vnnlib}"),
    ):
        done = assay(*arguments, cwd=folder)
        assert done.returncode == 2
        assert word in done.stderr
        assert done.stderr.startswith("assay: ")
        assert done.stderr.count("\n") == 1
    assert not (folder / "x").exists()


def test_a_label_that_the_checker_rejects_stops_the_audit(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SUITE)
    command = ("audit", "milp", "--suite", "small.yaml", "-o", "out")
    assert assay(*command, cwd=tmp_path).returncode == 0
    truth = next((tmp_path / "out" / "benchmark" / "truth").glob("*-robust.json"))
    document = json.loads(truth.read_text())
    document["margin"] = "1000"
    truth.write_text(json.dumps(document))
    stopped = assay(*command, cwd=tmp_path)
    assert stopped.returncode == 1
    assert "rejected by the checker" in stopped.stderr


def test_without_names_it_takes_the_built_in_tools_and_marabou() -> None:
    here, missing = default_verifiers()
    assert tuple(tool.name for tool in [*here, *missing]) == DEFAULT_VERIFIERS
    assert {tool.name for tool in here} >= {"interval", "linear", "milp", "attack"}
