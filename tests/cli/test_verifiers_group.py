"""`assay verifiers install` and `remove` as a person uses them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from command_line import assay


def verifiers(home: Path, *command: object) -> subprocess.CompletedProcess[str]:
    return assay("verifiers", *command, ASSAY_HOME=str(home), COLUMNS="200")


def test_install_list_remove(tmp_path: Path) -> None:
    source = tmp_path / "pyrat"
    source.mkdir()
    for name in ("prepare_instance.sh", "run_instance.sh"):
        (source / name).write_text("exit 0\n")
    listed = {entry["name"]: entry for entry in json.loads(verifiers(tmp_path, "--json").stdout)}
    assert (listed["pyrat"]["installed"], listed["pyrat"]["version"]) == (False, None)
    assert listed["pyrat"]["install"] == "assay verifiers install pyrat --source PATH"
    assert listed["milp"]["installed"]
    assert "not installed" in verifiers(tmp_path).stdout

    done = verifiers(tmp_path, "install", "pyrat", "--source", source, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["source"] == str(source)
    assert "virtual environment" in done.stderr
    listed = {entry["name"]: entry for entry in json.loads(verifiers(tmp_path, "--json").stdout)}
    assert listed["pyrat"]["installed"]

    assert verifiers(tmp_path, "remove", "pyrat").stdout == "pyrat is removed\n"
    assert not (tmp_path / "verifiers" / "pyrat").exists()


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["install", "neuralsta"], "did you mean 'neuralsat'?"),
        (["install", "milp"], "no environment of its own to install; get it with: built in"),
        (["install", "pyrat"], "install pyrat --source PATH"),
        (["install", "pyrat", "--source", "nowhere"], "nowhere: holds no prepare_instance.sh"),
        (["install", "neuralsat", "--source", "."], "comes from its package; leave --source out"),
        (["remove", "neuralsat"], "has no environment in"),
        (["remove", "../verifiers"], "is not the name of a verifier"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, command: list[str], sentence: str) -> None:
    done = verifiers(tmp_path, *command)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
