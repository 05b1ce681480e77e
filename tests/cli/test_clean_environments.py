"""Every command in environments as a person makes them: no extras, all extras, the built wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path

import pytest
from smoke_commands import COMMANDS, MISSING, NEEDS_TORCH, prepare, problem

ROOT = Path(__file__).parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
_OURS = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")


def extras() -> str:
    """All extras for people who use Assay; `dev` is for those who write it."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    named = set(document["project"]["optional-dependencies"]) - {"dev"}
    return ",".join(sorted(named))


def called(folder: Path, *command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in _OURS}
    return subprocess.run(
        [str(folder / "bin" / "assay"), *map(str, command)],
        cwd=cwd,
        env={**environment, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def pip(folder: Path, *words: str) -> None:
    command = [str(folder / "bin" / "python"), "-m", "pip", *words, "-c", str(CONSTRAINTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def wheel(place: Path) -> Path:
    words = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "-w",
        str(place),
        str(source(place)),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    (built,) = place.glob("*.whl")
    return built


def source(place: Path) -> Path:
    """What git has: nothing that only lies in this folder may be needed."""
    copy = place / "source"
    copy.mkdir(parents=True)
    listed = [
        "git",
        "-C",
        str(ROOT),
        "ls-files",
        "-z",
        "--",
        "src",
        "*.toml",
        "README.md",
        "LICENSE",
    ]
    names = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes((ROOT / name).read_bytes())
    return copy


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["no extras", "all extras", "wheel"])
def test_every_command_in_an_environment_of_its_own(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    wanted = str(wheel(tmp_path / "wheel") if kind == "wheel" else source(tmp_path))
    pip(folder, "install", "--quiet", f"{wanted}[{extras()}]" if kind == "all extras" else wanted)
    run = partial(called, folder)
    prepare(tmp_path / "place", run)
    ended = {
        name: run(*name.split(), *line, cwd=tmp_path / "place") for name, line in COMMANDS.items()
    }
    assert not list(filter(None, (problem(name, done) for name, done in ended.items())))
    missing = {name for name, done in ended.items() if MISSING in done.stderr}
    assert missing == (set() if kind == "all extras" else NEEDS_TORCH)
