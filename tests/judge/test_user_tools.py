"""Tools that the user names: commands and VNN-COMP folders, run for real."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from small_instances import instance

from assay.errors import BadInput
from assay.judge.command_tool import command_verifier
from assay.judge.execute import Task, execute
from assay.judge.folder_tool import folder_verifier
from assay.judge.results import Result
from assay.judge.task import Limits, Question
from assay.judge.user_tools import chosen_verifiers
from assay.judge.verifier import Verifier

TOOL = """import sys
onnx, vnnlib, timeout, result = sys.argv[1:]
assert open(onnx, "rb").read() and open(vnnlib).read() and float(timeout) == 20
open(result, "w").write("unsat\\n")
"""


def ask(verifier: Verifier, folder: Path) -> Result:
    made = instance("meap", "robust")
    onnx, text = folder / "q.onnx", folder / "q.vnnlib"
    onnx.write_bytes(made.onnx)
    text.write_bytes(made.vnnlib)
    task = Task(Question("q", onnx, text, 20.0), verifier.name, 0)
    version = verifier.version()
    assert version is not None
    return execute(task, verifier, version, folder / "task", Limits(20.0, 1024)).result


def test_a_command_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my tool.py").write_text(TOOL)
    monkeypatch.chdir(tmp_path)
    verifier = command_verifier(
        f"mine={sys.executable} 'my tool.py' {{onnx}} {{vnnlib}} {{timeout}} {{result}}"
    )
    assert verifier.name == "mine"
    result = ask(verifier, tmp_path)
    assert (result.ending, result.verdict) == ("answered", "robust")
    assert str(tmp_path / "my tool.py") in result.command


def test_a_changed_tool_has_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "tool.py"
    script.write_text(TOOL)
    monkeypatch.chdir(tmp_path)
    template = f"{sys.executable} tool.py {{onnx}} {{vnnlib}} {{timeout}} {{result}}"
    before = command_verifier(template).version()
    script.write_text(TOOL + "\n# another\n")
    assert command_verifier(template).version() != before


@pytest.mark.parametrize(
    ("template", "word"),
    [
        ("", "names no program"),
        ("{onnx} {vnnlib} {result}", "names no program"),
        ("tool {onnx} {vnnlib}", "lacks {result}"),
        ("tool {onnx} {result}", "lacks {vnnlib}"),
        ("tool {onnx} {vnnlib} {result} {seconds}", "{seconds} is not a place"),
        ("tool '{onnx} {vnnlib} {result}", "quotes"),
    ],
)
def test_a_wrong_command_is_one_sentence(template: str, word: str) -> None:
    with pytest.raises(BadInput, match=r"^--verifier-command ") as caught:
        command_verifier(template)
    assert word in str(caught.value)


def test_a_program_that_is_not_there_is_not_installed() -> None:
    verifier = command_verifier("no-such-tool-anywhere {onnx} {vnnlib} {result}")
    assert verifier.version() is None


def folder_tool(path: Path, prepare: str, run: str) -> Path:
    path.mkdir(parents=True)
    (path / "prepare_instance.sh").write_text(f"#!/bin/bash\n{prepare}\n")
    (path / "run_instance.sh").write_text(f"#!/bin/bash\n{run}\n")
    return path


RUN = 'test "$1" = v1 -a -f "$3" -a -f "$4" -a "$6" = 20 && echo unsat > "$5"'


@pytest.mark.parametrize("place", ["", "vnncomp_scripts"])
def test_a_competition_folder_answers(tmp_path: Path, place: str) -> None:
    folder_tool(tmp_path / "thetool" / place, 'test "$1" = v1 -a -f "$3" -a -f "$4"', RUN)
    verifier = folder_verifier(tmp_path / "thetool")
    assert verifier.name == "thetool"
    result = ask(verifier, tmp_path)
    assert (result.ending, result.verdict) == ("answered", "robust")


def test_preparing_may_fail_and_then_the_tool_declined(tmp_path: Path) -> None:
    folder_tool(tmp_path / "tool", "exit 7", RUN)
    result = ask(folder_verifier(tmp_path / "tool"), tmp_path)
    assert (result.ending, result.verdict) == ("refused", None)
    assert "prepare_instance_error_7" in result.detail


def test_scripts_that_end_all_processes_of_a_name_end_nothing(tmp_path: Path) -> None:
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        folder_tool(tmp_path / "tool", "killall -9 python3 python; pkill -9 python; true", RUN)
        result = ask(folder_verifier(tmp_path / "tool"), tmp_path)
        assert result.ending == "answered"
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_the_version_of_a_checkout_is_its_commit(tmp_path: Path) -> None:
    folder = folder_tool(tmp_path / "tool", "true", RUN)
    assert str(folder_verifier(folder).version()).startswith("scripts ")
    for command in (
        ["git", "init", "-q"],
        ["git", "add", "."],
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"],
    ):
        subprocess.run(command, cwd=folder, check=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True
    ).stdout
    assert folder_verifier(folder).version() == f"commit {head[:12]}"


def test_wrong_folders_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not a folder"):
        folder_verifier(tmp_path / "nowhere")
    with pytest.raises(BadInput, match=r"holds no prepare_instance\.sh"):
        folder_verifier(tmp_path)


def test_two_tools_need_two_names() -> None:
    command = "tool {onnx} {vnnlib} {result}"
    with pytest.raises(BadInput, match="two verifiers are called 'tool'"):
        chosen_verifiers([], [], [command, command])
    chosen = chosen_verifiers(["milp", "milp"], [], [command, f"other={command}"])
    assert [tool.name for tool in chosen] == ["milp", "tool", "other"]
