"""The page about the calibration names every analyser and shows a result of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.analyse.analysers import analysers

PAGE = (Path(__file__).parents[2] / "docs" / "calibration.md").read_text()


@pytest.mark.parametrize("name", analysers())
def test_every_analyser_has_its_rows(name: str) -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
    assert len(rows) >= 2, "one row says what is measured, at least one what came out"
    theorem = "yes" if analysers()[name].holds else "no"
    assert f"| {analysers()[name].answer} | {theorem}" in rows[0]


def test_no_theorem_is_shown_to_be_broken() -> None:
    broken = [line for line in PAGE.splitlines() if "BROKEN" in line]
    assert broken
    assert all(line.startswith("| `decide-paper` |") for line in broken)
