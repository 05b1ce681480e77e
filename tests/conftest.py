"""For all tests: two tiers, one build of the suite `quick`, and verdicts of the checker that are
kept in a folder of this session's own."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import tempfile
from pathlib import Path

import hypothesis
import pytest
from small_disk import small_disk  # noqa: F401 - a fixture for all
from tier import ALL

from assay.suite.build import build
from assay.suite.spec import load_suite

# A busy machine is no failure: nothing here is timed.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

_CACHE = "ASSAY_CACHE"
_OWNER = "ASSAY_CACHE_OF_TESTS"


def pytest_configure(config: pytest.Config) -> None:
    """Workers of pytest-xdist inherit the environment, and so share what one of them checked."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell starts background jobs so, and commands that tests interrupt would inherit it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if _OWNER not in os.environ:
        os.environ[_CACHE] = os.environ[_OWNER] = tempfile.mkdtemp(prefix="assay-verdicts-")
        config.add_cleanup(_forget)


def _forget() -> None:
    shutil.rmtree(os.environ.pop(_OWNER), ignore_errors=True)
    del os.environ[_CACHE]


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
