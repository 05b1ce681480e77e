"""A real disk of a few kilobytes, to fill: a file system in memory, which only root can mount."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Disk:
    path: Path

    def grow(self, kilobytes: int) -> None:
        size = f"remount,size={kilobytes}k"
        subprocess.run(["mount", "-o", size, str(self.path)], check=True)


SmallDisk = Callable[[int], Disk]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """Makes disks of so many kilobytes; they are gone after the test."""
    made: list[Path] = []

    def mounted(kilobytes: int) -> Disk:
        path = tmp_path / f"disk-{len(made)}"
        path.mkdir()
        size = f"size={kilobytes}k"
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(path)], capture_output=True
        )
        if done.returncode:
            pytest.skip("mounting takes root")
        made.append(path)
        return Disk(path)

    yield mounted
    for path in made:
        subprocess.run(["umount", "--lazy", str(path)], check=True)
