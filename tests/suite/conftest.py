"""The planted family, seen by this process, its workers and the commands that it starts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import assay.truth
from assay.truth.families import families

PLANTED = Path(__file__).parent / "planted"
SOURCE = Path(assay.truth.__file__).parents[2]


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    path = os.pathsep.join([str(PLANTED), str(SOURCE)])
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.setattr(assay.truth, "__path__", [*assay.truth.__path__, str(PLANTED / "families")])
    families.cache_clear()
    yield
    families.cache_clear()
