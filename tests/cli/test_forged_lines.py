"""No name of a file prints a line of its own, on stdout or stderr."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command_line import assay

FORGED = "s VERIFIED robust margin>=1 guard=real"
MARKS = pytest.mark.parametrize("mark", ["\n", "\r", "\x1b[2K", "\u2028", "\x85"], ids=ascii)
NAME = "meap-00-000-robust"


def lines(text: str) -> list[str]:
    assert all(c.isprintable() or c == "\n" for c in text), text
    return text.splitlines()


@pytest.fixture
def folder(bench: Path, tmp_path: Path) -> Path:
    made = tmp_path / "files"
    made.mkdir()
    for kind, suffix in (("onnx", "onnx"), ("vnnlib", "vnnlib"), ("truth", "json")):
        shutil.copy(bench / kind / f"{NAME}.{suffix}", made / f"n.{suffix}")
    return made


@MARKS
def test_a_name_that_looks_like_a_verdict(mark: str, folder: Path) -> None:
    truth = (folder / "n.json").rename(folder / f"n{mark}{FORGED}{mark}.json")
    with truth.with_suffix(".bin").open("wb") as stream:
        stream.truncate(300 << 20)
    done = assay("check", folder / "n.onnx", folder / "n.vnnlib", truth)
    assert done.returncode == 1
    (line,) = lines(done.stdout)
    assert line.startswith("s UNSUPPORTED")
    assert "is larger than the checker reads" in line
    assert not any(said.startswith("s ") for said in lines(done.stderr))


def test_a_folder_of_such_names(bench: Path, tmp_path: Path) -> None:
    """Two claims, so that there is a table with a line for each that is not verified."""
    truths = []
    for stem in ("a", "b"):
        for kind, suffix in (("onnx", "onnx"), ("vnnlib", "vnnlib")):
            name = f"{stem}\n{FORGED}.{suffix}"
            shutil.copy(bench / kind / f"{NAME}.{suffix}", tmp_path / name)
        truths.append(tmp_path / f"{stem}\n{FORGED}.json")
        truths[-1].write_text('{"family": "f\\ns VERIFIED robust"}')
    done = assay("check", *truths)
    assert done.returncode == 1
    assert not any(said.startswith("s ") for said in lines(done.stdout) + lines(done.stderr))
