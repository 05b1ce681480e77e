"""One benchmark and one run of an honest tool and a liar, for every test of a page."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_runs import answers, benchmark, run, truth

from assay.truth.record import Truth


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    known: dict[str, Truth | None] = {
        "a-robust": truth("robust"),
        "a-violated": truth("violated"),
        "b-robust": truth("robust", family="corners"),
        "edge-violated": truth("violated", "real", "corners"),
        "foreign": None,
    }
    return benchmark(tmp_path / "bench", known)


@pytest.fixture
def first(tmp_path: Path, bench: Path) -> Path:
    return run(tmp_path / "run", bench, [*answers("good", False), *answers("liar", True)], "hello")
