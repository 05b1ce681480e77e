"""A journal begins only in a file that is empty, or that a head of its own was cut short in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.errors import BadInput
from assay.suite.line_journal import line_journal
from assay.suite.row_progress import row_progress

HEAD = {"settings": {"timeout": 3}}
WHOLE = json.dumps(HEAD)


@pytest.mark.parametrize("text", ["", WHOLE[:9], WHOLE])
def test_a_head_that_was_cut_short_is_written_again(text: str, tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text(text)
    with line_journal(path, "busy") as journal:
        assert (journal.head, journal.lines) == (None, [])
        journal.restart(HEAD)
        journal.append({"a": 1})
    assert path.read_text() == f'{WHOLE}\n{{"a": 1}}\n'


@pytest.mark.parametrize("text", ["notes", '{"other": 1}', WHOLE + " "])
def test_what_is_no_head_of_ours_is_left_alone(text: str, tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text(text)
    with line_journal(path, "busy") as journal, pytest.raises(BadInput, match="was not written by"):
        journal.restart(HEAD)
    # As tables that are made row by row meet it.
    with (
        row_progress(path, HEAD, "profiling") as progress,
        pytest.raises(BadInput, match="was not written by"),
    ):
        progress.known({}, dict)
    assert path.read_text() == text


def test_a_last_line_that_was_cut_short_goes(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text(f'{WHOLE}\n{{"a": 1}}\n{{"b')
    with line_journal(path, "busy") as journal:
        assert journal.lines == [{"a": 1}]
        journal.append({"b": 2})
    assert path.read_text() == f'{WHOLE}\n{{"a": 1}}\n{{"b": 2}}\n'
