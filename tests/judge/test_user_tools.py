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
        ("tool {onnx} {vnnlib} {result} {TIMEOUT}", "{TIMEOUT} is not a place"),
        ("tool {onnx} {vnnlib} {result} --t={Timeout}", "{Timeout} is not a place"),
        ("tool {onnx} {vnnlib} {result} {}", "{} is not a place"),
        ("tool '{onnx} {vnnlib} {result}", "quotes"),
    ],
)
def test_a_wrong_command_is_one_sentence(template: str, word: str) -> None:
    with pytest.raises(BadInput, match=r"^--verifier-command ") as caught:
        command_verifier(template)
    assert word in str(caught.value)


def test_other_braces_are_left_alone(tmp_path: Path) -> None:
    options = ['{"a": 1}', "{1}", "${HOME}", "{ }", "{-x}"]
    template = " ".join(f"'{option}'" for option in options)
    verifier = command_verifier(f"{sys.executable} {template} {{onnx}} {{vnnlib}} {{result}}")
    question = Question("q", tmp_path / "q.onnx", tmp_path / "q.vnnlib", 20.0)
    assert list(verifier.invoke(question, tmp_path).command[1:-3]) == options


def test_a_program_that_cannot_be_executed_is_said_to_be_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    with pytest.raises(BadInput, match=r"\./tool is there but cannot be executed.*chmod \+x"):
        command_verifier("./tool {onnx} {vnnlib} {result}")
    with pytest.raises(BadInput, match=r"\./ is a folder"):
        command_verifier("./ {onnx} {vnnlib} {result}")
    assert command_verifier("./none {onnx} {vnnlib} {result}").version() is None


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


def test_the_version_of_a_checkout_is_its_commit_and_its_files(tmp_path: Path) -> None:
    folder = folder_tool(tmp_path / "tool", "true", RUN)
    files = str(folder_verifier(folder).version())
    assert files.startswith("files ")
    for command in (
        ["git", "init", "-q"],
        ["git", "add", "."],
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"],
    ):
        subprocess.run(command, cwd=folder, check=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True
    ).stdout
    clean = folder_verifier(folder).version()
    assert clean == f"commit {head[:12]}, {files}"
    with (folder / "run_instance.sh").open("a") as script:
        script.write("true\n")
    assert str(folder_verifier(folder).version()).startswith(f"commit {head[:12]}, files ")
    assert folder_verifier(folder).version() != clean


@pytest.mark.parametrize(
    ("folder", "name"),
    [("a\nb", "a-b"), ("my tool", "my-tool"), ("\x1b[31mré.d", "31mr-.d"), ("-v", "v")],
)
def test_odd_names_become_plain_ones(tmp_path: Path, folder: str, name: str) -> None:
    folder_tool(tmp_path / folder, "true", RUN)
    assert folder_verifier(tmp_path / folder).name == name
    (tmp_path / folder / "tool").touch(0o755)
    assert command_verifier(f"'{tmp_path}/x/{folder}' {{onnx}} {{vnnlib}} {{result}}").name == name


def test_a_name_with_nothing_plain_in_it_is_refused(tmp_path: Path) -> None:
    folder_tool(tmp_path / "ä", "true", RUN)
    with pytest.raises(BadInput, match="gives no name for the tool"):
        folder_verifier(tmp_path / "ä")


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


@pytest.mark.parametrize("command", ["milp=tool", "/opt/marabou"])
def test_a_command_may_not_pass_for_a_verifier_that_is_known(command: str) -> None:
    with pytest.raises(BadInput, match="is the name of a verifier that Assay knows"):
        chosen_verifiers([], [], [f"{command} {{onnx}} {{vnnlib}} {{result}}"])


def test_a_folder_called_like_a_verifier_that_is_known_says_that_it_is_a_folder(
    tmp_path: Path,
) -> None:
    folder = folder_tool(tmp_path / "nnenum", "true", RUN)
    assert [tool.name for tool in chosen_verifiers([], [folder], [])] == ["nnenum-folder"]


@pytest.mark.parametrize(
    ("script", "ending", "detail"),
    [
        ("print('no Erf', file=sys.stderr); open(r, 'w').write('error')", "refused", "no Erf"),
        ("print('one\\n\\x1b[31mtwo\\tx\\n \\n', file=sys.stderr); sys.exit(3)", "crashed",
         "ended by exit code 3; stderr: [31mtwo x"),
        ("raise ValueError('y' * 999)", "crashed", "stderr: ValueError: yyy"),
        ("sys.exit(3)", "crashed", "ended by exit code 3"),
    ],
)  # fmt: skip
def test_the_last_complaint_is_kept(tmp_path: Path, script: str, ending: str, detail: str) -> None:
    (tmp_path / "tool.py").write_text(f"import sys\nr = sys.argv[1]\n{script}\n")
    template = f"{sys.executable} '{tmp_path}/tool.py' {{result}} {{onnx}} {{vnnlib}}"
    result = ask(command_verifier(template), tmp_path)
    assert result.ending == ending
    assert detail in result.detail
    assert result.detail.isprintable()
    assert len(result.detail) < 300
