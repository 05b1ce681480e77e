"""`assay weakened` as a person meets it: verdicts, files, stops and repeats, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import assay

NETS = """
import numpy as np
import torch

net = torch.nn.Linear(4, 3, bias=False)
with torch.no_grad():
    net.weight.copy_(torch.eye(3, 4))

def function(points):
    return points[:, :3]

def raising(points):
    raise ValueError("out of order")

def nan(points):
    return points * np.nan

def score(points):
    return points[:, 0]

def one_row(points):
    return points[:1]

number = 7
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A network whose class is the largest of three numbers, one input, and thirty."""
    (tmp_path / "nets.py").write_text(NETS)
    np.save(tmp_path / "point.npy", np.array([0.6, 0.5, 0.1, 0.5]))
    draw = np.random.default_rng(0)
    points = draw.random((30, 4)).astype(np.float32)
    labels = points[:, :3].argmax(1)
    labels[:5] = (labels[:5] + 1) % 3
    np.savez(tmp_path / "data.npz", inputs=points, labels=labels)
    return tmp_path


def weakened(place: Path, *words: object) -> tuple[int, str, str]:
    done = assay("weakened", *words, cwd=place)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("model", ["nets.py:net", "nets.py:function", "nets:function"])
def test_says_robust_where_nothing_can_fail(place: Path, model: str) -> None:
    code, out, err = weakened(place, "decide", model, "point.npy", "--radius", 0.04)
    assert code == 0, err
    assert out.startswith("robust at eps = 0.01\n0 of ")
    assert "errors: at most 0.001 where 'robust' is said" in out
    assert "uniform on the linf ball of radius 0.04; labels [0]" in out


def test_says_not_robust_and_everything_to_repeat_it(place: Path) -> None:
    words = ("decide", "nets.py:net", "point.npy", "--radius", 0.5, "--range", "0,1", "--json")
    code, out, _ = weakened(place, *words, "--seed", 3)
    assert code == 0
    said = json.loads(out)
    assert said["verdict"] == "not robust"
    assert said["interval"][0] > said["promise"]["eps_inner"]
    assert said["promise_holds"] is True
    assert said["seed"] == 3
    assert (
        said["measure"] == "uniform on the intersection of the linf ball of radius 0.5 and [0, 1]^4"
    )
    assert {"sha256", "kind", "preprocessing", "device", "labels", "assay"} <= set(said)
    again = json.loads(weakened(place, *words, "--seed", 3)[1])
    assert (again["samples"], again["failures"]) == (said["samples"], said["failures"])


def test_a_label_set_may_make_it_robust(place: Path) -> None:
    words = ("decide", "nets.py:net", "point.npy", "--radius", 0.15)
    assert weakened(place, *words)[1].startswith("not robust")
    assert weakened(place, *words, "--labels", "0,1")[1].startswith("robust")


def test_the_papers_rule_says_that_its_bound_does_not_hold(place: Path) -> None:
    code, out, _ = weakened(
        place, "decide", "nets.py:net", "point.npy", "--radius", 0.04, "--method", "paper"
    )
    assert code == 0
    assert "WARNING: the error bound of this verdict does not hold" in out


def test_a_vnnlib_file_states_the_question(bench: Path) -> None:
    onnx, vnnlib = (sorted((bench / kind).iterdir())[0] for kind in ("onnx", "vnnlib"))
    done = assay("weakened", "decide", onnx, vnnlib, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["measure"] == "uniform on the box"
    done = assay("weakened", "decide", onnx, vnnlib, "--radius", 1, "--labels", 2)
    assert done.returncode == 2
    assert "states box and property itself; leave --radius and --labels out" in done.stderr


def test_a_radius_with_what_is_proved(place: Path) -> None:
    words = ("radius", "nets.py:net", "point.npy", "--radius", 0.5, "--precision", 0.05)
    code, out, _ = weakened(place, *words)
    assert code == 0
    assert "confirmed on fresh samples" in out
    assert "Not proved: anything about radii that were not tried" in out
    said = json.loads(weakened(place, *words, "--json")[1])
    assert 0.03 <= said["radius"] < said["turns_at"] <= said["radius"] + 0.05
    assert len(said["steps"]) == 1 + 4 + 7


def test_a_curve_is_kept_and_gone_on_with(place: Path) -> None:
    words = (
        "curve",
        "nets.py:net",
        "data.npz",
        "--radii",
        "0.01,0.2",
        "--eps",
        "0.05",
        "-o",
        "out",
    )
    code, _, err = weakened(place, *words)
    assert code == 0, err
    names = {p.name for p in (place / "out").iterdir()}
    assert names == {"decisions.jsonl", "curve.csv", "curve.json", "curve.svg"}
    table = (place / "out" / "curve.csv").read_text().splitlines()
    assert table[0].startswith("radius,eps,eps_inner,inputs,robust")
    assert len(table) == 3
    document = json.loads((place / "out" / "curve.json").read_text())
    assert len(document["decisions"]) == 2 * 25
    assert {len(d["interval"]) for d in document["decisions"]} == {2}
    lines = (place / "out" / "decisions.jsonl").read_text().splitlines(keepends=True)
    (place / "out" / "decisions.jsonl").write_text("".join(lines[:21]) + lines[21][:20])
    code, again, err = weakened(place, *words)
    assert code == 0, err
    assert "20 decisions were known before" in again
    assert (place / "out" / "curve.csv").read_text().splitlines() == table
    code, _, err = weakened(place, *words, "--seed", 1)
    assert code == 2
    assert "holds a curve with another seed; choose another folder" in err


def test_the_warning_of_a_curve_is_about_the_rule_alone(place: Path) -> None:
    words = ("curve", "nets.py:net", "data.npz", "--radii", "0.2", "--eps", "0.05", "--inputs", 3)
    _, out, _ = weakened(place, *words, "--budget", 200)
    assert "WARNING" not in out
    _, out, _ = weakened(place, *words, "--method", "paper")
    assert "WARNING: this rule's error bound does not hold" in out


def test_misclassified_inputs_have_a_curve_of_their_own(place: Path) -> None:
    words = ("curve", "nets.py:net", "data.npz", "--radii", "0.3", "--eps", "0.05,0.1", "--json")
    said = json.loads(weakened(place, *words, "--points", "misclassified")[1])
    assert {p["inputs"] for p in said["curve"]} == {5}
    assert not any(d["correct"] for d in said["decisions"])
    said = json.loads(weakened(place, *words, "--points", "all", "--inputs", 12)[1])
    assert {p["inputs"] for p in said["curve"]} == {12}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("nets.py:net point.npy", "--radius is missing"),
        ("nets.py:net point.npy --radius 0", "radius 0 is no ball; give a number above 0"),
        ("nets.py:net point.npy --radius -1", "radius -1 is no ball"),
        ("nets.py:net point.npy --radius nan", "radius nan is no ball"),
        ("nets.py:net point.npy --radius 1 --norm 3", "norm '3' is unknown"),
        ("nets.py:net point.npy --radius 1 --eps 0", "eps = 0 is no failure rate"),
        ("nets.py:net point.npy --radius 1 --eps 1.5", "eps = 1.5 is no failure rate"),
        ("nets.py:net point.npy --radius 1 --eps .1 --eps-inner .2", "eps' = 0.2 must lie below"),
        ("nets.py:net point.npy --radius 1 --alpha 0", "alpha = 0 is no error probability"),
        ("nets.py:net point.npy --radius 1 --labels 3", "label 3 does not exist"),
        ("nets.py:net point.npy --radius 1 --seed -1", "--seed -1 is not a seed; give"),
        ("nets.py:net point.npy --radius 1 --eps 1e-12", "that takes at least 6,907,"),
        ("nets.py:score point.npy --radius 1", "gives one score an input, and labels need one"),
        ("nets.py:net point.npy --radius 1 --labels 0,1,2", "every class is in the label set"),
        ("nets.py:net point.npy --radius 1 --labels x", "'x' is no whole number"),
        ("nets.py:net point.npy --radius 1 --method magic", "there is no method 'magic'"),
        ("nets.py:net point.npy --radius 1 --range 1", "is not LOW,HIGH"),
        ("nets.py:net point.npy --radius 1 --range 0,0.5", "outside the range 0 to 0.5"),
        ("nets.py:net point.npy --radius 1 --budget 0", "a budget of 0 samples decides nothing"),
        ("nets.py:net missing.npy --radius 1", "missing.npy: cannot be read"),
        ("nets.py:net data.npz --radius 1", "holds 30 inputs; pick one with --index"),
        ("nets.py:net data.npz --radius 1 --index 30", "and no number 30"),
        ("nets.py:net wide.npy --radius 1", "the model raised RuntimeError"),
        ("nets.py:raising point.npy --radius 1", "the model raised ValueError"),
        ("nets.py:nan point.npy --radius 1", "gives NaN for 1 of 1 inputs"),
        ("nets.py:one_row point.npy --radius 1 --labels 0", "give one row an input"),
        ("nets.py:number point.npy --radius 1", "is a int; name a torch module"),
        ("nets.py:nothing point.npy --radius 1", "has no 'nothing'"),
        ("gone.py:net point.npy --radius 1", "cannot be imported"),
        ("gone.onnx point.npy --radius 1", "gone.onnx: cannot be read"),
        ("nets.py:net point.npy --radius 1 --device tpu", "--device tpu is not known"),
    ],
)
def test_bad_input_gets_one_sentence(place: Path, words: str, sentence: str) -> None:
    np.save(place / "wide.npy", np.zeros(9))
    code, out, err = weakened(place, "decide", *words.split())
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.splitlines()) == 1, err


def test_an_interval_that_reaches_over_eps_is_explained(place: Path) -> None:
    """'not robust' beside an interval that begins below eps looks like a contradiction."""
    (place / "coin.py").write_text(
        "import numpy as np\ndef net(x):\n    return np.stack([x[:, 0], 0 * x[:, 0]], 1)\n"
    )
    np.save(place / "tenth.npy", np.array([0.8], dtype=np.float32))
    words = ("coin.py:net", "tenth.npy", "--radius", 1, "--eps", 0.12, "--eps-inner", 0.02)
    document = json.loads(weakened(place, "decide", *words, "--json")[1])
    shown = weakened(place, "decide", *words)[1]
    assert document["verdict"] == "not robust"
    assert 0.02 <= document["interval"][0] < 0.12
    note = document["interval_note"]
    assert note in shown
    assert "reaches below eps = 0.12 although the verdict is 'not robust'" in note
    assert "rules out rates of eps' = 0.02 or less" in note
    clear = ("coin.py:net", "tenth.npy", "--radius", 0.5, "--eps", 0.1)
    document = json.loads(weakened(place, "decide", *clear, "--json")[1])
    assert (document["verdict"], document["interval_note"]) == ("robust", None)


def test_a_search_around_a_misclassified_input_is_refused(place: Path) -> None:
    words = ("radius", "nets.py:net", "point.npy", "--radius", 1, "--labels", 2)
    code, _, err = weakened(place, *words)
    assert code == 2
    assert "the model says 0 at the input itself" in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--eps 0.1", "at least one radius"),
        ("--radii 0.1,-2", "a radius is not above 0"),
        ("--radii 0.1 --points some", "points 'some' is unknown"),
        ("--radii 0.1 --inputs 0", "a curve over no inputs says nothing"),
        ("--radii 0.1 --confidence 1", "confidence 1 is not between 0 and 1"),
        ("--radii zero", "--radii zero is not a list of numbers"),
    ],
)
def test_curves_without_sense_are_refused(place: Path, words: str, sentence: str) -> None:
    code, _, err = weakened(place, "curve", "nets.py:net", "data.npz", *words.split())
    assert code == 2
    assert sentence in err
    assert len(err.splitlines()) == 1, err
