"""What scripts call is part of a tool's version, wherever it lies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_instances import instance, write_folder

from assay.errors import BadInput
from assay.judge.called_files import called_files
from assay.judge.command_tool import command_verifier
from assay.judge.folder_tool import folder_verifier
from assay.judge.run_folder import RUN_FILE
from assay.judge.runner import Settings, run
from assay.suite.folder import BenchmarkFolder

RUN = """#!/bin/bash
HERE=$(cd "$(dirname "$0")" && pwd)
cat "${HERE}/answers.txt" > "$5"
bash $HERE/plain
python3 "$(dirname "$0")/../beside/solve.py" --log out.log > "$HERE/trace.txt" 2>> errors.txt
"""


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    folder, beside = tmp_path / "tool", tmp_path / "beside"
    folder.mkdir()
    beside.mkdir()
    (folder / "prepare_instance.sh").write_text("true\n")
    (folder / "run_instance.sh").write_text(RUN)
    (folder / "answers.txt").write_text("unsat\n")
    (folder / "plain").write_text("true\n")
    (beside / "solve.py").write_text("import rules\nopen('weights.bin').read()\n")
    (beside / "rules.py").write_text("x = 1\n")
    (beside / "weights.bin").write_bytes(bytes(99))
    for written in ("trace.txt", "errors.txt", "out.log", "unnamed.dat"):
        (folder / written).write_text("1")
    return folder


CALLED = ["tool/answers.txt", "tool/plain", "beside/solve.py", "beside/rules.py"]
CALLED.append("beside/weights.bin")


@pytest.mark.parametrize("name", CALLED)
def test_an_edit_of_what_a_script_calls_is_another_version(tool: Path, name: str) -> None:
    verifier = folder_verifier(tool)
    before = verifier.version()
    assert verifier.version() == before
    (tool.parent / name).write_text("# other\n")
    assert verifier.version() != before


@pytest.mark.parametrize("name", ["trace.txt", "errors.txt", "out.log", "unnamed.dat"])
def test_what_a_script_writes_is_not(tool: Path, name: str) -> None:
    before = folder_verifier(tool).version()
    (tool / name).write_text("other")
    assert folder_verifier(tool).version() == before


def test_a_command_that_is_a_script_counts_with_what_it_calls(tool: Path) -> None:
    script = tool / "run_instance.sh"
    script.chmod(0o755)
    verifier = command_verifier(f"{script} v1 x {{onnx}} {{vnnlib}} {{result}}")
    before = verifier.version()
    (tool.parent / "beside" / "rules.py").write_text("x = 2\n")
    assert verifier.version() != before


def test_scripts_that_call_each_other_and_the_system_end(tmp_path: Path) -> None:
    one, other = tmp_path / "one.sh", tmp_path / "other.sh"
    one.write_text("/usr/bin/env bash other.sh /etc/passwd /dev/null .. / .\n")
    other.write_text(f"bash one.sh {'x' * 5000} \xff\n")
    assert called_files([one], tmp_path) == [one, other]


def test_a_run_does_not_go_on_with_a_changed_file_and_names_it(tool: Path, tmp_path: Path) -> None:
    (tool / "run_instance.sh").write_text('cat "$(dirname "$0")/answers.txt" > "$5"\n')
    made = write_folder(tmp_path / "bench", [instance("meap", "robust")])
    bench, target = BenchmarkFolder.open(made), tmp_path / "run"
    run(bench, [folder_verifier(tool)], Settings(timeout_s=20), target)
    kept = {path: path.read_bytes() for path in target.rglob("*") if path.is_file()}
    record = json.loads((target / RUN_FILE).read_text())["tools"]["tool"]
    assert "answers.txt" in record["files"]
    assert "PATH" in record["not_covered"]
    (tool / "answers.txt").write_text("unknown\n")
    with pytest.raises(BadInput, match=r"\(answers\.txt changed\); choose a new folder"):
        run(bench, [folder_verifier(tool)], Settings(timeout_s=20), target)
    assert {path: path.read_bytes() for path in target.rglob("*") if path.is_file()} == kept
