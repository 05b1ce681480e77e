"""Numbers too coarse, too large or random: what the analysers' commands say, typed literally."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import assay

NETS = """
import numpy as np

def step(x):
    above = (x[:, 0] >= 200).astype(np.float64)
    return np.stack([1 - above, above], 1)

def noisy(x):
    return np.random.normal(size=(len(x), 2))
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "nets.py").write_text(NETS)
    np.save(tmp_path / "edge.npy", np.array([200.0, 1.0]))
    np.savez(tmp_path / "data.npz", inputs=np.full((2, 2), 200.0), labels=np.ones(2, np.int64))
    return tmp_path


def test_half_of_a_ball_of_1e_6_around_200_fails(place: Path) -> None:
    words = ("weakened", "decide", "nets.py:step", "edge.npy", "--radius", "1e-6")
    done = assay(*words, cwd=place)
    assert done.stdout.startswith("not robust at eps = 0.01")
    assert "WARNING: float32 is too coarse" in done.stdout


def test_a_curve_says_so_as_well(place: Path) -> None:
    words = ("weakened", "curve", "nets.py:step", "data.npz", "--radii", "1e-6", "--eps", "0.1")
    found = json.loads(assay(*words, "--json", cwd=place).stdout)
    assert [d["verdict"] for d in found["decisions"]] == ["not robust"] * 2
    assert (found["numbers"], found["deterministic"]) == ("float64", True)


@pytest.mark.parametrize(
    ("command", "options"),
    [("weakened decide", ""), ("roma", ""), ("splitting", "--particles 20 --repeats 2")],
)
def test_a_random_model_is_called_so(place: Path, command: str, options: str) -> None:
    words = ("nets.py:noisy", "edge.npy", "--radius", "1", "--labels", "0", *options.split())
    done = assay(*command.split(), *words, cwd=place)
    assert "WARNING: the model is not deterministic" in done.stdout


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--radius 1e39", "inputs as large as 1e+39 overflow float32; give a smaller radius"),
        ("--radius 1 --seed -1", "--seed -1 is not a seed; give a whole number from 0 to 2^63 - 1"),
        ("--radius 1 --labels 7", "label 7 does not exist: the model has classes 0 to 1"),
    ],
)
def test_splitting_refuses_in_one_sentence(place: Path, options: str, sentence: str) -> None:
    done = assay("splitting", "nets.py:step", "edge.npy", *options.split(), cwd=place)
    assert done.returncode == 2
    assert not done.stdout
    (line,) = done.stderr.splitlines()
    assert sentence in line
