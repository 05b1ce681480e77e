"""profile.csv is read whole or refused with one sentence."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from assay.difficulty.profile_table import read_profile_table
from assay.errors import BadInput

HEADER = "instance,status,M_min,G_IBP,U,A_tau,d_eff,M_searched,found_by,note\n"


def written(folder: Path, text: str) -> Path:
    (folder / "profile.csv").write_text(text)
    return folder


def test_components_are_numbers_and_all_other_cells_text(tmp_path: Path) -> None:
    rows = "a,ok,0.5,inf,0.25,-0.0,3.5,-inf,corner,\nb,failed,,,,,,,,operator X\n"
    table = read_profile_table(written(tmp_path, HEADER + rows))
    assert list(table) == ["a", "b"]
    assert table["a"].values == {
        "M_min": 0.5,
        "G_IBP": math.inf,
        "U": 0.25,
        "A_tau": 0,
        "d_eff": 3.5,
    }
    assert table["a"].others["M_searched"] == "-inf"
    assert table["b"].values is None
    assert table["b"].others["note"] == "operator X"


def test_a_row_with_a_nan_has_no_profile(tmp_path: Path) -> None:
    table = read_profile_table(written(tmp_path, HEADER + "a,ok,0.5,nan,0,0,0,0,corner,\n"))
    assert table["a"].values is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has no column instance, status, M_min"),
        (HEADER, "profile.csv: has no row; run `assay profile`"),
        (HEADER.replace("U,", "", 1), "profile.csv:1: has no column U; run"),
        (HEADER.replace("note", "U"), "profile.csv:1: names a column twice"),
        (HEADER + "a,ok,0.5,much,0,0,0,0,c,\n", "profile.csv:2: G_IBP 'much' is not a number"),
        (HEADER + "a,ok,,1,0,0,0,0,c,\n", "profile.csv:2: M_min '' is not a number"),
        (HEADER + ",ok,1,1,0,0,0,0,c,\n", "profile.csv:2: names no instance"),
        (HEADER + "a,ok,0.5,1\n", "profile.csv:2: has 4 cells under 10 columns"),
        (
            HEADER + "a,ok,1,1,0,0,0,0,c,\n" * 2,
            "profile.csv:3: repeats a of line 2; remove one",
        ),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        read_profile_table(written(tmp_path, text))


def test_no_table_at_all(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=f"run `assay profile {tmp_path}` first"):
        read_profile_table(tmp_path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "profile.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="is no table in UTF-8"):
        read_profile_table(tmp_path)
