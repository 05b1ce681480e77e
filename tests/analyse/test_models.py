"""Models of every kind give the same scores, and what no statistics can use is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from assay.analyse.asked import Asked, around, of_case, of_files, predicted
from assay.analyse.kept import LabelSet
from assay.analyse.model import Model, callable_model, module_model, network_model, onnx_model
from assay.analyse.named_model import model_named
from assay.analyse.preprocessing import Layout, Preprocessing
from assay.analyse.regions import BoxRegion
from assay.analyse.trials import Trials
from assay.errors import BadInput
from assay.question.graph import mlp
from assay.question.network import load_file

SHAPE = (3, 2, 2)
QUESTION = """(declare-const X_0 Real)
(declare-const X_1 Real)
(declare-const Y_0 Real)
(declare-const Y_1 Real)
(assert (>= X_0 -1))
(assert (<= X_0 1))
(assert (>= X_1 0))
(assert (<= X_1 1))
(assert (<= Y_0 Y_1))
"""


def layers(inputs: int = 12) -> list[tuple[np.ndarray, np.ndarray]]:
    draw = np.random.default_rng(0)
    sizes = [(8, inputs), (4, 8)]
    return [
        (draw.normal(size=s).astype(np.float32), draw.normal(size=s[0]).astype(np.float32))
        for s in sizes
    ]


def by_hand(points: np.ndarray) -> np.ndarray:
    (first, first_bias), (second, second_bias) = layers()
    hidden = np.maximum(points.reshape(len(points), -1) @ first.T + first_bias, 0)
    return np.asarray(hidden @ second.T + second_bias)


def module() -> nn.Module:
    (first, first_bias), (second, second_bias) = layers()
    made = nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 4), nn.Dropout())
    values = {"1.weight": first, "1.bias": first_bias, "3.weight": second, "3.bias": second_bias}
    made.load_state_dict({name: torch.from_numpy(value) for name, value in values.items()})
    return made


@pytest.fixture
def onnx_file(tmp_path: Path) -> Path:
    path = tmp_path / "net.onnx"
    path.write_bytes(mlp(layers()))
    return path


def every_kind(onnx_file: Path) -> list[Model]:
    # a flat ONNX file has no channels, so its mean is the same for all
    plain = Preprocessing(2.0, (0.25,), (0.5,))
    return [
        onnx_model(onnx_file, preprocessing=plain),
        network_model(load_file(onnx_file), preprocessing=plain, dtype=torch.float64),
        module_model(module(), SHAPE, preprocessing=plain),
        callable_model(by_hand, SHAPE, preprocessing=plain),
    ]


def test_every_kind_of_model_gives_the_same_scores(onnx_file: Path) -> None:
    points = torch.randn(100, 12, generator=torch.Generator().manual_seed(1))
    expected = by_hand((points.numpy() / 2 - 0.25) / 0.5)
    for model in every_kind(onnx_file):
        assert np.allclose(model.scores(points).numpy(), expected, atol=1e-4), model.identity
        assert model.queries == 100
        assert model.inputs == 12


def test_batches_change_nothing_but_rounding(onnx_file: Path) -> None:
    points = torch.randn(3000, 12, generator=torch.Generator().manual_seed(1))
    for model in every_kind(onnx_file):
        whole = model.scores(points)
        parts = torch.cat([model.scores(part) for part in points.split(777)])
        assert torch.allclose(whole, parts, atol=1e-5)
        assert model.queries == 6000


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["chw", "hwc"]),
    st.floats(0.5, 255),
    st.lists(st.floats(-1, 1), min_size=3, max_size=3),
    st.lists(st.floats(0.1, 2), min_size=3, max_size=3),
)
def test_preprocessing_is_what_numpy_says(
    layout: Layout, scale: float, mean: list[float], std: list[float]
) -> None:
    shape = (3, 4, 5) if layout == "chw" else (4, 5, 3)
    along = (1, 3, 1, 1) if layout == "chw" else (1, 1, 1, 3)
    seen: list[np.ndarray] = []

    def watching(points: np.ndarray) -> np.ndarray:
        seen.append(points.copy())
        return np.zeros((len(points), 2))

    preprocessing = Preprocessing(scale, tuple(mean), tuple(std), layout)
    model = callable_model(watching, shape, preprocessing=preprocessing)
    points = np.random.default_rng(0).uniform(0, 255, (7, 60)).astype(np.float32)
    model.scores(torch.from_numpy(points))
    wide = points.reshape(7, *shape).astype(np.float64)
    expected = (wide / scale - np.reshape(mean, along)) / np.reshape(std, along)
    assert seen[0].shape == (7, *shape)
    assert np.allclose(seen[0], expected, rtol=1e-5, atol=1e-4 * abs(expected).max())


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"scale": 0.0}, "scale 0 divides"),
        ({"scale": math.nan}, "scale nan divides"),
        ({"scale": math.inf}, "scale inf divides"),
        ({"std": (1.0, 0.0)}, "std divides"),
        ({"mean": (math.nan,)}, "give finite numbers"),
        ({"layout": "cwh"}, "give chw or hwc"),
    ],
)
def test_preprocessing_that_is_none_is_refused(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        Preprocessing(**wrong)


def test_numbers_for_other_channels_are_refused() -> None:
    with pytest.raises(BadInput, match=r"mean has 2 numbers where .* 3 channels"):
        callable_model(by_hand, SHAPE, preprocessing=Preprocessing(1.0, (0.0, 1.0)))


def raising(points: np.ndarray) -> np.ndarray:
    raise KeyError(f"no weights\nfor {len(points)}")


REFUSED: list[tuple[Callable[[np.ndarray], Any], str]] = [
    (raising, r"the model raised KeyError on inputs of shape 5 x 3 x 2 x 2 \('no weights"),
    (lambda x: np.full((len(x), 2), np.nan), "gives NaN for 5 of 5 inputs"),
    (lambda x: np.zeros((len(x) + 1, 2)), "scores of shape 6 x 2 for 5 inputs"),
    (lambda _: 3.0, "give one row an input"),
    (lambda _: {"scores": 1}, "give one array of scores"),
    (lambda x: np.full((len(x), 2), "high"), "give one array of scores"),
    (lambda x: np.zeros((len(x), 2), complex), "gives complex scores"),
]


@pytest.mark.parametrize(("function", "reason"), REFUSED)
def test_answers_that_are_no_scores_are_refused(
    function: Callable[[np.ndarray], Any], reason: str
) -> None:
    with pytest.raises(BadInput, match=reason) as refusal:
        callable_model(function, SHAPE, name="mine").scores(torch.zeros(5, 12))
    assert str(refusal.value).startswith("mine: ")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int64, np.float16])
def test_margins_of_whole_numbers_do_not_wrap_around(dtype: type) -> None:
    model = callable_model(lambda x: np.tile(np.array([0, 1], dtype), (len(x), 1)), (2,))
    scores = model.scores(torch.zeros(3, 2))
    assert LabelSet((0,)).margins(scores).tolist() == [-1, -1, -1]


def test_inputs_of_another_shape_are_refused(onnx_file: Path) -> None:
    for model in every_kind(onnx_file):
        with pytest.raises(BadInput, match=r"takes 12 numbers .* where an input has 11"):
            model.scores(torch.zeros(2, 11))


def test_a_module_of_another_shape_is_said_to_raise() -> None:
    with pytest.raises(BadInput, match="the model raised RuntimeError on inputs of shape 1 x 5"):
        module_model(module(), (5,)).scores(torch.zeros(1, 5))


def test_infinite_scores_have_no_margin() -> None:
    model = callable_model(lambda x: np.full((len(x), 2), np.inf), (2,), name="mine")
    with pytest.raises(BadInput, match="infinite scores have no difference"):
        around(model, np.zeros(2), (0,), 1, "inf")


def test_a_module_is_known_by_its_weights() -> None:
    first, second = module(), module()
    assert module_model(first, SHAPE).identity == module_model(second, SHAPE).identity
    with torch.no_grad():
        next(second.parameters()).view(-1)[0] += 1
    assert module_model(first, SHAPE).identity != module_model(second, SHAPE).identity


def test_weights_of_any_kind_have_an_identity() -> None:
    half = module().to(torch.bfloat16)
    assert len(str(module_model(half, SHAPE).identity["sha256"])) == 64


def test_a_module_is_evaluated_not_trained() -> None:
    model = module_model(module().train(), SHAPE)
    points = torch.ones(50, 12)
    assert torch.equal(model.scores(points), model.scores(points))


def test_without_labels_the_prediction_must_stay() -> None:
    model = callable_model(by_hand, SHAPE)
    point = np.linspace(-1, 1, 12)
    label = int(by_hand(point[None]).argmax())
    assert predicted(model, point) == label
    assert around(model, point, None, 0.1, "2").kept == LabelSet((label,))


def test_a_question_in_files_is_a_box_and_a_violation(tmp_path: Path) -> None:
    onnx, vnnlib = tmp_path / "net.onnx", tmp_path / "query.vnnlib"
    onnx.write_bytes(mlp([(np.array([[1.0, 0.0], [0.0, 1.0]]), np.zeros(2))]))
    vnnlib.write_text(QUESTION)
    asked = of_files(onnx, vnnlib)
    assert isinstance(asked.region, BoxRegion)
    assert asked.region.lower.tolist() == [-1, 0]
    assert asked.margins(torch.tensor([[0.5, 0.25], [0.25, 0.5], [0.5, 0.5]])).tolist() == [
        0.25,
        -0.25,
        0,
    ]
    vnnlib.write_text(QUESTION.replace("Y_1 Real", "Y_1 Real)\n(declare-const Y_2 Real"))
    with pytest.raises(BadInput):
        of_files(onnx, vnnlib)


def ask(seed: int, rows: int) -> Tensor:
    model = callable_model(by_hand, SHAPE)
    model.rows = rows
    asked = Asked(model, LabelSet((0,)), BoxRegion(np.full(12, -1.0), np.full(12, 1.0)))
    trials = Trials(asked, seed)
    found = torch.cat([trials.margins(1234), trials.margins(766)])
    assert trials.drawn == model.queries == 2000
    return found


def test_trials_do_not_depend_on_batches() -> None:
    assert torch.allclose(ask(0, 32), ask(0, 5000), atol=1e-5)
    assert not torch.allclose(ask(0, 32), ask(1, 32), atol=1e-5)


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ("absent.onnx", "absent.onnx"),
        ("no_such_module:net", "cannot be imported"),
        ("code.py:absent", "has no 'absent'"),
        ("code.py:NUMBER", "is a int; name a torch module or a function"),
        ("code.py:Kind", "is a type; name a torch module or a function"),
        ("broken.py:net", "cannot be imported .SyntaxError"),
    ],
)
def test_names_of_no_model_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("code.py").write_text("NUMBER = 1\nclass Kind: pass\n")
    Path("broken.py").write_text("def net(:\n")
    with pytest.raises(BadInput, match=reason):
        model_named(named, SHAPE)


def test_models_are_found_by_file_and_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, onnx_file: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "import torch\nnet = torch.nn.Linear(2, 3)\ndef twice(x):\n    return 2 * x\n"
    )
    assert model_named("mine.py:net", (2,)).scores(torch.zeros(1, 2)).shape == (1, 3)
    assert model_named("mine.py:twice", (2,)).scores(torch.ones(1, 2)).tolist() == [[2, 2]]
    assert model_named(str(onnx_file), ()).inputs == 12


def test_a_network_on_its_box_is_asked_in_double_precision(tmp_path: Path) -> None:
    from assay.question.asked import read_question

    onnx, vnnlib = tmp_path / "net.onnx", tmp_path / "query.vnnlib"
    onnx.write_bytes(mlp([(np.array([[1.0, 0.0], [0.0, 1.0]]), np.zeros(2))]))
    vnnlib.write_text(QUESTION)
    network, specification = read_question(onnx, vnnlib)
    asked = of_case(network, specification.cases[0])
    assert asked.model.scores(torch.zeros(1, 2)).dtype == torch.float64
