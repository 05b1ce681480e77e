"""Inputs of every kind are read as they are; every wrong file is refused in one sentence."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from assay.analyse.inputs import read_input, read_inputs
from assay.errors import BadInput

GREY = np.arange(12, dtype=np.uint8).reshape(3, 4)
COLOUR = np.arange(36, dtype=np.uint8).reshape(3, 4, 3)


def saved(path: Path, array: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".npy":
        np.save(path, array)
    else:
        Image.fromarray(array).save(path)
    return path


def test_an_array_keeps_its_shape(tmp_path: Path) -> None:
    found = read_input(saved(tmp_path / "x.npy", COLOUR.astype(np.float32)))
    assert found.dtype == np.float64
    assert np.array_equal(found, COLOUR)


def test_one_of_several_arrays_is_picked(tmp_path: Path) -> None:
    path = saved(tmp_path / "x.npy", COLOUR)
    assert np.array_equal(read_input(path, index=2), COLOUR[2])
    with pytest.raises(BadInput, match="holds 3 inputs, numbered from 0, and no number 3"):
        read_input(path, index=3)
    with pytest.raises(BadInput, match="holds 1 inputs"):
        read_input(saved(tmp_path / "y.npy", np.arange(4)), index=0)


def test_pictures_have_channels_where_the_layout_says(tmp_path: Path) -> None:
    colour = saved(tmp_path / "colour.png", COLOUR)
    assert np.array_equal(read_input(colour), COLOUR.transpose(2, 0, 1))
    assert np.array_equal(read_input(colour, "hwc"), COLOUR)
    grey = saved(tmp_path / "grey.png", GREY)
    assert np.array_equal(read_input(grey), GREY[None])
    assert np.array_equal(read_input(grey, "hwc"), GREY[:, :, None])


def test_black_and_white_and_transparent_pictures_keep_their_channels(tmp_path: Path) -> None:
    Image.fromarray(GREY > 5).save(tmp_path / "bits.png")
    assert np.array_equal(read_input(tmp_path / "bits.png"), 255.0 * (GREY > 5)[None])
    Image.fromarray(COLOUR).convert("RGBA").save(tmp_path / "clear.png")
    assert np.array_equal(read_input(tmp_path / "clear.png", "hwc"), COLOUR)


def test_pictures_of_more_bits_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "deep.png", GREY.astype(np.uint16) * 1000)
    with pytest.raises(BadInput, match=r"save it with 8 bits, or as .npy"):
        read_input(path)


def test_a_picture_has_no_index(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="leave the index out"):
        read_input(saved(tmp_path / "x.png", GREY), index=0)


def test_a_stack_holds_inputs_and_labels(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    np.savez(path, inputs=COLOUR, labels=np.array([4, 5, 6]))
    found = read_inputs(path)
    assert np.array_equal(found.points, COLOUR)
    assert found.labels.tolist() == [4, 5, 6]
    assert found.names == ("data#0", "data#1", "data#2")
    assert np.array_equal(read_input(path, index=1), COLOUR[1])
    assert found.chosen(np.array([2, 0])).labels.tolist() == [6, 4]
    with pytest.raises(BadInput, match="holds 3 inputs; pick one with --index"):
        read_input(path)


def test_sub_folders_are_classes(tmp_path: Path) -> None:
    for name, value in (("10/b.png", 3), ("2/a.npy", 1), ("2/B.PNG", 2), ("10/notes.txt", 0)):
        if name.endswith("txt"):
            (tmp_path / name).write_text("nothing")
        else:
            shape = (2, 2) if name.lower().endswith("png") else (1, 2, 2)
            saved(tmp_path / name, np.full(shape, value, np.uint8))
    found = read_inputs(tmp_path)
    assert found.labels.tolist() == [2, 2, 10]
    assert found.names == ("2/B.PNG", "2/a.npy", "10/b.png")
    assert found.points[:, 0, 0, 0].tolist() == [2, 1, 3]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_labels_may_be_listed(tmp_path: Path, mark: str) -> None:
    saved(tmp_path / "set" / "a.npy", GREY)
    other = saved(tmp_path / "elsewhere" / "b.npy", GREY + 1)
    table = tmp_path / "set" / "labels.csv"
    table.write_text(f"{mark}{other},1\n\na.npy, 0\n", encoding="utf-8")
    found = read_inputs(tmp_path / "set")
    assert found.labels.tolist() == [1, 0]
    assert np.array_equal(found.points[0], GREY + 1)
    assert found.names == ("../elsewhere/b.npy", "a.npy")


def zipped() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, inputs=GREY, labels=np.arange(3))
    return stream.getvalue()


def array_bytes(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("x.npy", b"", "cannot be read"),
        ("x.npy", b"no array", "cannot be read"),
        ("x.npy", array_bytes(GREY)[:-3], "cannot be read"),
        ("x.npy", array_bytes(GREY.astype(complex)), "give an array of numbers"),
        ("x.npy", array_bytes(np.array(["one"])), "give an array of numbers"),
        ("x.npy", array_bytes(np.empty((0, 3))), "give an array of numbers"),
        ("x.npy", zipped(), "name it .npz"),
        ("x.npz", zipped()[:80], "cannot be read"),
        ("x.npz", array_bytes(GREY), "name it .npy"),
        ("x.png", b"", "cannot be read"),
        ("x.png", b"\x89PNG\r\n\x1a\n and no more", "cannot be read"),
        ("x.txt", b"1 2 3", "give one of .npy, .npz, .png"),
    ],
)
def test_files_that_are_no_inputs_are_refused(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=reason) as refusal:
        read_input(tmp_path / name, index=0 if name.endswith("npz") else None)
    assert name in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{}], dtype=object))
    with pytest.raises(BadInput, match="cannot be read"):
        read_input(tmp_path / "x.npy")


@pytest.mark.parametrize("name", ["none.npy", "none.png"])
def test_missing_files_are_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match=f"{name}: cannot be read"):
        read_input(tmp_path / name)


def test_a_folder_is_no_single_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is a folder"):
        read_input(tmp_path)


def test_an_array_is_no_data_set(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no folder and no .npz file"):
        read_inputs(saved(tmp_path / "x.npy", GREY))


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"inputs": GREY}, "give the arrays 'inputs' and 'labels'"),
        ({"inputs": GREY, "labels": np.arange(2)}, "need one whole number each"),
        ({"inputs": GREY, "labels": np.arange(3.0)}, "need one whole number each"),
        ({"inputs": np.arange(3), "labels": np.arange(3)}, "need one whole number each"),
        ({"inputs": np.empty((0, 3)), "labels": np.arange(0)}, "give an array of numbers"),
    ],
)
def test_stacks_of_other_things_are_refused(
    tmp_path: Path, arrays: dict[str, np.ndarray], reason: str
) -> None:
    np.savez(tmp_path / "data.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=reason):
        read_inputs(tmp_path / "data.npz")


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ("a.npy\n", "line 1 is not FILE,LABEL"),
        ("a.npy,0\na.npy,cat\n", "line 2 is not FILE,LABEL"),
        ("a.npy,99999999999999999999\n", "line 1 is not FILE,LABEL"),
        ("missing.npy,0\n", "missing.npy: cannot be read"),
        ("a.npy,0\nb.npy,1\n", "give inputs of one shape"),
        ("", "holds no inputs"),
    ],
)
def test_bad_lists_are_refused(tmp_path: Path, table: str, reason: str) -> None:
    saved(tmp_path / "a.npy", GREY)
    saved(tmp_path / "b.npy", GREY[:2])
    (tmp_path / "labels.csv").write_text(table)
    with pytest.raises(BadInput, match=reason):
        read_inputs(tmp_path)


def test_folders_that_are_no_classes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="holds no inputs"):
        read_inputs(tmp_path)
    (tmp_path / "cats").mkdir()
    with pytest.raises(BadInput, match="cats: is not the number of a class"):
        read_inputs(tmp_path)
