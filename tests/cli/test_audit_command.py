"""`assay audit` as a person runs it: real build, check, tools, score and page."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from command_line import assay

from assay.audit import DEFAULT_SUITES, DEFAULT_VERIFIERS, default_verifiers
from assay.suite.spec import bundled_suites

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


def test_scores_are_replaced_whole(audited: tuple[Path, str, int], tmp_path: Path) -> None:
    """Whoever reads scores.json, and a kill at any moment, meets all of the old or of the new."""
    shutil.copytree(audited[0] / "out", tmp_path / "out")
    scores = tmp_path / "out" / "scores.json"
    before = scores.read_text()
    command = ("audit", "milp", "--suite", audited[0] / "small.yaml", "-o", tmp_path / "out")
    with scores.open() as held:
        assert assay(*command).returncode == 0
        assert held.read() == before
    assert json.loads(scores.read_text())["verifiers"] == ["milp"]
    for left in ("", '{\n "sch'):  # what a kill of an earlier version may have left
        scores.write_text(left)
        assert assay(*command).returncode == 0
        assert json.loads(scores.read_text())["verifiers"] == ["milp"]


def test_suites_can_be_audited_together(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(SUITE)
    (tmp_path / "b.yaml").write_text(SUITE.replace("small", "other").replace("0.5", "0.25"))
    command = ("audit", "attack", "--suite", "a.yaml", "--suite", "b.yaml", "-o", "out")
    assert assay(*command, cwd=tmp_path).returncode == 0
    built = json.loads((tmp_path / "out" / "benchmark" / "suite.json").read_text())
    assert built["name"] == "small + other"
    truths = (tmp_path / "out" / "benchmark" / "truth").iterdir()
    assert sorted({path.name[:7] for path in truths}) == ["meap-00", "meap-01"]


def test_the_suites_of_an_audit_that_names_none_are_bundled() -> None:
    assert DEFAULT_SUITES == ("quick", "soundness")
    assert set(DEFAULT_SUITES) <= set(bundled_suites())


def test_an_own_command_joins(audited: tuple[Path, str, int]) -> None:
    folder = audited[0]
    tool = folder / "tool.py"
    tool.write_text("import sys; open(sys.argv[3], 'w').write('unknown\\n')")
    template = f"mine={sys.executable} tool.py {{onnx}} {{vnnlib}} {{result}}"
    done = assay(
        *("audit", "--suite", "small.yaml", "-o", "own", "--verifier-command", template),
        *("--fail-on", "unsound"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert "No verifier was unsound." in done.stdout


def test_verifiers_of_an_earlier_audit_are_not_judged(audited: tuple[Path, str, int]) -> None:
    folder = audited[0]
    again = assay("audit", "milp", "--suite", "small.yaml", "-o", "out", cwd=folder)
    assert again.returncode == 0, again.stderr
    told = "holds results of coin, liar-sat, liar-unsat too; they are left out"
    assert told in again.stderr
    assert json.loads((folder / "out" / "scores.json").read_text())["verifiers"] == ["milp"]
    assert "liar" not in (folder / "out" / "report.html").read_text()


def test_what_stops_the_run_is_told_before_the_build(
    audited: tuple[Path, str, int], tmp_path: Path
) -> None:
    folder = audited[0]
    (folder / "out" / "benchmark").rename(folder / "kept")
    (folder / "out" / "benchmark").mkdir()
    try:
        slower = assay(
            *("audit", "milp", "--suite", "small.yaml", "-o", "out", "--timeout", 5), cwd=folder
        )
        assert not any((folder / "out" / "benchmark").iterdir())
    finally:
        (folder / "out" / "benchmark").rmdir()
        (folder / "kept").rename(folder / "out" / "benchmark")
    assert slower.returncode == 2
    assert "was run with timeout 20 s, now with timeout 5 s; give the same" in slower.stderr
    command = "no-such-program {onnx} {vnnlib} {result}"
    absent = assay("audit", "--verifier-command", command, "-o", tmp_path / "x")
    assert absent.returncode == 2
    assert "is not installed" in absent.stderr
    assert not (tmp_path / "x").exists()


def test_a_folder_that_is_not_an_audits_own_is_left_alone(
    audited: tuple[Path, str, int], tmp_path: Path
) -> None:
    folder = audited[0]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    shutil.copytree(folder / "out", tmp_path / "edited")
    (tmp_path / "edited" / "report.html").write_text("mine")
    shutil.copytree(folder / "out", tmp_path / "scored")
    (tmp_path / "scored" / "scores.json").write_text("mine")
    shutil.copytree(folder / "out" / "benchmark", tmp_path / "bench")
    for name, word in (
        ("mine", "is not an audit folder"),
        ("bench", "is not an audit folder"),
        ("file", "is not an audit folder"),
        ("edited", "report.html: exists and was not written by Assay"),
        ("scored", "scores.json: was not written by an audit"),
    ):
        before = sorted(tmp_path.rglob("*"))
        done = assay("audit", "milp", "--suite", folder / "small.yaml", "-o", tmp_path / name)
        assert done.returncode == 2
        assert word in done.stderr
        assert done.stderr.count("\n") == 1
        assert sorted(tmp_path.rglob("*")) == before


def test_more_than_the_machine_has_is_told(audited: tuple[Path, str, int], tmp_path: Path) -> None:
    tool = "true {onnx} {vnnlib} {result}"
    words = ("--jobs", 4096, "--memory", 1000, "-o", tmp_path / "out")
    suite = ("--suite", audited[0] / "small.yaml")
    done = assay("audit", "--verifier-command", tool, *suite, *words, "--fail-on", "none")
    assert done.returncode == 0, done.stderr
    assert "4096 threads on" in done.stderr
    assert "lower --memory or --jobs" in done.stderr


def test_wrong_input_is_one_sentence(audited: tuple[Path, str, int]) -> None:
    folder = audited[0]
    (folder / "other.yaml").write_text(SUITE.replace("0.5", "0.25"))
    for arguments, word in (
        (("audit", "marabu", "-o", "x"), "did you mean 'marabou'?"),
        (("audit", "milp", "--suite", "qick", "-o", "x"), "qick"),
        (("audit", "milp", "--suite", "other.yaml", "-o", "out"), "choose another folder"),
        (("audit", "--verifier-command", "tool {onnx}", "-o", "x"), "lacks {vnnlib}"),
        (("audit", "milp", "--timeout", "nan", "-o", "x"), "--timeout nan is not a limit"),
        (("audit", "milp", "--memory", "inf", "-o", "x"), "--memory inf is not a limit"),
    ):
        done = assay(*arguments, "--jobs", 1, cwd=folder)
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
