"""For all tests: verdicts that the checker made are kept in a folder of this session's own."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest

_CACHE = "ASSAY_CACHE"
_OWNER = "ASSAY_CACHE_OF_TESTS"


def pytest_configure(config: pytest.Config) -> None:
    """Workers of pytest-xdist inherit the environment, and so share what one of them checked."""
    if _OWNER not in os.environ:
        os.environ[_CACHE] = os.environ[_OWNER] = tempfile.mkdtemp(prefix="assay-verdicts-")
        config.add_cleanup(_forget)


def _forget() -> None:
    shutil.rmtree(os.environ.pop(_OWNER), ignore_errors=True)
    del os.environ[_CACHE]
