"""A trained network on disk: read as it was written, refused in one sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny_training import TINY

from assay.errors import BadInput
from assay.truth.training.examples import drawn
from assay.truth.training.record import Trained, read
from assay.truth.training.settings import Setting


@pytest.fixture
def trained() -> Trained:
    setting = Setting(5, epsilon=0.3)
    return Trained("net", b"network", drawn(TINY, setting), (1,), TINY, setting, {"epoch": 3})


def test_what_is_written_is_read(trained: Trained, tmp_path: Path) -> None:
    trained.write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.json", "net.onnx"]
    found = read(tmp_path / "net.onnx")
    assert replace(found, examples=trained.examples) == trained
    for name, value in vars(trained.examples).items():
        assert np.array_equal(getattr(found.examples, name), value), name
    assert found.examples.centres.dtype == np.float32


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "3",
        '"schema"',
        "{}",
        "[" * 100_000,
        *(
            json.dumps({"schema": 1, "epsilon": 1, "centres": centres})
            for centres in ([[0.5]], [[1 << 24]], [1], [["x"]])
        ),
    ],
)
def test_a_damaged_record_is_refused(trained: Trained, tmp_path: Path, text: str) -> None:
    trained.write(tmp_path)
    (tmp_path / "net.json").write_text(text)
    with pytest.raises(BadInput, match=r"net\.json: is no record of a trained network .*again"):
        read(tmp_path / "net.onnx")


def test_another_schema_is_refused(trained: Trained, tmp_path: Path) -> None:
    trained.write(tmp_path)
    document = json.loads((tmp_path / "net.json").read_text())
    (tmp_path / "net.json").write_text(json.dumps({**document, "schema": 2}))
    with pytest.raises(BadInput, match="another version"):
        read(tmp_path / "net.onnx")


@pytest.mark.parametrize("missing", ["net.onnx", "net.json"])
def test_a_missing_file_is_named(trained: Trained, tmp_path: Path, missing: str) -> None:
    trained.write(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(BadInput, match=rf"{missing}: cannot be read \(No such file"):
        read(tmp_path / "net.onnx")
