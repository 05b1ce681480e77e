"""Whole trainings: alone and in company, stopped and continued, done before the end."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_training import CPU, apart, tiny

from assay.errors import BadInput
from assay.store.whole_file import unfinished
from assay.truth.training import memory, run
from assay.truth.training.checkpoint import load
from assay.truth.training.run import Progress, counted, train, trained_here
from assay.truth.training.settings import Schedule, Setting

SETTINGS = (Setting(0, window=8), Setting(1, window=3, margin=None), Setting(2, window=5))
OTHER_NOISE = np.zeros((len(SETTINGS), 4), np.uint8)
EASY = tiny(classes=2, examples=1, epochs=150, restarts=4, steps=4, look_every=10)
"""Most seeds hide their counterexample from so weak an attack before the epochs are over."""


@pytest.mark.parametrize("architecture", ["tiny_mlp", "tiny_cnn"])
@pytest.mark.parametrize(("windows", "distance"), [((5, 5, 5), 0.0), ((8, 3, 5), 1e-6)])
def test_company_changes_nothing(
    architecture: str, windows: tuple[int, ...], distance: float
) -> None:
    """Bit for bit on the CPU if windows are equally long; else sums round in another order."""
    schedule = tiny(architecture=architecture)
    settings = [replace(s, window=w) for s, w in zip(SETTINGS, windows, strict=True)]
    together = train(schedule, settings, CPU)
    alone = [train(schedule, [setting], CPU)[0] for setting in settings]
    assert apart(together, alone) <= distance
    assert [(s.epoch, s.hidden, s.places) for s in together] == [
        (s.epoch, s.hidden, s.places) for s in alone
    ]


def test_the_number_of_threads_changes_nothing() -> None:
    """Threads are put back by the fixture."""
    schedule = tiny(epochs=6)
    one = train(schedule, SETTINGS, CPU)
    torch.set_num_threads(2)
    assert apart(one, train(schedule, SETTINGS, CPU)) == 0


@pytest.mark.parametrize("schedule", [tiny(), tiny(architecture="vit", epochs=6, look_every=2)])
def test_stopping_after_every_epoch_changes_nothing(tmp_path: Path, schedule: Schedule) -> None:
    whole = train(schedule, SETTINGS, CPU)
    file = tmp_path / "c"
    for _ in range(schedule.epochs):
        parts = train(schedule, SETTINGS, CPU, checkpoint=file, until=0)
    assert apart(whole, parts) == 0
    assert [(s.epoch, s.hidden, s.done) for s in whole] == [
        (s.epoch, s.hidden, s.done) for s in parts
    ]
    assert list(tmp_path.iterdir()) == [file]
    # over: called again, it says the same
    again = train(schedule, SETTINGS, CPU, checkpoint=file, until=0)
    assert apart(whole, again) == 0


def test_networks_that_are_done_drop_out(tmp_path: Path) -> None:
    settings = [Setting(seed, window=20) for seed in range(6)]
    seen: list[Progress] = []
    together = train(EASY, settings, CPU, checkpoint=tmp_path / "c", report=seen.append)
    done = [s for s in together if s.epoch < EASY.epochs]
    assert len(done) >= 2
    assert all(s.done for s in together)
    assert all((s.hidden, s.places) == (1, (0,)) for s in done)
    at_work = [progress.at_work for progress in seen]
    assert at_work == sorted(at_work, reverse=True)
    assert at_work[0] == 6
    assert at_work[-1] == 0
    assert seen[-1].hidden == tuple(s.hidden for s in together)
    alone = [train(EASY, [setting], CPU)[0] for setting in settings]
    assert apart(together, alone) == 0
    assert apart(together, train(EASY, settings, CPU, checkpoint=tmp_path / "c")) == 0


def test_a_training_in_which_all_are_done_early_can_be_asked_again(tmp_path: Path) -> None:
    settings = [Setting(seed, window=20) for seed in (1, 2)]
    first = train(EASY, settings, CPU, checkpoint=tmp_path / "c")
    assert all(s.epoch < EASY.epochs for s in first)
    assert apart(first, train(EASY, settings, CPU, checkpoint=tmp_path / "c")) == 0


def test_it_says_how_it_goes_and_saves_between_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_SAVE_EVERY_S", 0.0)
    seen: list[Progress] = []
    train(tiny(), SETTINGS[:1], CPU, checkpoint=tmp_path / "c", report=seen.append)
    assert [progress.epoch for progress in seen] == list(range(1, 25))
    assert load(tmp_path / "c", tiny(), SETTINGS[:1], "cpu").epoch == 24


def test_a_last_look_sees_the_weights_that_were_kept() -> None:
    standings = train(EASY, [Setting(1, window=50)], CPU)
    look = counted(EASY, standings, CPU, 4, 4)
    assert (look.correct, look.planted) == ((1,), (1,))
    strong = counted(EASY, standings, CPU, 300, 60)
    assert strong.correct == look.correct
    assert strong.hidden <= look.hidden


def test_a_last_look_in_parts_sees_the_same_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    standings = train(EASY, [Setting(seed, window=20) for seed in (1, 2, 3)], CPU)
    whole = counted(EASY, standings, CPU, 5, 4)
    monkeypatch.setattr(memory, "_ROOM", {"cpu": 1})
    monkeypatch.setattr(run, "_TELL_EVERY_S", -1.0)
    shares: list[float] = []
    parts = counted(EASY, standings, CPU, 5, 4, shares.append)
    assert (parts.correct, parts.planted) == (whole.correct, whole.planted)
    assert len(parts.places) == 3
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert len(shares) == 3 * 3 * 4  # two restarts at once of one network


def test_one_network_is_recorded_with_its_examples_and_threads_are_put_back() -> None:
    threads = torch.get_num_threads()
    trained = trained_here(EASY, Setting(1, window=50))
    assert torch.get_num_threads() == threads
    assert trained.kept == (0,)
    assert trained.facts["hidden"] == 1
    assert trained.facts["epoch"] < EASY.epochs
    assert trained.onnx == trained_here(EASY, Setting(1, window=50)).onnx


def stopped(path: Path) -> Path:
    train(tiny(), SETTINGS, CPU, checkpoint=path, until=0)
    return path


def go_on(path: Path, schedule: Schedule | None = None) -> None:
    train(schedule or tiny(), SETTINGS, CPU, checkpoint=path, until=0)


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    file = stopped(tmp_path / "c")
    before = file.read_bytes()
    with pytest.raises(BadInput, match="c: belongs to another training; choose another folder"):
        go_on(file, tiny(steps=4))
    with pytest.raises(BadInput, match="belongs to another training"):
        train(tiny(), SETTINGS[:2], CPU, checkpoint=file)
    with pytest.raises(BadInput, match="was begun with --device cpu; go on with that"):
        load(file, tiny(), SETTINGS, "cuda")
    assert file.read_bytes() == before


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_checkpoint_cut_short_is_refused(tmp_path: Path, share: float) -> None:
    file = stopped(tmp_path / "c")
    whole = file.read_bytes()
    file.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(BadInput, match=r"c: is no checkpoint of a training .*; remove it"):
        go_on(file)


def test_a_checkpoint_with_a_flipped_byte_is_refused(tmp_path: Path) -> None:
    file = stopped(tmp_path / "c")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 255
    file.write_bytes(data)
    with pytest.raises(BadInput, match="is no checkpoint of a training"):
        go_on(file)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda note, _: note.pop("plan"), "is no checkpoint"),
        (lambda note, _: note.pop("live"), "is no checkpoint"),
        (lambda note, _: note["standings"][0].update(colour=1), "is no checkpoint"),
        (lambda _, arrays: arrays.pop("now.window"), "does not fit this torch"),
        (
            lambda _, arrays: arrays.update({"now.noise": np.zeros((3, 4), np.uint8)}),
            "does not fit",
        ),
    ],
)
def test_a_checkpoint_with_other_parts_is_refused(
    tmp_path: Path, damage: object, sentence: str
) -> None:
    assert callable(damage)
    file = stopped(tmp_path / "c")
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    note = json.loads(parts.pop("note.json"))
    arrays: dict[str, np.ndarray | bytes] = {n.removesuffix(".npy"): d for n, d in parts.items()}
    damage(note, arrays)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("note.json", json.dumps(note))
        for name, data in arrays.items():
            with archive.open(f"{name}.npy", "w") as stream:
                if isinstance(data, bytes):
                    stream.write(data)
                else:
                    np.save(stream, data)
    with pytest.raises(BadInput, match=sentence):
        go_on(file)


def test_a_kill_while_saving_leaves_the_checkpoint_before(tmp_path: Path) -> None:
    file = stopped(tmp_path / "c")
    unfinished(file).write_bytes(b"half")
    go_on(file)
    assert load(file, tiny(), SETTINGS, "cpu").epoch == 2
    assert not unfinished(file).exists()
