"""Weights beside the file, as torch.onnx.export writes them: read, and only from where they may."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from assay.errors import BadInput
from assay.question.external_data import LARGEST_MODEL, WeightsElsewhere
from assay.question.graph import mlp
from assay.question.model_file import network_sha256, read_model
from assay.question.network import load, load_file
from assay.question.runtime import FloatRunner
from assay.store.file_hash import file_sha256

WEIGHT = np.array([[1, -2], [0.5, 3], [0, 1]], np.float32)
BIAS = np.array([0, 1, -1], np.float32)


def beside(folder: Path, name: str = "net.onnx") -> Path:
    """A small MLP whose four tensors lie in NAME.data."""
    model = onnx.load_from_string(mlp([(WEIGHT, BIAS), (WEIGHT.T.copy(), BIAS[:2])]))
    path = folder / name
    onnx.save(model, path, save_as_external_data=True, location=f"{name}.data", size_threshold=0)
    return path


def relocated(path: Path, **entries: str | None) -> Path:
    """The first tensor's data lies where `entries` say instead."""
    model = onnx.load(path, load_external_data=False)
    tensor = model.graph.initializer[0]
    known = {e.key: e.value for e in tensor.external_data} | entries
    del tensor.external_data[:]
    for key, value in known.items():
        if value is not None:
            tensor.external_data.add(key=key, value=value)
    path.write_bytes(model.SerializeToString())
    return path


def test_weights_beside_the_file_are_part_of_the_network(tmp_path: Path) -> None:
    network = load_file(beside(tmp_path))
    single = load(mlp([(WEIGHT, BIAS), (WEIGHT.T.copy(), BIAS[:2])]), "single")
    points = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
    assert FloatRunner(network).run(points).tolist() == FloatRunner(single).run(points).tolist()


def test_the_hash_covers_the_weights(tmp_path: Path) -> None:
    path = beside(tmp_path)
    before = load_file(path).sha256
    assert network_sha256(path) == before != file_sha256(path)
    data = tmp_path / "net.onnx.data"
    changed = bytearray(data.read_bytes())
    changed[3] ^= 1
    data.write_bytes(changed)
    assert load_file(path).sha256 == network_sha256(path) != before


def test_a_missing_length_is_what_the_shape_needs(tmp_path: Path) -> None:
    path = beside(tmp_path)
    before = load_file(path).sha256
    assert load_file(relocated(path, length=None)).sha256 == before


def _absolute(path: Path) -> Path:
    return relocated(path, location=str(path.with_name("net.onnx.data")))


def _parent(path: Path) -> Path:
    return relocated(path, location=f"../{path.parent.name}/net.onnx.data")


def _link_out(path: Path) -> Path:
    data, elsewhere = path.with_name("net.onnx.data"), path.parent.parent / "weights"
    data.rename(elsewhere)
    data.symlink_to(elsewhere)
    return path


def _folder_link_out(path: Path) -> Path:
    elsewhere = path.parent.parent / "more"
    elsewhere.mkdir()
    path.with_name("net.onnx.data").rename(elsewhere / "net.onnx.data")
    path.with_name("sub").symlink_to(elsewhere)
    return relocated(path, location="sub/net.onnx.data")


def _gone(path: Path) -> Path:
    path.with_name("net.onnx.data").unlink()
    return path


def _pipe(path: Path) -> Path:
    _gone(path)
    os.mkfifo(path.with_name("net.onnx.data"))
    return path


def _short(path: Path) -> Path:
    data = path.with_name("net.onnx.data")
    data.write_bytes(data.read_bytes()[:-1])
    return path


def _twice(path: Path) -> Path:
    model = onnx.load(path, load_external_data=False)
    model.graph.initializer[0].raw_data = WEIGHT.tobytes()
    path.write_bytes(model.SerializeToString())
    return path


def _also_as_numbers(path: Path) -> Path:
    model = onnx.load(path, load_external_data=False)
    model.graph.initializer[0].float_data.extend(WEIGHT.ravel().tolist())
    path.write_bytes(model.SerializeToString())
    return path


REFUSED: dict[str, tuple[Callable[[Path], Path], str]] = {
    "absolute": (_absolute, "only a file in the model's own folder is read"),
    "parent": (_parent, "only a file in the model's own folder is read"),
    "windows": (lambda p: relocated(p, location="C:net.onnx.data"), "model's own folder"),
    "backslash": (lambda p: relocated(p, location="..\\net.onnx.data"), "model's own folder"),
    "no location": (lambda p: relocated(p, location=None), "model's own folder"),
    "a folder": (lambda p: relocated(p, location="."), "no such file beside the model"),
    "link out": (_link_out, "is a link out of the model's folder; put the file itself there"),
    "folder link out": (_folder_link_out, "is a link out of the model's folder"),
    "gone": (_gone, "no such file beside the model; keep both files together"),
    "pipe": (_pipe, "no such file beside the model"),
    "short": (_short, "which holds 67; get the whole file"),
    "long length": (lambda p: relocated(p, length="28"), r"28 bytes .* shape \[3, 2\] needs 24"),
    "late offset": (lambda p: relocated(p, offset="48"), "needs bytes 48 to 72 of"),
    "huge offset": (lambda p: relocated(p, offset="9" * 30), "is no whole number"),
    "negative offset": (lambda p: relocated(p, offset="-4"), "is no whole number"),
    "twice": (_twice, "has data in the file and in another one"),
    "also as numbers": (_also_as_numbers, "has data in the file and in another one"),
}


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_data_is_read_from_the_models_folder_only(tmp_path: Path, case: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    edit, reason = REFUSED[case]
    path = edit(beside(folder))
    with pytest.raises(BadInput, match=reason) as refused:
        load_file(path)
    assert str(refused.value).startswith(f"{path}: tensor 'Gemm_0.B'") or case == "short"
    assert "\n" not in str(refused.value)


def test_what_no_single_file_can_hold_is_said_before_it_is_read(tmp_path: Path) -> None:
    """A sparse file stands for 2 GB of weights."""
    path = beside(tmp_path)
    model = onnx.load(path, load_external_data=False)
    tensor = model.graph.initializer[0]
    tensor.dims[:] = [2**29, 1]
    del tensor.external_data[:]
    for key, value in (("location", "large.data"), ("length", str(2**31))):
        tensor.external_data.add(key=key, value=value)
    path.write_bytes(model.SerializeToString())
    with (tmp_path / "large.data").open("wb") as stream:
        stream.truncate(2**31)
    with pytest.raises(WeightsElsewhere, match=rf"limits a single file to {LARGEST_MODEL}"):
        read_model(path)
