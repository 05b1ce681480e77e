"""Folders of tasks: gone with their runner, swept when it was killed, never another's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.engine.item_folders import PREFIX, item_folders, sweep


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_it_is_gone_afterwards(place: Path) -> None:
    with item_folders() as base:
        assert base.parent == place
        (base / "0").mkdir()
    assert not base.exists()


def test_one_in_use_is_left_alone_and_one_of_the_dead_is_not(place: Path) -> None:
    dead = place / f"{PREFIX}dead"
    (dead / "0" / "tmp").mkdir(parents=True)
    with item_folders() as mine:
        assert not dead.exists()
        with item_folders() as other:
            assert mine.exists()
            assert other != mine
        assert mine.exists()


def test_what_is_not_ours_is_left_alone(place: Path) -> None:
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    link = place / f"{PREFIX}link"
    link.symlink_to(elsewhere)
    file = place / f"{PREFIX}file"
    file.touch()
    kept = {elsewhere, link, file}
    if os.geteuid() == 0:
        theirs = place / f"{PREFIX}theirs"
        theirs.mkdir()
        os.chown(theirs, 65534, 65534)
        kept.add(theirs)
    sweep(place)
    assert set(place.iterdir()) == kept
