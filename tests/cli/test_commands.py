"""The command line as a person meets it: output, exit codes, one line for every error."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import assay as run_assay

import assay

SUITE = """\
name: mine
families:
  - family: meap
    grid: {pairs: [2, 3]}
    fixed: {inputs: 4, classes: 3}
"""
SOURCE = str(Path(assay.__file__).parents[1])


def assay_command(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_assay(*arguments, COLUMNS="100", **environment)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("suite") / "mine.yaml"
    path.write_text(SUITE)
    return path


@pytest.fixture(scope="module")
def pristine(suite: Path) -> Path:
    folder = suite.parent / "bench"
    done = assay_command("build", suite, "-o", folder, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["instances"] == 4
    return folder


@pytest.fixture
def bench(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "bench"))


def failure(result: subprocess.CompletedProcess[str]) -> str:
    """The one line on stderr."""
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("assay: ")
    return lines[0]


def test_help_imports_nothing_heavy() -> None:
    shown = assay_command("--help")
    assert shown.returncode == 0
    for command in ("build", "certify", "check", "families", "suites"):
        assert command in shown.stdout
        assert "Example" in assay_command(command, "--help").stdout
    probe = "import sys, assay.cli.main; print({'numpy', 'onnx', 'pydantic'} & set(sys.modules))"
    environment = os.environ | {"PYTHONPATH": SOURCE}
    loaded = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, env=environment, check=True
    )
    assert loaded.stdout == "set()\n"


def test_version() -> None:
    assert assay_command("--version").stdout == f"assay {assay.__version__}\n"


def test_check_a_folder(bench: Path) -> None:
    checked = assay_command("check", bench)
    assert checked.returncode == 0, checked.stdout
    assert "4 verified." in checked.stdout
    document = json.loads(assay_command("check", bench, "--json", "--jobs", "1").stdout)
    assert document["counts"] == {"verified": 4, "rejected": 0, "unsupported": 0}
    assert {result["family"] for result in document["results"]} == {"meap"}


def test_check_files(bench: Path, tmp_path: Path) -> None:
    name = "meap-00-000-robust"
    truth = bench / f"truth/{name}.json"
    one = assay_command("check", truth)
    assert (one.returncode, one.stdout[:18]) == (0, "s VERIFIED robust ")
    triple = assay_command(
        "check", bench / f"onnx/{name}.onnx", bench / f"vnnlib/{name}.vnnlib", truth
    )
    assert triple.stdout == one.stdout
    assert "give all three" in failure(
        assay_command("check", shutil.copy(truth, tmp_path / "alone.json"))
    )
    assert "no such file" in failure(assay_command("check", tmp_path / "none.json"))


def test_check_names_what_is_rejected(bench: Path) -> None:
    truth = bench / "truth/meap-00-001-robust.json"
    document = json.loads(truth.read_text())
    document["margin"] = "1000"
    truth.write_text(json.dumps(document))
    (bench / "truth/meap-00-000-robust.json").write_text("{")
    checked = assay_command("check", bench)
    assert checked.returncode == 1
    printed = checked.stdout.replace("\n", "")
    assert f"rejected: {truth}: the margin 1000.000000000000 is claimed" in printed
    assert "2 verified, 2 rejected." in checked.stdout


def test_check_reports_what_does_not_belong(bench: Path) -> None:
    (bench / "truth/meap-00-000-robust.json").rename(bench / "truth/other.json")
    (bench / "onnx/unused.onnx").write_text("x")
    document = json.loads(assay_command("check", bench, "--json").stdout)
    assert document["counts"]["verified"] == 3
    problems = "\n".join(document["problems"])
    assert "meap-00-000-robust: row 1 of instances.csv has no truth" in problems
    assert "truth/other.json: no row" in problems
    assert "onnx/unused.onnx: no row" in problems
    assert assay_command("check", bench).returncode == 1


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"twin": "meap-00-009-violated"}, "'meap-00-009-violated' has no truth in the folder"),
        ({"twin": "meap-00-001-robust"}, "'meap-00-001-robust' does not name it as its own twin"),
        ({"twin": "meap-00-000-robust"}, "'meap-00-000-robust' has the same answer"),
    ],
)
def test_check_wants_twins_that_name_each_other(
    bench: Path, said: dict[str, str], problem: str
) -> None:
    """Also where every truth is verified by itself."""
    truth = bench / "truth/meap-00-000-robust.json"
    truth.write_text(json.dumps(json.loads(truth.read_text()) | said))
    checked = assay_command("check", bench, "--json")
    assert checked.returncode == 1
    document = json.loads(checked.stdout)
    assert document["counts"]["verified"] == 4
    assert f"meap-00-000-robust: its twin {problem}" in document["problems"]


def test_check_needs_truths(bench: Path) -> None:
    shutil.rmtree(bench / "truth")
    result = assay_command("check", bench)
    assert result.returncode == 2
    assert "nothing to check" in failure(result)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["build", "quikc", "-o", "x"], "did you mean 'quick'"),
        (["build", ".", "-o", "x"], "not a file"),
        (["build", "quick", "-o", "/proc/assay"], "cannot write /proc/assay"),
        (["build", "quick", "-o", "x", "--seed", "-1"], "--seed -1 is not a seed"),
        (["check", "/proc/none"], "no such file"),
        (["check", "/"], "no instances.csv"),
        (["families", "meep"], "did you mean 'meap'"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], sentence: str) -> None:
    result = assay_command(*arguments)
    assert result.returncode == 2
    assert sentence in failure(result)


@pytest.mark.parametrize("arguments", [["build"], ["build", "quick", "-o", "x", "--job"], ["chek"]])
def test_wrong_usage(arguments: list[str]) -> None:
    result = assay_command(*arguments)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr


def test_an_internal_error_is_one_line_unless_debugging(suite: Path) -> None:
    code = (
        "import sys, assay.cli.main as m, assay.suite.spec as s\n"
        "def fail(name): raise RuntimeError('broken')\n"
        "s.load_suite = fail\n"
        f"sys.argv = ['assay', 'build', {str(suite)!r}, '-o', 'x']\n"
        "m.run()\n"
    )

    def result(debug: str) -> subprocess.CompletedProcess[str]:
        variables = os.environ | {"PYTHONPATH": SOURCE, "ASSAY_DEBUG": debug}
        return subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=variables, check=False
        )

    quiet = result("0")
    assert quiet.returncode == 3
    assert "internal error (RuntimeError: broken)" in failure(quiet)
    assert "Traceback" in result("1").stderr


def test_families_and_suites() -> None:
    listed = json.loads(assay_command("families", "--json").stdout)
    assert "meap" in [family["name"] for family in listed]
    shown = assay_command("families", "meap").stdout
    assert "Theorem." in shown
    assert "number of ReLU pairs P" in shown.replace("\n", "")
    assert "quick" in [
        suite["name"] for suite in json.loads(assay_command("suites", "--json").stdout)
    ]
    assert "quick" in assay_command("suites").stdout


@pytest.mark.parametrize("command", ["suites", "families --json", "--help"])
def test_a_reader_that_leaves_is_no_error(command: str) -> None:
    pipeline = f"set -o pipefail; {sys.executable} -m assay.cli.main {command} | true"
    result = subprocess.run(
        ["bash", "-c", pipeline],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": SOURCE},
        check=False,
    )
    assert result.stderr == ""
    assert result.returncode in (0, 141)
