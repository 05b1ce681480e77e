"""What can go wrong with `assay run`: one sentence, exit 2, and nothing lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import assay

SUITE = """name: t
timeout: 30
families:
  - {family: meap, fixed: {pairs: 2, inputs: 3, classes: 2, gamma: 1.0}}
"""
TOOL = '#!/bin/sh\necho unsat > "$3"\n'


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of an error for the person, after what a run says of its progress."""
    assert done.returncode == 2, done.stderr
    lines = [line for line in done.stderr.splitlines() if not line.startswith("run: ")]
    assert len(lines) == 1
    assert lines[0].startswith("assay: ")
    assert "internal" not in lines[0]
    return lines[0]


def build(folder: Path, seed: int) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "t.yaml").write_text(SUITE)
    done = assay("build", folder / "t.yaml", "--seed", seed, "-o", folder / f"bench-{seed}")
    assert done.returncode == 0, done.stderr
    return folder / f"bench-{seed}"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run-errors")


@pytest.fixture(scope="module")
def bench(place: Path) -> Path:
    return build(place, 1)


@pytest.fixture(scope="module")
def tool(place: Path) -> str:
    (place / "tool.sh").write_text(TOOL)
    return f"mine=/bin/sh {place / 'tool.sh'} {{onnx}} {{vnnlib}} {{result}}"


def run(bench: Path, tool: str, target: Path, *more: object) -> subprocess.CompletedProcess[str]:
    return assay("run", bench, "--verifier-command", tool, "-o", target, *more)


@pytest.fixture
def finished(bench: Path, tool: str, tmp_path: Path) -> Path:
    """The folder of a run that is over."""
    target = tmp_path / "run"
    done = run(bench, tool, target)
    assert done.returncode == 0, done.stderr
    return target


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["{bench}", "-v", "marabu"], "did you mean 'marabou'"),
        (["{bench}"], "no verifier is named; add -v NAME"),
        (["nowhere", "-v", "milp"], "not a folder; give a benchmark folder"),
        (["{empty}", "-v", "milp"], "has no instances.csv"),
        (["{bench}", "-v", "milp", "--env", "novalue"], "NAME=VALUE"),
        (["{bench}", "--verifier-dir", "nowhere"], "not a folder"),
        (["{bench}", "--verifier-command", "tool {{onnx}}"], "lacks {vnnlib}"),
        (["{bench}", "-v", "milp", "--timeout", "inf"], "--timeout inf is not a limit"),
        (["{bench}", "-v", "milp", "--timeout", "nan"], "--timeout nan is not a limit"),
        (["{bench}", "-v", "milp", "--memory", "inf"], "--memory inf is not a limit"),
        (["{bench}", "-v", "milp", "--cpu-time", "inf"], "--cpu-time inf is not a limit"),
        (["{bench}", "-v", "milp", "--dask", "nonsense"], "no Dask scheduler at 'nonsense'"),
    ],
)
def test_words_that_are_wrong(bench: Path, tmp_path: Path, command: list[str], words: str) -> None:
    filled = [word.format(bench=bench, empty=tmp_path) for word in command]
    assert words in sentence(assay("run", *filled, "-o", tmp_path / "x"))
    assert not (tmp_path / "x").exists()


def test_a_tool_that_is_not_installed(bench: Path, tmp_path: Path) -> None:
    command = "no-such-program {onnx} {vnnlib} {result}"
    done = run(bench, command, tmp_path / "x")
    assert "'no-such-program' is not installed; get it with" in sentence(done)
    assert not (tmp_path / "x").exists()


