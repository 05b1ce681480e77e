"""Leaves out what only `make test-all` runs, and builds the suite `quick` once for all tests."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest
from tier import ALL

from assay.suite.build import build
from assay.suite.spec import load_suite


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not ALL:
        left_out = [item for item in items if item.get_closest_marker("nightly")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]
    # A file goes to one worker whole: the long ones first, so that none is left over at the end.
    long = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in long)


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The benchmark folder of the bundled suite `quick`; copy it before you change it."""
    ours = tmp_path_factory.getbasetemp()
    shared = ours if worker_id == "master" else ours.parent
    folder = shared / "quick-built-once"
    with (shared / "quick.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the first worker builds, the others wait for it
        if not (folder / "suite.json").exists():
            build(load_suite("quick"), folder, seed=None, jobs=2)
    return folder
