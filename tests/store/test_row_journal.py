"""A journal begins only in a file that is empty, or that a head of its own was cut short in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.errors import BadInput
from assay.store.row_journal import row_journal

HEAD = {"settings": {"timeout": 3}}
WHOLE = json.dumps(HEAD)


@pytest.mark.parametrize("text", ["", WHOLE[:9], WHOLE])
def test_a_head_that_was_cut_short_is_written_again(text: str, tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text(text)
    with row_journal(path, "busy") as journal:
        assert (journal.head, list(journal.rows())) == (None, [])
        journal.restart(HEAD)
        journal.append({"a": 1})
    assert path.read_text() == f'{WHOLE}\n{{"a": 1}}\n'


@pytest.mark.parametrize("text", ["notes", '{"other": 1}', WHOLE + " "])
def test_what_is_no_head_of_ours_is_left_alone(text: str, tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text(text)
    with row_journal(path, "busy") as journal, pytest.raises(BadInput, match="was not written by"):
        journal.restart(HEAD)
    assert path.read_text() == text


def resumed(path: Path, head: dict[str, object]) -> list[dict[str, object]]:
    with row_journal(path, "busy") as journal:
        journal.resume(head, mark="settings", command="us", other=lambda before: f"other {before}")
        return list(journal.rows())


def test_rows_of_the_same_head_go_on_and_others_are_never_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    assert resumed(path, HEAD) == []
    other = {"settings": {"timeout": 4}}
    assert resumed(path, other) == []  # there was nothing to forget
    with row_journal(path, "busy") as journal:
        journal.append({"a": 1})
    assert resumed(path, other) == [{"a": 1}]
    with pytest.raises(BadInput, match=r"holds other \{'settings': \{'timeout': 4\}\}"):
        resumed(path, HEAD)
    path.write_text('{"foreign": 1}\n')
    with pytest.raises(BadInput, match="was not written by us"):
        resumed(path, HEAD)


def test_a_last_line_that_was_cut_short_goes(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text(f'{WHOLE}\n{{"a": 1}}\n{{"b')
    with row_journal(path, "busy") as journal:
        assert list(journal.rows()) == [{"a": 1}]
        journal.append({"b": 2})
    assert path.read_text() == f'{WHOLE}\n{{"a": 1}}\n{{"b": 2}}\n'


def test_rows_are_found_by_their_place(tmp_path: Path) -> None:
    with row_journal(tmp_path / "lines.jsonl", "busy") as journal:
        journal.restart(HEAD)
        places = [journal.append({"n": n, "text": "x" * n}) for n in range(50)]
        assert [journal.at(place)["n"] for place in reversed(places)] == list(range(49, -1, -1))
        assert [place for place, _ in journal.numbered()] == places


def test_one_command_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    with (
        row_journal(path, "first"),
        pytest.raises(BadInput, match="busy here"),
        row_journal(path, "busy here"),
    ):
        pass
