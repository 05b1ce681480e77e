"""Commands on the page are pasted into a shell: here they are, after real runs of a user's tool."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from small_runs import benchmark, truth

from assay.judge.command_tool import command_verifier
from assay.judge.folder_tool import folder_verifier
from assay.judge.run_folder import read_plan
from assay.judge.runner import Settings, run
from assay.judge.tool_environment import with_environment
from assay.judge.verifier import Verifier
from assay.report.commands_to_copy import known_tool, shrink_command
from assay.report.material import gather
from assay.report.next_steps import NextSteps, next_steps
from assay.shrink.wrong_answer import BroughtTools, find_tool
from assay.suite.folder import BenchmarkFolder

TOOL = """#!/bin/sh
for word in "$@"; do case "$word" in
  --net=*) test -s "${word#--net=}" || exit 3;;
  --prop=*) test -s "${word#--prop=}" || exit 4;;
  --out=*) echo "unsat${SAID:+ $SAID}" > "${word#--out=}";;
esac; done
"""
PREFIXED = "./tool.sh --net={onnx} --prop={vnnlib} --out={result}"
SHELL = """liar=sh -c 'cat "$0" "$1" > /dev/null && echo unsat > {result}' {onnx} {vnnlib}"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a benchmark of one violated question and a tool."""
    benchmark(tmp_path / "a bench", {"i": truth("violated")})
    (tmp_path / "tool.sh").write_text(TOOL)
    (tmp_path / "tool.sh").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def steps_after(tool: Verifier, moved: str = "") -> NextSteps:
    """What the page says about its wrong answer; with `moved`, after the benchmark has moved."""
    run(BenchmarkFolder.open(Path("a bench")), [tool], Settings(timeout_s=20), Path("run"))
    now = Path("a bench").rename(moved) if moved else None
    return next_steps(gather([Path("run")], now))[tool.name, "i"]


def pasted(command: str, folder: Path, **environment: str) -> str:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("moved", ["", "moved here"])
@pytest.mark.parametrize("template", [PREFIXED, SHELL])
def test_paths_inside_words_are_those_of_now(
    template: str, moved: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shown = steps_after(command_verifier(template), moved).reproduce
    assert "assay-tasks-" not in shown
    assert pasted(shown, tmp_path_factory.mktemp("elsewhere")) == "unsat\n"


@pytest.mark.usefixtures("place")
def test_variables_are_named_and_their_values_are_not_shown() -> None:
    tool = with_environment(command_verifier(PREFIXED), {"KEY": "hush"})
    steps = steps_after(tool)
    assert "The run set KEY with --env" in steps.remark
    assert "hush" not in f"{steps.reproduce}{steps.shrink}{read_plan(Path('run'))['tools']}"
    assert steps.shrink.endswith('--env KEY="$KEY")')


@pytest.mark.parametrize("kind", ["relative", "bare", "file", "folder"])
def test_shrink_is_told_of_the_same_tool(
    kind: str,
    place: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The words that are printed name a tool of the version that answered, from any folder."""
    (place / "mine").mkdir()
    for name in ("prepare_instance.sh", "run_instance.sh"):
        (place / "mine" / name).write_text("exit 0\n")
    python = shlex.quote(sys.executable)
    tool = {
        "relative": lambda: command_verifier(PREFIXED),
        "bare": lambda: command_verifier(SHELL),
        "file": lambda: command_verifier(f"{python} tool.sh {{onnx}} {{vnnlib}} {{result}}"),
        "folder": lambda: folder_verifier(Path("mine")),
    }[kind]()
    run(BenchmarkFolder.open(Path("a bench")), [tool], Settings(timeout_s=20), Path("run"))
    plan = read_plan(Path("run"))
    shown = shrink_command(Path("run"), "i", tool.name, None, known_tool(plan, tool.name))
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    # What the shell makes of it, with a program in place of Assay that says what it is given.
    spy = "assay() { pwd; printf '%s\\0' \"$@\"; }; "
    where, _, rest = pasted(spy + shown, Path.cwd()).partition("\n")
    words = rest.split("\0")[:-1]
    assert words[:5] == ["shrink", str(place / "run"), "i", "--verifier", tool.name]
    option, value = words[5:]
    monkeypatch.chdir(where)
    brought = (
        BroughtTools(folders=[Path(value)])
        if option == "--verifier-dir"
        else BroughtTools(commands=[value])
    )
    assert find_tool(tool.name, plan["verifiers"][tool.name], brought).name == tool.name


def test_runs_of_earlier_versions_say_nothing() -> None:
    for plan in ({}, {"tools": []}, {"tools": {"mine": {"files": {}}}}, {"tools": {"mine": 3}}):
        assert known_tool(plan, "mine").options == ()
