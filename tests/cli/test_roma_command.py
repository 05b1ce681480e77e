"""`assay roma` as a person meets it: one input, a VNN-LIB file, a data set, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import assay

from assay.question.graph import mlp

NETS = """
import numpy as np
import torch


class Pocket(torch.nn.Module):
    def forward(self, x):
        margin = 31 + x.sum(1)
        inside = (x[:, 0] > 0.98) & (x[:, 1] > 0.98)
        margin = torch.where(inside, -torch.ones_like(margin), margin)
        return torch.stack([margin, torch.zeros_like(margin)], 1)


pocket = Pocket()


def near_ties(x):
    level = np.ones(len(x))
    other = level + 0.3 * x.sum(1)
    return np.stack([level + 0.3, other, other - 0.05], 1)


def broken(x):
    raise RuntimeError("no such weights")


def not_a_number(x):
    return np.full((len(x), 2), np.nan)
"""
QUESTION = """(declare-const X_0 Real)
(declare-const X_1 Real)
(declare-const Y_0 Real)
(declare-const Y_1 Real)
(assert (>= X_0 0))
(assert (<= X_0 1))
(assert (>= X_1 0))
(assert (<= X_1 1))
(assert (>= Y_1 Y_0))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("roma")
    (place / "nets.py").write_text(NETS)
    np.save(place / "zero.npy", np.zeros(30))
    points = np.random.default_rng(0).uniform(-0.1, 0.1, (6, 9))
    np.savez(place / "data.npz", inputs=points, labels=np.array([0, 1, 0, 2, 1, 0]))
    eye, edge = np.eye(2, dtype=np.float32), np.array([0, -0.75], np.float32)
    (place / "net.onnx").write_bytes(mlp([(eye, edge)]))
    (place / "query.vnnlib").write_text(QUESTION)
    return place


def told(folder: Path, *words: object) -> dict:  # type: ignore[type-arg]
    done = assay("roma", *words, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_one_input_with_a_verdict_from_the_count(folder: Path) -> None:
    done = assay("roma", "nets.py:pocket", "zero.npy", "--radius", 1, "--eps", 0.01, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("robust at eps = 0.01, by the count alone.")
    assert "an extrapolation of a normal law, with no guarantee" in done.stdout
    assert "rests on its law alone, and the count allows a rate of up to 0.0053" in done.stdout
    undecided = assay(
        "roma", "nets.py:pocket", "zero.npy", "--radius", 1, "--eps", 1e-6, cwd=folder
    )
    assert undecided.stdout.startswith("undecided at eps = 1e-06")


def test_a_vnnlib_question_and_everything_to_ask_it_again(folder: Path) -> None:
    words = ("net.onnx", "query.vnnlib", "--samples", 2000, "--seed", 5, "--eps", 0.5)
    found = told(folder, *words)
    counted = found["counted"]
    assert counted["lower"] <= 1 / 32 <= counted["upper"]  # the corner x_1 - x_0 >= 3/4
    assert found["verdict"] == "robust"
    assert found["settings"]["seed"] == 5
    assert found["settings"]["samples"] == 2000
    assert {"assay", "numpy", "scipy", "torch"} <= set(found["versions"])
    assert {"model", "sha256", "measure", "input", "violation", "scores", "roma"} <= set(found)
    assert {"mean", "deviation", "statistic", "p_value"} == set(found["roma"]["normal"])
    again = told(folder, *words)
    assert {**again, "seconds": 0} == {**found, "seconds": 0}


def test_a_data_set_by_class(folder: Path) -> None:
    words = ("nets.py:near_ties", "data.npz", "--radius", 0.5, "--samples", 200)
    found = told(folder, *words, "--score", "confidence")
    assert [c["label"] for c in found["classes"]] == [0, 1, 2, None]
    assert sum(c["inputs"] for c in found["classes"][:-1]) == len(found["inputs"]) == 6
    assert found["surroundings"]["keeping"] == "prediction"
    for each in found["inputs"]:
        assert each["scores"]["threshold"] == 0.5
        assert each["scores"]["not_below_threshold"] < each["counted"]["failures"]
    done = assay("roma", *words, "--score", "confidence", cwd=folder)
    assert "some class changes although the highest incorrect score stays below 0.5" in done.stdout
    assert "RoMA's numbers are extrapolations, with no guarantee." in done.stdout
    assert "RoMA disagrees" in done.stdout
    assert "6/6 data#5" in done.stderr


def test_one_input_of_a_data_set_has_the_numbers_that_it_has_there(folder: Path) -> None:
    words = ("nets.py:near_ties", "data.npz", "--radius", 0.5)
    (*_, fourth, _, _) = told(folder, *words)["inputs"]
    alone = told(folder, *words, "--index", 3)
    assert alone["counted"] == fourth["counted"]
    assert alone["roma"] == fourth["roma"]


def test_labels_may_be_what_is_kept(folder: Path) -> None:
    words = ("nets.py:near_ties", "data.npz", "--radius", 0.5, "--keep", "label")
    kept = [each["labels"] for each in told(folder, *words)["inputs"]]
    assert kept == [[0], [1], [0], [2], [1], [0]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nets.py:pocket", "zero.npy"), "--radius is missing"),
        (("nets.py:pocket", "zero.npy", "--radius", 0), "radius 0"),
        (("nets.py:pocket", "zero.npy", "--radius", 1, "--eps", 1.5), "--eps 1.5"),
        (("nets.py:pocket", "zero.npy", "--radius", 1, "--score", "mood"), "--score mood"),
        (("nets.py:pocket", "zero.npy", "--radius", 1, "--labels", 4), "label 4 does not exist"),
        (("nets.py:pocket", "zero.npy", "--radius", 1, "--keep", "label"), "--keep is for data"),
        (("nets.py:broken", "zero.npy", "--radius", 1), "RuntimeError"),
        (("nets.py:not_a_number", "zero.npy", "--radius", 1), "NaN"),
        (("net.onnx", "zero.npy", "--radius", 1), "30 numbers"),
        (("net.onnx", "query.vnnlib", "--score", "confidence"), "needs labels"),
        (("net.onnx", "query.vnnlib", "--radius", 1), "leave --radius out"),
        (("nets.py:near_ties", "data.npz", "--radius", 1, "--labels", 1), "leave --labels out"),
        (("nets.py:near_ties", "data.npz", "--radius", 1, "--keep", "calm"), "--keep calm"),
    ],
)
def test_bad_input_is_one_sentence(folder: Path, words: tuple[object, ...], said: str) -> None:
    done = assay("roma", *words, cwd=folder)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert done.stderr.startswith("assay: ")
    assert done.stderr.count("\n") == 1
    assert not done.stdout
