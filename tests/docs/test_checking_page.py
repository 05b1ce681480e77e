"""The limits on file sizes that the page states are those of the checker."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.proof import work
from assay.suite.checking import Claim, check_claim
from assay.truth.families import family
from assay.truth.instance import Instance

PAGE = Path(__file__).parents[2] / "docs" / "checking.md"
MEBIBYTE = 1 << 20


@pytest.fixture(scope="module")
def limits() -> tuple[int, int]:
    """Of networks and arrays, and of questions and truths, in bytes."""
    text = PAGE.read_text()
    large = re.search(r"^\| a network, or a certificate's arrays \| (\d+) MiB", text, re.MULTILINE)
    small = re.search(r"^\| a question, a truth \| (\d+) MiB each \|$", text, re.MULTILINE)
    assert large is not None
    assert small is not None
    return int(large[1]) * MEBIBYTE, int(small[1]) * MEBIBYTE


def test_the_account_of_the_table() -> None:
    text = PAGE.read_text()
    stated = [
        int(row) for row in re.findall(r"^\| (?:weights|work).*\| 2\^(\d+) \|$", text, re.MULTILINE)
    ]
    assert [1 << power for power in stated] == [work.MOST_KEPT, work.MOST_WORK]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    made: Instance = family("meap").make(
        family("meap").knobs.model_validate({"inputs": 2, "classes": 2, "pairs": 2}), 0
    )[0]
    found = {name: tmp_path / f"a.{name}" for name in ("onnx", "vnnlib", "json", "bin")}
    found["onnx"].write_bytes(made.onnx)
    found["vnnlib"].write_bytes(made.vnnlib)
    found["json"].write_text(made.truth.to_json())
    return found


def line(files: dict[str, Path]) -> str:
    return check_claim(Claim("a", files["onnx"], files["vnnlib"], files["json"])).line


def test_a_truth_of_the_stated_size_is_read(
    files: dict[str, Path], limits: tuple[int, int]
) -> None:
    data = files["json"].read_bytes()
    files["json"].write_bytes(data + b" " * (limits[1] - len(data)))
    assert line(files).startswith("s VERIFIED")
    with files["json"].open("ab") as stream:
        stream.write(b" ")
    assert line(files) == "s UNSUPPORTED the truth is larger than the checker reads"


@pytest.mark.parametrize(("name", "kind"), [("onnx", 0), ("bin", 0), ("vnnlib", 1)])
def test_a_larger_file_is_unsupported(
    files: dict[str, Path], limits: tuple[int, int], name: str, kind: int
) -> None:
    with files[name].open("ab") as stream:
        stream.truncate(limits[kind] + 1)
    if name == "vnnlib":  # the truth must be about the bytes that are there
        import hashlib

        old = hashlib.sha256(files[name].read_bytes().rstrip(b"\0")).hexdigest()
        data = files[name].read_bytes().replace(b"\0", b"\n")
        files[name].write_bytes(data)
        text = files["json"].read_text()
        files["json"].write_text(text.replace(old, hashlib.sha256(data).hexdigest()))
    assert line(files).startswith("s UNSUPPORTED")
