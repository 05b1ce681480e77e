"""attack.csv: what is written is read again, and what is odd is named."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from assay.attack.battery import Result
from assay.attack.table import ATTACK_FILE, AttackRow, read, row_of, written
from assay.attack.target import Found
from assay.errors import BadInput

FOUND = Found((), -1)  # type: ignore[arg-type]
RESULTS = (
    Result("slow", -1.0, FOUND, 900, 5, 0.25),
    Result("failing", 0.5, None, 100, 0, 0.5),
    Result("quick", -0.5, FOUND, 7, 0, 0.25),
)


def test_the_quickest_finder_is_named_first() -> None:
    row = row_of("a", "violated", RESULTS, True)
    assert (row.hidden, row.found_by) == ("no", ("quick", "slow"))
    assert (row.queries, row.gradients, row.seconds) == (7, 0, 1.0)


@pytest.mark.parametrize(
    ("answer", "whole", "hidden"),
    [("violated", True, "yes"), ("violated", False, ""), ("robust", True, ""), ("", True, "")],
)
def test_hidden_needs_a_violation_and_the_whole_battery(
    answer: str, whole: bool, hidden: str
) -> None:
    row = row_of("a", answer, RESULTS[1:2], whole)
    assert row.hidden == hidden
    assert ("part of the battery" in row.note) == (answer == "violated" and not whole)


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (Result("odd", math.inf), "odd: no margin was a finite number"),
        (Result("odd", 1.0, defect="OSError: x"), r"odd: ended early \(OSError: x\)"),
        (Result("odd", -1.0, undecided="margin -1"), "exact arithmetic cannot tell"),
    ],
)
def test_what_could_not_be_attacked_is_not_hidden(odd: Result, words: str) -> None:
    row = row_of("a", "violated", (RESULTS[1], odd), True)
    assert row.hidden == ""
    assert re.search(words, row.note)
    found = row_of("a", "violated", (RESULTS[0], odd), True)
    assert (found.hidden, found.note) == ("no", "")


def test_written_rows_are_read_again(tmp_path: Path) -> None:
    rows = [
        row_of("a", "violated", RESULTS, True),
        AttackRow("b, odd", "failed", note="broken, file"),
        AttackRow("c", "ok", "planted", "simplex", "violated", "yes", margins={"slow": math.inf}),
    ]
    (tmp_path / ATTACK_FILE).write_text("".join(written(rows, ["slow", "failing", "quick"])))
    assert list(read(tmp_path).values()) == rows
    assert [row.group for row in rows] == ["(unknown)", "(unknown)", "planted simplex"]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("hidden", "hid", "attack.csv:1: has no column hidden"),
        (",no,", ",perhaps,", "attack.csv:2: hidden is 'perhaps', not yes or no"),
        ("-0.5", "x", "attack.csv:2: margin quick 'x' is not a number"),
        (",7,", ",inf,", "attack.csv:2: queries 'inf' is not a whole number"),
        (",7,", ",1e400,", "attack.csv:2: queries '1e400' is not a whole number"),
        (",7,", ",-7,", "attack.csv:2: queries '-7' is not a whole number"),
        (",7,", ",", "attack.csv:2: has another number of cells"),
        ("\na,", "\na,,\na,", "another number of cells"),
    ],
)
def test_odd_tables_are_refused(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    text = "".join(written([row_of("a", "violated", RESULTS, True)], ["quick"]))
    (tmp_path / ATTACK_FILE).write_text(text.replace(old, new))
    with pytest.raises(BadInput, match=sentence):
        read(tmp_path)


def test_a_missing_table_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="run `assay attack"):
        read(tmp_path)
