"""Data sets, folders and options as people mix them, in the commands that draw random inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import assay

NETS = """
def net(points):
    print("a word of the model")
    return points[:, :3]

def sure(points):
    scores = points[:, :3].copy()
    scores[:, 0] = float("inf")
    return scores
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "nets.py").write_text(NETS)
    np.save(tmp_path / "point.npy", np.array([0.6, 0.2, 0.1, 0.5]))
    points = np.random.default_rng(0).random((6, 4))
    save(tmp_path, "data.npz", points)
    return tmp_path


def save(place: Path, name: str, points: np.ndarray, labels: Any = None) -> None:
    known = np.nan_to_num(points)[:, :3].argmax(1) if labels is None else labels
    np.savez(place / name, inputs=points, labels=known)


def said(place: Path, *words: object) -> tuple[int, str, str]:
    done = assay(*words, cwd=place)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def curve(place: Path, data: str, *words: object) -> tuple[int, str, str]:
    return said(place, "weakened", "curve", "nets.py:net", data, *words)


def refused(done: tuple[int, str, str], sentence: str) -> None:
    code, _, err = done
    assert code == 2
    assert sentence in err.splitlines()[-1]


def test_json_stays_json_where_a_model_prints(place: Path) -> None:
    code, out, err = said(
        place, "weakened", "decide", "nets.py:net", "point.npy", "--radius", 0.1, "--json"
    )
    assert code == 0
    document = json.loads(out)
    assert "a word of the model" in err
    assert (document["input"], document["index"], document["seed"]) == ("point.npy", None, 0)
    assert document["region"]["radius"] == 0.1
    assert document["budget"] == 10**8


def test_json_of_a_splitting_knows_no_infinity(place: Path) -> None:
    words = ("--radius", 0.1, "--particles", 20, "--repeats", 2, "--json")
    code, out, _ = said(place, "splitting", "nets.py:sure", "point.npy", *words)
    assert code == 0
    document = json.loads(out, parse_constant=pytest.fail)
    assert (document["kind"], document["result"]) == ("callable", "estimate")
    assert document["lowest_margin"] == "inf"


def test_a_radius_on_levels_says_so(place: Path) -> None:
    words = ("--radius", 0.2, "--range", "0,1", "--levels", 11, "--json", "--precision", 0.1)
    code, out, _ = said(place, "weakened", "radius", "nets.py:net", "point.npy", *words)
    assert code == 0
    assert json.loads(out)["measure"].startswith("uniform on the points of 11 levels")


@pytest.mark.parametrize("words", [("--radii", "0.1,0.1"), ("--radii", 0.1, "--eps", "0.1,0.1")])
def test_nothing_counts_twice(place: Path, words: tuple[object, ...]) -> None:
    refused(curve(place, "data.npz", *words), "is given twice, and inputs would count twice")


def test_a_first_attempt_that_failed_does_not_occupy_its_folder(place: Path) -> None:
    refused(curve(place, "data.npz", "--radii", 0.1, "--budget", 0, "-o", "out"), "a budget of 0")
    refused(
        curve(place, "data.npz", "--radii", 0.1, "--range", "0,0.1", "-o", "out"), "outside the"
    )
    head = {"promises": [], "assay": "0"}
    (place / "out").mkdir(exist_ok=True)
    (place / "out" / "decisions.jsonl").write_text(json.dumps(head) + "\n")
    code, _, err = curve(place, "data.npz", "--radii", 0.1, "--range", "0,1", "-o", "out")
    assert code == 0, err
    assert (place / "out" / "curve.svg").is_file()


def test_the_decisions_of_somebody_else_are_left_alone(place: Path) -> None:
    (place / "out").mkdir()
    (place / "out" / "decisions.jsonl").write_text("mine\n")
    refused(curve(place, "data.npz", "--radii", 0.1, "-o", "out"), "was not written by assay")
    assert (place / "out" / "decisions.jsonl").read_text() == "mine\n"


