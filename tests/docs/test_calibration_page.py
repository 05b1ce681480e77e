"""The page about the calibration names every analyser, shows a result of each, and its power."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.analyse.analysers import analysers
from assay.analyse.broken import broken_analysers
from assay.analyse.calibration.accusation import LEVEL, MOST_TESTS

PAGE = (Path(__file__).parents[2] / "docs" / "calibration.md").read_text()


@pytest.mark.parametrize("name", analysers())
def test_every_analyser_has_its_rows(name: str) -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
    assert len(rows) >= 2, "one row says what is measured, at least one what came out"
    theorem = "yes" if analysers()[name].holds else "no"
    assert f"| {analysers()[name].answer} | {theorem}" in rows[0]


def test_no_theorem_is_shown_to_be_broken() -> None:
    broken = [line for line in PAGE.splitlines() if "| BROKEN" in line]
    assert broken
    assert all(line.startswith("| `decide-paper` |") for line in broken)


def test_tests_are_not_called_kept() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `") and "p-value" in line]
    assert rows
    assert all(line.endswith("| not contradicted |") for line in rows)


def test_the_table_of_broken_analysers_is_that_of_the_registry() -> None:
    lines = PAGE.splitlines()
    first = lines.index("| broken analyser | bug | caught by | by what |") + 2
    table = lines[first : first + len(broken_analysers())]
    shown = [tuple(cell.strip() for cell in line.split("|")[1:4]) for line in table]
    assert [cells[:2] for cells in shown] == [
        (f"`{one.name}`", one.story) for one in broken_analysers().values()
    ]
    assert {cells[2] for cells in shown} <= {"exact", "one question", "all questions"}
    assert not lines[first + len(broken_analysers())].startswith("|")


def test_the_level_is_that_of_the_code() -> None:
    said = f"below {LEVEL:g} divided by {MOST_TESTS:,}".replace("1e-06", "1e-6")
    assert said in " ".join(PAGE.split())
