"""`assay train` as a person meets it: the table, JSON, repeats, stops and refusals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from command_line import assay

TINY = ("train", "tiny_mlp", "--examples", 2, "--window", 20, "--seeds", 2, "--device", "cpu")
WEAK = ("--restarts", 1, "--steps", 2, "--final-restarts", 2, "--final-steps", 2)
QUICK = (*TINY, *WEAK, "--epochs", 60, "--look-every", 20)
# nothing stays hidden from this one, so that it goes on to the last epoch
STRONGER = ("--restarts", 4, "--steps", 4, "--final-restarts", 40, "--final-steps", 40)
LONG = (*TINY, *STRONGER, "--epochs", 400, "--look-every", 50)
ONE_THREAD = {"OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("trained") / "t"
    done = assay(*QUICK, "-o", made, **ONE_THREAD)
    assert done.returncode == 0, done.stderr
    assert "of 2 examples each" in done.stdout
    assert "tiny_mlp-1" in done.stdout
    assert "regular correct" in done.stdout
    assert "counterexamples, each proved, survived PGD 2x2" in done.stdout
    assert "battery of assay attack" in done.stdout
    assert "train: the attack that decides, 0% done" in done.stderr
    assert "train: epoch 40/60, hidden so far" in done.stderr
    assert "networks at work" in done.stderr
    return made


def test_what_it_writes_passes_the_check(folder: Path) -> None:
    done = assay("check", folder / "violated")
    assert done.returncode == 0, done.stderr
    assert "s VERIFIED violated" in done.stdout


def test_repeated_it_says_the_same_without_training(folder: Path) -> None:
    first, again = (assay(*QUICK, "-o", folder, "--json", **ONE_THREAD) for _ in range(2))
    assert first.returncode == 0
    assert first.stdout == again.stdout
    assert "epoch" not in again.stderr
    document = json.loads(again.stdout)
    assert document["folder"] == str(folder)
    assert [row["name"] for row in document["networks"]] == ["tiny_mlp-0", "tiny_mlp-1"]
    assert document["networks"][1]["setting"]["seed"] == 1
    assert sum(row["proved"] for row in document["networks"]) > 0
    assert json.loads((folder / "training.json").read_text())["networks"] == document["networks"]


def test_options_that_are_repeated_make_a_network_each(tmp_path: Path) -> None:
    more = ("--epsilon", 0.1, "--epsilon", 0.2, "--margin", 0, "--margin", 0.01, "--seed", 5)
    done = assay(*TINY, *WEAK, "--epochs", 2, *more, "-o", tmp_path / "t", "--json", **ONE_THREAD)
    assert done.returncode == 0, done.stderr
    settings = [row["setting"] for row in json.loads(done.stdout)["networks"]]
    assert [(s["epsilon"], s["margin"], s["seed"]) for s in settings] == [
        (epsilon, margin, seed)
        for epsilon in (0.1, 0.2)
        for margin in (None, 0.01)
        for seed in (5, 6)
    ]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("train", "resnet"), "there is no architecture 'resnet'"),
        (("train", "cnn_1_cov"), "did you mean 'cnn_1_conv'?"),
        (("train", "tiny_mlp", "--epsilon", 0.5, "--examples", 20), "lower epsilon or examples"),
        (("train", "tiny_mlp", "--epsilon", 0), "--epsilon 0 is not above 0 and at most 1"),
        (("train", "tiny_mlp", "--epsilon", "nan"), "--epsilon nan is not above 0"),
        (("train", "tiny_mlp", "--epsilon", 1e-9), "epsilon 1e-09 is below"),
        (("train", "tiny_mlp", "--window", 0), "--window 0 is not between 1 and 1000"),
        (("train", "tiny_mlp", "--window", 10**9), "--window 1000000000 is not between"),
        (
            ("train", "tiny_mlp", "--restarts", 2 * 10**9),
            "'--restarts': Input should be less than or equal to 1000",
        ),
        (("train", "tiny_mlp", "--final-restarts", 2 * 10**9), "--final-restarts"),
        (("train", "tiny_mlp", "--margin", -1), "--margin must not be negative"),
        (("train", "tiny_mlp", "--margin", "nan"), "--margin must not be negative"),
        (("train", "tiny_mlp", "--epsilon", 0.2, "--epsilon", 0.2), "twice with the same value"),
        (
            ("train", "tiny_mlp", "--seeds", 101, "--window", 1, "--window", 2),
            "202 networks at once",
        ),
        (("train", "tiny_mlp", "--device", "tpu"), "--device tpu is not known"),
        (("train", "tiny_mlp", "--classes", 11), "--classes"),
    ],
)
def test_refusals_before_any_work(
    tmp_path: Path, options: tuple[object, ...], sentence: str
) -> None:
    done = assay(*options, "-o", tmp_path / "t", **ONE_THREAD)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "t").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_refused(tmp_path: Path) -> None:
    done = assay("train", "tiny_mlp", "--device", "cuda", "-o", tmp_path / "t")
    assert done.returncode == 2
    assert "--device cuda: torch sees no GPU here" in done.stderr


def test_a_folder_of_something_else_is_refused_and_left_alone(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    done = assay(*QUICK, "-o", tmp_path, **ONE_THREAD)
    assert done.returncode == 2
    assert "is not empty; choose another folder" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    other = assay(*QUICK, "--shell", 0.5, "-o", folder, **ONE_THREAD)
    assert other.returncode == 2
    assert "holds another training; choose another folder" in other.stderr


def started(folder: Path) -> subprocess.Popen[str]:
    """A training that has saved its first checkpoint."""
    process = subprocess.Popen(
        [sys.executable, "-m", "assay.cli.main", *map(str, LONG), "-o", str(folder)],
        env={**os.environ, **ONE_THREAD},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 240
    while not (folder / "training.checkpoint").exists():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_training_continues_to_the_same_networks(
    tmp_path: Path, how: signal.Signals
) -> None:
    process = started(tmp_path / "t")
    process.send_signal(signal.SIGSTOP)  # however slow the machine, it is not done yet
    second = assay(*LONG, "-o", tmp_path / "t", **ONE_THREAD)
    process.send_signal(how)
    process.send_signal(signal.SIGCONT)
    _, errors = process.communicate(timeout=240)
    assert second.returncode == 2
    assert "another training is writing here" in second.stderr
    if how is signal.SIGINT:
        assert process.returncode == 130
        assert "run the same command again to continue" in errors
        assert "Traceback" not in errors
    assert not (tmp_path / "t" / "training.json").exists()
    done = assay(*LONG, "-o", tmp_path / "t", **ONE_THREAD)
    assert done.returncode == 0, done.stderr
    assert "epoch 50/" not in done.stderr
    assert "train: resuming after epoch " in done.stderr
    assert not (tmp_path / "t" / "training.checkpoint").exists()
    assert assay(*LONG, "-o", tmp_path / "whole", **ONE_THREAD).returncode == 0
    for path in (tmp_path / "whole" / "networks").iterdir():
        assert (tmp_path / "t" / "networks" / path.name).read_bytes() == path.read_bytes()


def test_a_damaged_checkpoint_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "training.checkpoint").write_bytes(b"PK")
    done = assay(*QUICK, "-o", tmp_path, **ONE_THREAD)
    assert done.returncode == 2
    assert "is no checkpoint of a training" in done.stderr
    assert (tmp_path / "training.checkpoint").read_bytes() == b"PK"
