"""Reading benchmark folders of ours and of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import BadInput
from assay.suite.folder import BenchmarkFolder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("onnx/a.onnx", "vnnlib/a.vnnlib", "vnnlib/b.vnnlib"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    (tmp_path / "instances.csv").write_text("onnx/a.onnx,vnnlib/a.vnnlib,60\n")
    return tmp_path


def test_a_vnncomp_folder_has_no_truths(folder: Path) -> None:
    rows = "./onnx/a.onnx, vnnlib/a.vnnlib, 60.5\r\n\r\nonnx/a.onnx,vnnlib/b.vnnlib,3"
    (folder / "instances.csv").write_text(rows)
    opened = BenchmarkFolder.open(folder)
    assert [entry.name for entry in opened.entries] == ["a", "a--b"]
    assert [entry.timeout for entry in opened.entries] == [60.5, 3.0]
    assert [entry.line for entry in opened.entries] == [1, 3]
    assert opened.without_truth() == list(opened.entries)


def test_strays(folder: Path) -> None:
    (folder / "truth").mkdir()
    for name in ("a.json", "a.bin", "c.json"):
        (folder / "truth" / name).write_text("{}")
    opened = BenchmarkFolder.open(folder)
    assert not opened.without_truth()
    assert opened.strays() == [folder / "truth/c.json", folder / "vnnlib/b.vnnlib"]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("", "lists no instance"),
        ("onnx,vnnlib,timeout\n", ":1: there is no file 'onnx'"),
        ("onnx/a.onnx,vnnlib/a.vnnlib\n", ":1: has 2 fields"),
        ("onnx/a.onnx,vnnlib/a.vnnlib,soon\n", ":1: timeout 'soon' is not a positive number"),
        ("onnx/a.onnx,vnnlib/a.vnnlib,nan\n", "is not a positive number"),
        ("onnx/a.onnx,vnnlib/a.vnnlib,-1\n", "is not a positive number"),
        ("\nonnx/z.onnx,vnnlib/a.vnnlib,1\n", ":2: there is no file 'onnx/z.onnx'"),
        ("../a.onnx,vnnlib/a.vnnlib,1\n", ":1: '../a.onnx' lies outside the folder"),
        ("/etc/passwd,vnnlib/a.vnnlib,1\n", ":1: '/etc/passwd' lies outside the folder"),
        ("onnx/link.onnx,vnnlib/a.vnnlib,1\n", "lies outside the folder"),
        ("onnx/loop.onnx,vnnlib/a.vnnlib,1\n", ":1: "),
        (f"onnx/{'a' * 5000},vnnlib/a.vnnlib,1\n", "is not a usable path"),
        (f"{'a' * 200_000},vnnlib/a.vnnlib,1\n", ":1: field larger than field limit"),
        ("onnx/a.onnx,vnnlib/a.vnnlib,1\n" * 2, ":2: repeats a of line 1"),
        ('"onnx/a.onnx,vnnlib/a.vnnlib,1\n', "has 1 fields"),
    ],
)
def test_a_wrong_list_is_named_by_line(folder: Path, rows: str, sentence: str) -> None:
    outside = folder.parent / "outside.onnx"
    outside.write_text("x")
    (folder / "onnx/link.onnx").symlink_to(outside)
    (folder / "onnx/loop.onnx").symlink_to(folder / "onnx/loop.onnx")
    (folder / "instances.csv").write_text(rows)
    with pytest.raises(BadInput) as caught:
        BenchmarkFolder.open(folder)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nul_bytes_and_other_encodings(folder: Path) -> None:
    for data in (b"onnx/a\0.onnx,vnnlib/a.vnnlib,1\n", b"\xff\xfe"):
        (folder / "instances.csv").write_bytes(data)
        with pytest.raises(BadInput):
            BenchmarkFolder.open(folder)


def test_packed_files_are_pointed_out(folder: Path) -> None:
    (folder / "onnx/a.onnx").rename(folder / "onnx/a.onnx.gz")
    with pytest.raises(BadInput, match=r"decompress its \.gz first"):
        BenchmarkFolder.open(folder)


def test_not_a_benchmark(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not a folder"):
        BenchmarkFolder.open(tmp_path / "none")
    with pytest.raises(BadInput, match="is it a benchmark"):
        BenchmarkFolder.open(tmp_path)
    (tmp_path / ".build").mkdir()
    with pytest.raises(BadInput, match="finish its build"):
        BenchmarkFolder.open(tmp_path)
