"""`assay splitting` as a person meets it: the estimate, its limits, JSON and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import assay

from assay.question.graph import mlp

QUICK = ("--particles", 100, "--repeats", 4, "--steps", 5)
QUESTION = """(declare-const X_0 Real)
(declare-const X_1 Real)
(declare-const Y_0 Real)
(declare-const Y_1 Real)
(assert (>= X_0 0))
(assert (<= X_0 1))
(assert (>= X_1 0))
(assert (<= X_1 1))
(assert (<= Y_0 Y_1))
"""


@pytest.fixture
def question(tmp_path: Path) -> tuple[Path, Path]:
    """Fails in a corner of the unit square, where the sum is 1.99 or more: 5e-5."""
    onnx, vnnlib = tmp_path / "net.onnx", tmp_path / "query.vnnlib"
    weight = np.array([[-1.0, -1.0], [0.0, 0.0]], np.float32)
    onnx.write_bytes(mlp([(weight, np.array([1.99, 0.0], np.float32))]))
    vnnlib.write_text(QUESTION)
    return onnx, vnnlib


def test_an_estimate_is_called_one(question: tuple[Path, Path]) -> None:
    done = assay("splitting", *question, *QUICK)
    assert done.returncode == 0, done.stderr
    first, second, *rest = done.stdout.splitlines()
    assert first.startswith("ESTIMATE: failure rate ")
    assert "relative standard error" in first
    assert second == ("This is an ESTIMATE, without a guarantee for any finite number of samples.")
    assert "4 repeats of 100 particles: 4 reached failures." in rest
    assert any(line.startswith("Proved with confidence 99%") for line in rest)
    assert "uniform on the box; violation as the VNN-LIB file states it" in rest


def test_the_document_repeats_itself(question: tuple[Path, Path]) -> None:
    documents = []
    for seed in (3, 3, 4):
        done = assay("splitting", *question, *QUICK, "--seed", seed, "--json")
        assert done.returncode == 0, done.stderr
        documents.append(json.loads(done.stdout))
    first, again, other = documents
    assert first["repeats"] == again["repeats"] != other["repeats"]
    assert first["result"] == "estimate"
    assert first["guarantee"].startswith("none")
    assert first["settings"] == {
        "particles": 100,
        "repeats": 4,
        "steps": 5,
        "smallest": 1e-30,
        "seed": 3,
    }
    shares = [repeat["share"] for repeat in first["repeats"]]
    assert first["estimate"] == pytest.approx(np.mean(shares))
    error = np.std(shares, ddof=1) / 2 / np.mean(shares)
    assert first["relative_standard_error"] == pytest.approx(error)
    assert first["counted"]["points"] == 4 * 100 * 6
    assert first["below"] is None
    assert first["queries"] > first["counted"]["points"]
    assert len(first["sha256"]) == 64


def test_around_an_input(tmp_path: Path, question: tuple[Path, Path]) -> None:
    np.save(tmp_path / "x.npy", np.array([0.75, 0.75]))
    ball = ("--radius", 0.3, "--norm", 2, "--range", "0,1")
    done = assay("splitting", question[0], tmp_path / "x.npy", *ball, *QUICK)
    assert done.returncode == 0, done.stderr
    assert "intersection of the l2 ball of radius 0.3 and [0, 1]^2; labels [0]" in done.stdout


def test_nothing_found_is_below_something(tmp_path: Path, question: tuple[Path, Path]) -> None:
    np.save(tmp_path / "x.npy", np.array([0.5, 0.5]))
    inner = (question[0], tmp_path / "x.npy", "--radius", 0.25, "--smallest", 1e-4)
    done = assay("splitting", *inner, *QUICK)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ESTIMATE: below 0.000")
    assert "nothing found; lowest margin 0.4" in done.stdout
    assert "WARNING: 4 of 4 repeats followed margins to where nothing fails" in done.stdout
    document = json.loads(assay("splitting", *inner, *QUICK, "--json").stdout)
    assert document["estimate"] is None
    assert document["relative_standard_error"] is None
    assert 0 < document["below"] < 1e-3


def test_a_plateau_is_said(tmp_path: Path) -> None:
    """Nothing slopes: the network is constant."""
    onnx = tmp_path / "flat.onnx"
    onnx.write_bytes(mlp([(np.zeros((2, 2), np.float32), np.array([1, 0], np.float32))]))
    np.save(tmp_path / "x.npy", np.zeros(2))
    done = assay("splitting", onnx, tmp_path / "x.npy", "--radius", 1, *QUICK)
    assert done.returncode == 0, done.stderr
    assert "nothing found; lowest margin 1" in done.stdout
    assert "WARNING: 4 of 4 repeats found no slope" in done.stdout


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--particles", 5), "give at least 10"),
        (("--repeats", 1), "give at least 2 repeats"),
        (("--steps", 0), "give at least 1"),
        (("--smallest", 2), "not one between 0 and 1"),
        (("--radius", 0.1), "states box and property itself; leave --radius out"),
    ],
)
def test_bad_options_are_one_sentence(
    question: tuple[Path, Path], options: tuple[object, ...], reason: str
) -> None:
    done = assay("splitting", *question, *options)
    assert done.returncode == 2
    assert reason in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_an_input_of_another_shape_is_refused(tmp_path: Path, question: tuple[Path, Path]) -> None:
    np.save(tmp_path / "x.npy", np.zeros(3))
    done = assay("splitting", question[0], tmp_path / "x.npy", "--radius", 0.1)
    assert done.returncode == 2
    assert "give an input of the model's shape" in done.stderr
