"""A folder of `assay train`: what is in it, and that nothing in it is overwritten or lost."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

from assay.attack.table import read as read_table
from assay.engine.work import Watcher
from assay.errors import BadInput
from assay.question import vnnlib
from assay.question.network import load
from assay.question.runtime import FloatRunner
from assay.training import battery as trained_battery
from assay.training import into_folder as training
from assay.training.battery import Battery
from assay.training.into_folder import CHECKPOINT, SUMMARY, Strength, TrainedNetwork, train_into
from assay.truth.record import parse_truth
from assay.truth.training.record import read
from assay.truth.training.run import Progress, train
from assay.truth.training.settings import Schedule, Setting

SCHEDULE = Schedule(
    "tiny_mlp",
    examples=2,
    epochs=60,
    restarts=1,
    steps=2,
    look_every=20,
    look_restarts=2,
    look_steps=2,
)
SETTINGS = (Setting(0, window=20), Setting(1, window=20))
WEAK = Strength(2, 2)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def trained(folder: Path, strength: Strength = WEAK) -> list[TrainedNetwork]:
    return train_into(folder, SCHEDULE, SETTINGS, strength, "cpu")


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[TrainedNetwork]]:
    folder = tmp_path_factory.mktemp("training") / "new" / "folder"
    return folder, trained(folder)


def test_the_folder_holds_networks_instances_questions_and_a_summary(
    made: tuple[Path, list[TrainedNetwork]],
) -> None:
    folder, rows = made
    assert sorted(p.name for p in folder.iterdir()) == ["networks", "regular", SUMMARY, "violated"]
    names = [f"tiny_mlp-{place}" for place in range(2)]
    assert [row.name for row in rows] == names
    summary = json.loads((folder / SUMMARY).read_text())
    assert summary["strength"] == {"restarts": 2, "steps": 2}
    assert summary["device"] == "cpu"
    assert [row["hidden"] for row in summary["networks"]] == [row.hidden for row in rows]
    for row in rows:
        network = read(folder / "networks" / f"{row.name}.onnx")
        assert (network.setting, network.schedule) == (row.setting, SCHEDULE)
        assert len(network.kept) == row.hidden
        assert network.facts["restarts"] == 2
        assert 0 <= row.proved <= row.hidden <= min(row.correct, row.planted) <= 2
        assert row.regular_unbroken <= row.regular_correct <= 2


def test_every_hidden_counterexample_violates_in_onnx_runtime(
    made: tuple[Path, list[TrainedNetwork]],
) -> None:
    folder, rows = made
    with (folder / "violated" / "instances.csv").open(newline="") as stream:
        listed = list(csv.reader(stream))
    assert len(listed) == sum(row.proved for row in rows) > 0
    for model, question, timeout in listed:
        assert timeout == "100"
        network = load((folder / "violated" / model).read_bytes(), model)
        path = folder / "violated" / "truth" / f"{Path(question).stem}.json"
        truth = parse_truth(path.read_bytes(), str(path))
        assert (truth.answer, truth.family, truth.twin) == ("violated", "trained", None)
        point = [Fraction(text) for text in truth.witness or ()]
        (case,) = vnnlib.read((folder / "violated" / question).read_text(), question).cases
        assert case.box.contains(point)
        (outputs,) = FloatRunner(network).run(np.array([[float(v) for v in point]], np.float32))
        assert case.violation.margin([Fraction(float(v)) for v in outputs]) < 0


def test_regular_questions_are_a_benchmark_without_truths(
    made: tuple[Path, list[TrainedNetwork]],
) -> None:
    folder, rows = made
    with (folder / "regular" / "instances.csv").open(newline="") as stream:
        listed = list(csv.reader(stream))
    assert len(listed) == SCHEDULE.examples * len(rows)
    assert not (folder / "regular" / "truth").exists()
    for model, question, _ in listed:
        network = load((folder / "regular" / model).read_bytes(), model)
        (case,) = vnnlib.read((folder / "regular" / question).read_text(), question).cases
        assert (case.box.dimension, case.violation.outputs) == (network.inputs, network.outputs)


def test_asked_again_it_says_the_same_without_training(
    made: tuple[Path, list[TrainedNetwork]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, rows = made
    before = contents(folder)
    monkeypatch.setattr(training, "train", None)
    assert trained(folder) == rows
    assert contents(folder) == before


def test_the_same_command_makes_the_same_bytes(
    made: tuple[Path, list[TrainedNetwork]], tmp_path: Path
) -> None:
    folder, rows = made
    assert trained(tmp_path / "again") == rows
    one, other = contents(folder), contents(tmp_path / "again")
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] in ([SUMMARY], [])


@pytest.mark.parametrize("part", ["networks", "violated", SUMMARY])
def test_a_stop_while_writing_is_continued(
    made: tuple[Path, list[TrainedNetwork]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    part: str,
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    writers = {"networks": "write_networks", "violated": "write_violated", SUMMARY: "_row"}
    with monkeypatch.context() as patched:
        patched.setattr(training, writers[part], stop)
        with pytest.raises(KeyboardInterrupt):
            trained(tmp_path / "t")
    assert (tmp_path / "t" / CHECKPOINT).exists()
    assert not (tmp_path / "t" / SUMMARY).exists()
    assert trained(tmp_path / "t") == made[1]
    assert contents(tmp_path / "t").keys() == contents(made[0]).keys()


def test_a_training_that_was_stopped_goes_on(
    made: tuple[Path, list[TrainedNetwork]], tmp_path: Path
) -> None:
    (tmp_path / "t").mkdir()
    file = tmp_path / "t" / CHECKPOINT
    for _ in range(3):
        train(SCHEDULE, SETTINGS, torch.device("cpu"), checkpoint=file, until=0)
    assert trained(tmp_path / "t") == made[1]
    assert not file.exists()


def test_nothing_hidden_leaves_no_empty_benchmark(tmp_path: Path) -> None:
    rows = trained(tmp_path / "t", Strength(200, 60))
    assert [row.proved for row in rows] == [0, 0]
    assert not (tmp_path / "t" / "violated").exists()
    assert (tmp_path / "t" / "regular" / "instances.csv").exists()


def test_other_folders_are_refused_and_left_alone(
    made: tuple[Path, list[TrainedNetwork]], tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(BadInput, match="is not empty; choose another folder"):
        trained(tmp_path)
    with pytest.raises(BadInput, match="mine: is a file"):
        trained(tmp_path / "mine")
    assert contents(tmp_path) == {"mine": b"x"}
    folder, _ = made
    before = contents(folder)
    with pytest.raises(BadInput, match="holds another training"):
        trained(folder, Strength(3, 2))
    assert contents(folder) == before


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"networks": [{}]}'])
def test_a_damaged_summary_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / SUMMARY).write_text(text)
    with pytest.raises(BadInput, match=r"training\.json: cannot be read .*; choose another folder"):
        trained(tmp_path)
    assert (tmp_path / SUMMARY).read_text() == text


def test_a_torn_summary_beside_a_checkpoint_costs_nothing(
    made: tuple[Path, list[TrainedNetwork]], tmp_path: Path
) -> None:
    folder, file = tmp_path / "t", tmp_path / "t" / CHECKPOINT
    folder.mkdir()
    train(SCHEDULE, SETTINGS, torch.device("cpu"), checkpoint=file)
    (folder / SUMMARY).write_text('{"schedule"')
    told: list[Progress] = []
    assert train_into(folder, SCHEDULE, SETTINGS, WEAK, "cpu", told.append) == made[1]
    assert json.loads((folder / SUMMARY).read_text())["seconds"] == round(told[0].seconds, 1)
    # Nothing was trained again: only where it stood was told, and the attack that decides.
    assert (told[0].resumed, told[0].epoch) == (True, SCHEDULE.epochs)
    assert [progress.last_attack for progress in told[1:]] == [0.0]


def test_what_the_battery_finds_is_struck_out_of_the_records(
    made: tuple[Path, list[TrainedNetwork]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(made[0], tmp_path / "t"))
    battery = Battery("cpu", 1, lambda: nullcontext(Watcher()))

    def put() -> list[TrainedNetwork]:
        return train_into(folder, SCHEDULE, SETTINGS, WEAK, "cpu", None, battery)

    rows = put()
    table = read_table(folder / "violated")
    whole = json.loads((folder / SUMMARY).read_text())["battery"]["whole"]
    assert len(table) == sum(row.proved for row in rows) > 0
    for row in rows:
        network = read(folder / "networks" / f"{row.name}.onnx")
        mine = [t for name, t in table.items() if name.startswith(f"{row.name}-")]
        assert row.survived == (sum(t.hidden == "yes" for t in mine) if whole else None)
        found = sum(t.hidden == "no" for t in mine)
        assert len(network.kept) == row.hidden - found
        assert network.facts["battery"]["whole"] is whole
    before = contents(folder)
    monkeypatch.setattr(trained_battery, "attack_folder", None)
    assert put() == rows
    assert contents(folder) == before
    # Killed between the table and the summary: the table is believed.
    (folder / SUMMARY).write_bytes((made[0] / SUMMARY).read_bytes())
    if whole:
        assert put() == rows


def test_a_training_that_does_not_fit_into_memory_is_refused(tmp_path: Path) -> None:
    schedule = Schedule("cnn_1_conv", channels=3, examples=50, restarts=1000)
    settings = [Setting(seed, window=1000) for seed in range(200)]
    with pytest.raises(BadInput, match=r"takes about .* GiB of memory and there are"):
        train_into(tmp_path / "t", schedule, settings, WEAK, "cpu")
    assert not (tmp_path / "t").exists()


def test_a_training_refused_before_it_began_leaves_no_folder(tmp_path: Path) -> None:
    schedule = Schedule("tiny_mlp", examples=20)
    with pytest.raises(BadInput, match="lower epsilon or examples"):
        train_into(tmp_path / "t", schedule, [Setting(epsilon=0.5)], WEAK, "cpu")
    assert not (tmp_path / "t").exists()
