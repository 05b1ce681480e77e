"""`assay count` as a person meets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from command_line import assay

from assay.question.graph import GraphBuilder, mlp

TWO_INPUTS = """(declare-const X_0 Real)
(declare-const X_1 Real)
(declare-const Y_0 Real)
"""
SQUARE = "".join(f"(assert (>= X_{i} -1))\n(assert (<= X_{i} 1.4))\n" for i in range(2))
DIAMOND = TWO_INPUTS + SQUARE + "(assert (<= Y_0 0.5))\n"
RATE = Fraction("0.5") / Fraction("2.4") ** 2


@pytest.fixture
def size(tmp_path: Path) -> Path:
    """|x_0| + |x_1|, which is at most .5 on an area of .5."""
    graph = GraphBuilder((1, 2))
    absolute = graph.abs(graph.input)
    onnx = tmp_path / "size.onnx"
    onnx.write_bytes(graph.build(graph.gemm(absolute, np.ones((1, 2), np.float32))))
    return onnx


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """A network of eight inputs that no count finishes, with its question beside it."""
    draw = np.random.default_rng(0)
    layers = [
        (draw.normal(size=(b, a)).astype(np.float32), np.zeros(b, np.float32))
        for a, b in ((8, 48), (48, 48), (48, 1))
    ]
    onnx = tmp_path / "wide.onnx"
    onnx.write_bytes(mlp(layers))
    names = "".join(f"(declare-const X_{i} Real)\n" for i in range(8))
    box = "".join(f"(assert (>= X_{i} -1))\n(assert (<= X_{i} 1))\n" for i in range(8))
    question = names + "(declare-const Y_0 Real)\n" + box + "(assert (<= Y_0 0))\n"
    onnx.with_suffix(".vnnlib").write_text(question)
    return onnx


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "query.vnnlib"
    path.write_text(text)
    return path


def test_bounds_and_samples_as_text(size: Path, tmp_path: Path) -> None:
    query = written(tmp_path, DIAMOND)
    done = assay("count", size, query, "--gap", "0.05", "--samples", "2000")
    assert done.returncode == 0, done.stderr
    first, second, *_, last = done.stdout.splitlines()
    low, high = json.loads(first.removeprefix("violation rate in ").removesuffix(", proved"))
    assert low <= RATE <= high
    assert "the gap is reached" in second
    assert "with probability 0.999, by 2,000 random points" in last


def test_the_document_says_all_that_is_needed_to_repeat_it(size: Path, tmp_path: Path) -> None:
    query = written(tmp_path, DIAMOND)
    command = ("count", size, query, "--gap", "0.01", "--samples", "500", "--seed", "7", "--json")
    done, again = (json.loads(assay(*command).stdout) for _ in range(2))
    (found,) = done["counts"]
    for form in ("exact", "decimal"):
        assert Fraction(found["lower"][form]) <= RATE <= Fraction(found["upper"][form])
    assert found["gap"] <= 0.01
    assert found["sampled"]["seed"] == done["settings"]["seed"] == 7
    assert {"assay", "torch", "onnx_sha256", "vnnlib_sha256"} <= set(done)
    for document in (done, again):
        for timing in ("seconds", "cpu_seconds"):
            document["counts"][0].pop(timing)
    assert done == again


def test_several_boxes_have_a_rate_each_and_one_box_has_one(size: Path, tmp_path: Path) -> None:
    left, right = ("(>= X_0 -1) (<= X_0 0)", "(>= X_0 0) (<= X_0 1)")
    height = "(assert (>= X_1 -1))\n(assert (<= X_1 1))\n"
    low, high = "(<= Y_0 0.5)", "(>= Y_0 1.5)"
    text = f"(assert (or (and {left} {low}) (and {right} {high}) (and {left} {high})))\n"
    query = written(tmp_path, TWO_INPUTS + height + text)
    done = json.loads(assay("count", size, query, "--json").stdout)
    assert done["cases"] == 2
    rates = sorted(round(float(c["lower"]["decimal"]), 2) for c in done["counts"])
    assert rates == [0.12, 0.25]
    shown = assay("count", size, query).stdout
    assert "box 1 of 2:" in shown
    assert "box 2 of 2:" in shown


def test_a_rate_that_is_known_leaves_nothing_undecided(tmp_path: Path) -> None:
    """Ties included: relu(x - .5) <= 0 on half of [0, 1], equal outputs everywhere."""
    one, half = np.ones((1, 1), np.float32), np.full(1, -0.5, np.float32)
    graph = GraphBuilder((1, 1))
    onnx = tmp_path / "tie.onnx"
    onnx.write_bytes(graph.build(graph.relu(graph.gemm(graph.input, one, half))))
    box = "(declare-const X_0 Real)\n(assert (>= X_0 0))\n(assert (<= X_0 1))\n"
    query = written(tmp_path, box + "(declare-const Y_0 Real)\n(assert (<= Y_0 0))\n")
    done = assay("count", onnx, query)
    assert done.stdout.startswith("violation rate in [0.5, 0.5], proved\n")
    assert "not fully decided" not in done.stdout
    equal = mlp(
        [(np.ones((4, 1), np.float32), np.zeros(4, np.float32))] * 1
        + [(np.ones((2, 4), np.float32), np.zeros(2, np.float32))]
    )
    onnx.write_bytes(equal)
    outputs = "".join(f"(declare-const Y_{i} Real)\n" for i in range(2))
    done = assay("count", onnx, written(tmp_path, box + outputs + "(assert (<= Y_0 Y_1))\n"))
    assert done.stdout.startswith("violation rate in [1, 1], proved\n")
    assert "not fully decided" not in done.stdout


def test_the_time_covers_all_boxes_and_the_samples(wide: Path) -> None:
    text = wide.with_suffix(".vnnlib").read_text()
    either = "(assert (or (and (<= X_0 0.0)) (and (>= X_0 0.1)) (and (>= X_0 0.2))))\n"
    wide.with_suffix(".vnnlib").write_text(text + either)
    options = ("--time", "2", "--samples", "100000000", "--json")
    done = assay("count", wide, wide.with_suffix(".vnnlib"), *options)
    found = json.loads(done.stdout)["counts"]
    assert len(found) == 3
    assert sum(one["seconds"] for one in found) < 8
    for one in found:
        assert 0 < one["sampled"]["samples"] < one["sampled"]["asked"] == 10**8
    shown = assay("count", wide, wide.with_suffix(".vnnlib"), *options[:-1]).stdout
    assert "the time was too short for all 100,000,000 points" in shown
    assert "(2 s with start-up, all 3 boxes of the file and sampling)" in shown


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--gap", "2"), "gap of 2"),
        (("--gap", "nan"), "gap of nan"),
        (("--time", "0"), "--time 0 is not a limit"),
        (("--samples", "-3"), "-3 samples"),
        (("--confidence", "1"), "confidence of 1"),
        (("--cells", "0"), "0 cells"),
        (("--memory", "0.01"), "--memory 0.01 is not a limit"),
        (("--seed", "-1"), "seed -1"),
    ],
)
def test_options_that_make_no_sense(
    size: Path, tmp_path: Path, options: tuple[str, str], words: str
) -> None:
    done = assay("count", size, written(tmp_path, DIAMOND), *options)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not done.stdout


def test_files_that_do_not_fit_are_refused(size: Path, wide: Path, tmp_path: Path) -> None:
    done = assay("count", size, wide.with_suffix(".vnnlib"))
    assert done.returncode == 2
    assert "give the files of one question" in done.stderr
    done = assay("count", size, tmp_path / "none.vnnlib")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


def test_too_many_inputs_name_the_command_that_samples(tmp_path: Path) -> None:
    onnx = tmp_path / "many.onnx"
    onnx.write_bytes(mlp([(np.ones((1, 20), np.float32), np.zeros(1, np.float32))]))
    names = "".join(f"(declare-const X_{i} Real)\n" for i in range(20))
    box = "".join(f"(assert (>= X_{i} -1))\n(assert (<= X_{i} 1))\n" for i in range(20))
    text = names + "(declare-const Y_0 Real)\n" + box + "(assert (<= Y_0 0))\n"
    done = assay("count", onnx, written(tmp_path, text))
    assert done.returncode == 2
    assert "20 inputs differ within the box" in done.stderr
    assert "assay weakened" in done.stderr


def test_the_time_is_kept_and_what_is_proved_is_printed(wide: Path) -> None:
    done = assay("count", wide, wide.with_suffix(".vnnlib"), "--time", "0.5", "--json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["counts"]
    assert found["ending"] == "time"
    assert found["undecided_cells"] > 0


def test_the_time_that_is_over_includes_start_up(wide: Path) -> None:
    shown = assay("count", wide, wide.with_suffix(".vnnlib"), "--time", "0.5").stdout
    assert " s of counting; the time is over (0.5 s with start-up)\n" in shown


def test_one_is_not_several(size: Path, tmp_path: Path) -> None:
    query = written(tmp_path, DIAMOND)
    shown = assay("count", size, query, "--gap", "0.9", "--cells", "1", "--samples", "1").stdout
    assert "; 1 box in " in shown
    assert "\n1 cell, 1 of the box, is not fully decided\n" in shown
    assert "by 1 random point of that cell (seed 0)" in shown


def test_memory_is_in_gib(size: Path, tmp_path: Path) -> None:
    query = written(tmp_path, DIAMOND)
    found = assay("count", size, query, "--gap", "0.1", "--memory", "2", "--json")
    assert json.loads(found.stdout)["settings"]["memory_mb"] == 2048


def test_ctrl_c_prints_what_is_proved_so_far(wide: Path) -> None:
    command = [sys.executable, "-m", "assay.cli.main", "count", str(wide)]
    command += [str(wide.with_suffix(".vnnlib")), "--time", "300"]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    assert running.stderr is not None
    first = running.stderr.readline()
    assert first.startswith("count: gap")
    running.send_signal(signal.SIGINT)
    begun = time.monotonic()
    out, err = running.communicate(timeout=60)
    assert time.monotonic() - begun < 60
    assert running.returncode == 130, err
    assert out.startswith("violation rate in [")
    assert "it was stopped" in out
    assert "Traceback" not in err