def test_a_curve_names_the_wrong_input_before_it_begins(place: Path) -> None:
    points = np.random.default_rng(0).random((6, 4))
    points[4, 3] = 7
    save(place, "far.npz", points)
    done = curve(place, "far.npz", "--radii", 0.1, "--range", "0,1", "-o", "out")
    refused(done, "far#4: number 3 of the input is 7, outside the range 0 to 1")
    assert not (place / "out").exists()
    points[4, 3] = 0.5
    save(place, "labels.npz", points, np.array([0, 1, 2, 0, 1, -1]))
    done = curve(place, "labels.npz", "--radii", 0.1)
    refused(done, "labels#5: label -1 does not exist: the model has classes 0 to 2")
    points[2, 1] = np.nan
    save(place, "nan.npz", points)
    refused(curve(place, "nan.npz", "--radii", 0.1), "nan.npz: holds NaN or infinity at [2, 1]")
    off = np.full((1, 4), 0.26)
    off[0, 0] = 0.5
    save(place, "off.npz", off)
    done = curve(place, "off.npz", "--radii", 0.1, "--range", "0,1", "--levels", 3)
    refused(done, "off#0: no level lies within 0.1 of number 1")


def test_a_file_is_listed_once(place: Path) -> None:
    (place / "set").mkdir()
    np.save(place / "set" / "a.npy", np.array([0.6, 0.2, 0.1, 0.5]))
    (place / "set" / "labels.csv").write_text("a.npy,0\n./a.npy,1\n")
    refused(curve(place, "set", "--radii", 0.1), "labels.csv: line 2 names ./a.npy again")


def test_hidden_files_of_a_data_set_are_left_out(place: Path) -> None:
    (place / "set" / ".ipynb_checkpoints").mkdir(parents=True)
    (place / "set" / "0").mkdir()
    np.save(place / "set" / "0" / "a.NPY.npy", np.array([0.6, 0.2, 0.1, 0.5]))
    (place / "set" / "0" / "._a.npy").write_bytes(b"hidden")
    code, _, err = curve(place, "set", "--radii", 0.1, "--inputs", 5)
    assert code == 0, err


def test_inputs_that_are_no_single_input_say_what_to_do(place: Path) -> None:
    np.save(place / "several.npy", np.zeros((5, 4)))
    decide = ("weakened", "decide", "nets.py:net")
    words = ("--radius", 0.1, "--shape", 4)
    done = said(place, *decide, "several.npy", *words)
    refused(done, "several.npy: holds 5 inputs; pick one with --index")
    (place / "folder").mkdir()
    refused(said(place, *decide, "folder", *words), "folder: is a folder; give one file of it")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--norm", "2"), "leave --norm out"),
        (("--scale", "255", "--mean", "0.5"), "leave --scale and --mean out"),
        (("--range", "0,1"), "leave --range out"),
        ((), "nets.py:net: a VNN-LIB file is about an ONNX file"),
    ],
)
def test_what_a_vnnlib_file_says_is_not_said_again(
    place: Path, words: tuple[str, ...], sentence: str
) -> None:
    done = said(place, "weakened", "decide", "nets.py:net", "query.vnnlib", *words)
    refused(done, sentence)


def test_more_than_memory_holds_is_refused(place: Path) -> None:
    words = ("nets.py:net", "point.npy", "--radius", 0.1)
    refused(said(place, "roma", *words, "--samples", 10**12), "--samples 1000000000000 are more")
    refused(said(place, "splitting", *words, "--particles", 10**11), "do not fit into memory")
    done = said(place, "weakened", "decide", *words, "--range", "0,1", "--levels", 10**20)
    refused(done, "levels are no grid; give 2 to 65536")


def test_only_a_curve_that_is_kept_can_be_continued(place: Path) -> None:
    """Without a folder a stopped curve is lost, and nobody is told otherwise."""
    (place / "nets.py").write_text("def net(points):\n    raise KeyboardInterrupt\n")
    code, _, err = curve(place, "data.npz", "--radii", 0.1)
    assert code == 130
    assert "continue" not in err
    code, _, err = curve(place, "data.npz", "--radii", 0.1, "-o", "out")
    assert (code, err) == (130, "assay: stopped; run the same command again to continue\n")
