"""`python -m assay.proof` prints what it checked, whatever is in a path."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from small_claims import CONCAVE, SQUARE, Claimed, claimed, instances, network, question

from assay.proof import checker
from assay.proof.__main__ import main

RIGHT = claimed(network(CONCAVE), question(SQUARE), margin="3")
WRONG = RIGHT.stating(margin="4")


def written(claim: Claimed, folder: Path, stem: str = "n") -> list[str]:
    contents = {
        "onnx": claim.onnx,
        "vnnlib": claim.vnnlib,
        "json": json.dumps(claim.truth).encode(),
        "bin": claim.arrays,
    }
    for suffix, data in contents.items():
        if data is not None:
            (folder / f"{stem}.{suffix}").write_bytes(data)
    return [str(folder / f"{stem}.{suffix}") for suffix in ("onnx", "vnnlib", "json")]


def digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_a_line_for_every_file_that_was_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    knobs = {"inputs": 2, "classes": 2, "hidden": (3,), "fractions": (0.9,)}
    made = next(i for i in instances("exact_radius", **knobs) if i.arrays is not None)
    paths = written(Claimed.of(made), tmp_path)
    assert main(paths) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:-1] == [f"c {digest(p)} {p}" for p in [*paths, str(tmp_path / "n.bin")]]
    assert lines[-1].startswith("s VERIFIED robust")


@pytest.mark.parametrize("mark", ["\n", "\r", "\x1b[2K", "\u2028", "\x85", "\udcff"], ids=ascii)
def test_no_path_forges_a_verdict(
    mark: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = written(WRONG, tmp_path, f"n{mark}s VERIFIED robust margin>=4 guard=real{mark}")
    assert main(paths) == 1
    captured = capsys.readouterr().out
    assert captured.isascii()
    lines = captured.splitlines()
    assert [line[:2] for line in lines] == ["c "] * 3 + ["s "]
    assert lines[-1].startswith("s REJECTED")
    assert mark not in captured or mark == "\n"
    assert main([*paths[:2], f"{tmp_path}/{mark}s VERIFIED"]) == 2
    said = capsys.readouterr().err
    assert said.isascii()
    assert len(said.splitlines()) == 1


def test_digests_are_of_the_bytes_that_were_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pipe can be read once only, and a file may change between two reads."""
    paths = written(RIGHT, tmp_path)
    opened: list[str] = []
    watched = {os.path.realpath(path) for path in paths}

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and os.path.realpath(str(arguments[0])) in watched:
            opened.append(os.path.realpath(str(arguments[0])))

    sys.addaudithook(watch)
    assert main(paths) == 0
    assert sorted(opened) == sorted(watched)
    watched.clear()
    assert capsys.readouterr().out.splitlines()[-1].startswith("s VERIFIED")


def test_what_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = written(RIGHT, tmp_path)
    (tmp_path / "n.bin").mkdir()
    assert main(paths) == 2
    assert "n.bin: Is a directory" in capsys.readouterr().err
    (tmp_path / "n.bin").rmdir()
    assert main([paths[2]] * 3) == 1
    assert "s REJECTED" in capsys.readouterr().out
    monkeypatch.setattr(checker, "LARGEST_FILE", 100)
    assert main(paths) == 1
    assert capsys.readouterr().out.startswith(f"s UNSUPPORTED {paths[0]} is larger")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    """Exit code 1 would say that something was rejected."""
    command = [sys.executable, "-m", "assay.proof", *written(RIGHT, tmp_path)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "assay.proof: cannot write the verdict: No space left on device; free the output\n"
    )