def test_without_distributed_the_extra_is_named(
    bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Python finds this module before the installed package.
    (tmp_path / "distributed.py").write_text("raise ModuleNotFoundError(name='distributed')")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    done = assay("run", bench, "-v", "milp", "--dask", "tcp://127.0.0.1:1", "-o", tmp_path / "x")
    assert "pip install 'assay-robustness[cluster]'" in sentence(done)


def test_a_run_of_another_benchmark(finished: Path, tool: str, place: Path) -> None:
    before = (finished / "results.jsonl").read_bytes()
    done = run(build(place, 2), tool, finished)
    assert "a run with another benchmark (its files have other bytes)" in sentence(done)
    assert (finished / "results.jsonl").read_bytes() == before


def test_the_same_benchmark_elsewhere_is_the_same(
    finished: Path, bench: Path, tool: str, tmp_path: Path
) -> None:
    shutil.copytree(bench, tmp_path / "moved")
    done = run(tmp_path / "moved", tool, finished)
    assert done.returncode == 0, done.stderr


def test_a_truth_about_other_bytes(bench: Path, tool: str, tmp_path: Path) -> None:
    spoiled = tmp_path / "spoiled"
    shutil.copytree(bench, spoiled)
    truth = min((spoiled / "truth").glob("*.json"))
    document = json.loads(truth.read_text())
    truth.write_text(json.dumps(document | {"onnx_sha256": "0" * 64}))
    said = sentence(run(spoiled, tool, tmp_path / "x"))
    assert f"{truth}: is about other bytes than the files of {truth.stem}" in said
    assert "rebuild the benchmark" in said
    assert not (tmp_path / "x").exists()


def test_other_limits_name_both(finished: Path, bench: Path, tool: str) -> None:
    said = sentence(run(bench, tool, finished, "--timeout", 5))
    assert "was run with the timeouts of instances.csv, now with timeout 5 s" in said
    assert "give the same --timeout, or choose a new folder" in said
    said = sentence(run(bench, tool, finished, "--memory", 1))
    assert "was run with memory 4 GiB, now with memory 1 GiB" in said


def test_a_tool_that_has_changed(finished: Path, bench: Path, place: Path, tool: str) -> None:
    try:
        (place / "tool.sh").write_text(TOOL + "# another version\n")
        assert "holds results of mine" in sentence(run(bench, tool, finished))
    finally:
        (place / "tool.sh").write_text(TOOL)


@pytest.mark.parametrize("damage", [b"{]", b"\xff\xfe", b'{"instance": 1}', b"\0" * 40])
def test_results_damaged_in_the_middle(
    finished: Path, bench: Path, tool: str, damage: bytes
) -> None:
    file = finished / "results.jsonl"
    lines = file.read_bytes().splitlines()
    assert len(lines) == 2
    damaged = b"\n".join((damage, lines[1], b""))
    file.write_bytes(damaged)
    said = sentence(run(bench, tool, finished))
    assert "results.jsonl:1: not a readable result" in said
    assert "remove the line" in said
    assert file.read_bytes() == damaged
    file.write_bytes(lines[1] + b"\n")
    again = run(bench, tool, finished)
    assert again.returncode == 0, again.stderr
    assert len(file.read_bytes().splitlines()) == 2


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 2', "\0\0"])
def test_a_damaged_run_json(finished: Path, bench: Path, tool: str, text: str) -> None:
    before = (finished / "results.jsonl").read_bytes()
    (finished / "run.json").write_text(text)
    assert "run.json" in sentence(run(bench, tool, finished))
    assert (finished / "results.jsonl").read_bytes() == before


def test_a_file_in_the_way(bench: Path, tool: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    assert "file" in sentence(run(bench, tool, tmp_path / "file"))
    assert "file" in sentence(run(bench, tool, tmp_path / "file" / "below"))
    assert (tmp_path / "file").read_text() == "mine"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for a handful of small files."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)],
        capture_output=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip("a file system can be mounted by root only")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk(bench: Path, tool: str, small_disk: Path) -> None:
    target, repeats = small_disk / "run", ("--repeat", 15)
    done = run(bench, tool, target, *repeats)
    said = sentence(done)
    assert "No space left on device" in said
    assert "run the same command again" in said
    kept = (target / "results.jsonl").read_bytes()
    assert kept.endswith(b"\n"), "whole lines only"
    assert 0 < len(kept.splitlines()) < 30
    assert assay("score", target, "--json").stdout.startswith("{")
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    again = run(bench, tool, target, *repeats)
    assert again.returncode == 0, again.stderr
    now = (target / "results.jsonl").read_bytes()
    assert now.startswith(kept), "nothing was lost"
    assert len(now.splitlines()) == 30
