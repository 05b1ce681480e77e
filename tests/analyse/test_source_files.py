"""Files and packages behind a model: all that are found, and in words those that are not."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from assay.analyse import source_files
from assay.analyse.model import onnx_model, runnable_model
from assay.analyse.model_identity import identity_changes
from assay.analyse.source_files import sources_of
from assay.question.graph import mlp
from assay.question.model_file import read_model
from assay.question.runnable import Runnable


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "site-packages"), *sys.path])
    (tmp_path / "site-packages").mkdir()
    return tmp_path


def test_files_beyond_the_limit_are_said(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        (place / f"part_{number}.py").write_text(f"import part_{number + 1}\n")
    assert not sources_of([place / "part_0.py"]).not_covered
    monkeypatch.setattr(source_files, "MOST_FILES", 2)
    found = sources_of([place / "part_0.py"])
    assert set(found.files) == {"part_0.py", "part_1.py"}
    assert found.not_covered == ("files that are imported beyond the first 2",)


def test_a_package_without_a_version_counts_as_it_was_installed(place: Path) -> None:
    """`google` is a name that several packages share, and has no version itself."""
    (place / "net.py").write_text("import google.protobuf, pluggy, os.path\nfrom . import x\n")
    found = sources_of([place / "net.py"])
    assert metadata.version("protobuf") in found.packages["google"]
    assert found.packages["pluggy"] == metadata.version("pluggy")
    assert not found.not_covered


def test_a_package_is_known_before_it_is_imported(place: Path) -> None:
    (place / "net.py").write_text("def net(x):\n    import hatchless\n")
    folder = place / "site-packages" / "hatchless"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    found = sources_of([place / "net.py"])
    assert found.not_covered == ("the version of hatchless, which does not tell it",)
    assert "hatchless" not in found.packages


def test_an_onnx_file_is_known_with_the_version_of_what_runs_it(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(mlp([(np.eye(2, dtype=np.float32), np.zeros(2, np.float32))]))
    for model in (onnx_model(path), runnable_model(Runnable(read_model(path)))):
        assert model.identity["packages"] == {"onnxruntime": onnxruntime.__version__}
        before = {**model.identity, "packages": {"onnxruntime": "1.0"}}
        assert list(identity_changes(before, model.identity)) == ["the version of onnxruntime"]
