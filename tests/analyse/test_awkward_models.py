"""Models as people bring them: they print, leave, work in place, and stand among other files."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from assay.analyse.asked import around
from assay.analyse.model import Model, callable_model, module_model
from assay.analyse.named_model import model_named
from assay.errors import BadInput


def named(folder: Path, source: str, name: str = "f", file: str = "brought.py") -> Model:
    (folder / file).write_text(source)
    return model_named(f"{folder / file}:{name}", (2,))


def test_what_a_model_prints_is_kept_off_stdout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = "print('first')\ndef f(x):\n    print('then')\n    return x\n"
    named(tmp_path, source, file="talking.py").scores(torch.zeros(3, 2))
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "first\nthen\n"


def test_a_module_that_prints_is_kept_off_stdout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = (
        "import torch\nclass F(torch.nn.Module):\n    def forward(self, x):\n"
        "        print('then')\n        return x\nf = F()\n"
    )
    named(tmp_path, source, file="talking_module.py").scores(torch.zeros(3, 2))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("source", ["import sys; sys.exit(0)", "raise SystemExit('no arguments')"])
def test_a_file_that_leaves_is_refused(tmp_path: Path, source: str) -> None:
    with pytest.raises(BadInput, match=r"cannot be imported \(SystemExit"):
        named(tmp_path, source, file="leaving.py")


def test_a_model_that_leaves_is_refused() -> None:
    def leaving(_: np.ndarray) -> np.ndarray:
        sys.exit(0)

    with pytest.raises(BadInput, match="raised SystemExit"):
        callable_model(leaving, (2,)).scores(torch.zeros(3, 2))


def test_a_file_may_import_its_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "neighbour_of_a_model.py").write_text("def f(x):\n    return x\n")
    found = named(tmp_path, "from neighbour_of_a_model import f\n", file="importing.py")
    assert found.scores(torch.ones(3, 2)).shape == (3, 2)


def test_a_file_takes_no_module_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    import csv

    named(tmp_path, "def f(x):\n    return x\n", file="csv.py")
    assert sys.modules["csv"] is csv


def test_a_file_without_a_name_says_how_to_name_one() -> None:
    with pytest.raises(BadInput, match=r"nets\.py:NAME"):
        model_named("nets.py", (2,))


def test_points_stay_as_they_are_where_a_model_works_in_place() -> None:
    class InPlace(torch.nn.Module):
        def forward(self, points: torch.Tensor) -> torch.Tensor:
            return points.sub_(0.5)

    def in_place(points: np.ndarray) -> np.ndarray:
        points -= 0.5
        return points

    for model in (module_model(InPlace(), (2,)), callable_model(in_place, (2,))):
        points = torch.ones(3, 2)
        model.scores(points)
        assert (points == 1).all()


def test_a_model_whose_classes_depend_on_the_batch_is_refused() -> None:
    model = callable_model(lambda x: x[:, : 3 if len(x) == 1 else 2], (4,), name="odd")
    model.scores(torch.zeros(1, 4))
    with pytest.raises(BadInput, match="odd: gives 2 scores an input where it gave 3 before"):
        model.scores(torch.zeros(5, 4))


@pytest.mark.parametrize(("answer", "kind"), [(None, "NoneType"), ({"logits": 1}, "dict")])
def test_what_is_no_array_is_called_by_its_name(answer: object, kind: str) -> None:
    with pytest.raises(BadInput, match=f"gives a {kind}"):
        callable_model(lambda _: answer, (2,)).scores(torch.zeros(3, 2))


def test_a_function_may_give_tensors_of_few_bits() -> None:
    model = callable_model(lambda x: torch.from_numpy(x).to(torch.bfloat16), (2,))
    assert (model.scores(torch.ones(3, 2)) == 1).all()


@pytest.mark.parametrize("shape", [(0,), (3, 0), (-2, -2)])
def test_a_shape_without_numbers_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(BadInput, match="holds no numbers"):
        callable_model(lambda x: x, shape)


@pytest.mark.filterwarnings("error")
def test_inputs_beyond_the_model_s_numbers_are_refused() -> None:
    with pytest.raises(BadInput, match="overflow float32; give a smaller radius"):
        around(callable_model(lambda x: x, (2,)), np.zeros(2), (0,), 1e300, "inf")


def test_the_description_says_which_ball_it_is() -> None:
    model = callable_model(lambda x: x, (2,))
    radii = (0.1234567891, 0.1234567892)
    balls = [around(model, np.zeros(2), (0,), r, "2", valid=(0, 1), levels=9) for r in radii]
    one, other = (ball.description["region"] for ball in balls)
    assert one == {
        "kind": "ball",
        "norm": "2",
        "radius": 0.1234567891,
        "range": [0, 1],
        "levels": 9,
        "sha256": "374708fff7719dd5979ec875d56cd2286f6d3cf7ec317a3b25632aab28ec37bb",
    }
    assert one != other
