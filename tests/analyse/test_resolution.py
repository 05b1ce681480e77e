"""Numbers that are too coarse for a region: float64 where the model takes it, else one sentence."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from assay.analyse.asked import around
from assay.analyse.model import Model, callable_model, module_model, network_model
from assay.analyse.preprocessing import Preprocessing
from assay.analyse.promise import Promise
from assay.analyse.regions import Ball, BoxRegion
from assay.analyse.resolution import FEWEST_STEPS, precise_enough, refuse_coarse_box
from assay.analyse.roma_counted import RomaSettings, assess
from assay.analyse.rules import rule_for
from assay.analyse.splitting import SplittingSettings, split
from assay.analyse.weakened.decide import decide
from assay.errors import BadInput
from assay.question.graph import mlp
from assay.question.network import load

RULE = rule_for("confidence-sequence", Promise(0.01, 0.005))
EDGE = np.array([200.0, 1.0])


def step(x: np.ndarray) -> np.ndarray:
    """Half of every ball around EDGE fails."""
    above = (x[:, 0] >= 200).astype(np.float64)
    return np.stack([1 - above, above], 1)


def rounding_step(x: np.ndarray) -> np.ndarray:
    return step(x.astype(np.float32))


def refusing_step(x: np.ndarray) -> np.ndarray:
    if x.dtype != np.float32:
        raise TypeError("float32 only")
    return step(x)


class Step(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([[-1.0, 0.0], [1.0, 0.0]]))
        self.bias = torch.nn.Parameter(torch.tensor([200.0, -200.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weight.T + self.bias


class HalfBlind(Step):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x.float().double())


def onnx_step() -> Model:
    weight = np.array([[-1.0, 0.0], [1.0, 0.0]], np.float32)
    return network_model(load(mlp([(weight, np.array([200.0, -200.0], np.float32))]), "net"))


MODELS = {
    "function": lambda: callable_model(step, (2,)),
    "module": lambda: module_model(Step(), (2,)),
    "onnx": onnx_step,
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("norm", ["inf", "2", "1"])
def test_half_of_a_ball_that_float32_takes_for_a_point_fails(kind: str, norm: str) -> None:
    """`decide` said robust of it."""
    asked = around(MODELS[kind](), EDGE, (1,), 1e-6, norm)  # type: ignore[arg-type]
    found = decide(asked, RULE)
    assert found.verdict == "not robust"
    assert asked.numbers == "float64"
    assert "float32 is too coarse" in next(asked.warnings)


def test_every_sampler_sees_it() -> None:
    asked = around(MODELS["function"](), EDGE, (1,), 1e-6, "inf")
    counted = assess(asked, RomaSettings(1000)).counted
    assert counted.lower < 0.5 < counted.upper
    low, high = split(asked, SplittingSettings(100, 2)).counted
    assert low < 0.5 < high


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (callable_model(rounding_step, (2,)), "float64 are those of inputs rounded to float32"),
        (callable_model(refusing_step, (2,)), "it does not run in float64"),
        (module_model(HalfBlind(), (2,)), "float64 are those of inputs rounded to float32"),
    ],
)
def test_a_model_of_float32_is_refused_there(model: Model, reason: str) -> None:
    with pytest.raises(BadInput, match=reason) as refused:
        around(model, EDGE, (1,), 1e-6, "inf")
    said = str(refused.value)
    assert "input 0 spreads over 2e-06 around 200" in said
    assert "the numbers of float32 are 1.53e-05 apart" in said
    assert "give a larger radius or box" in said


def test_a_model_that_gives_classes_only_is_tried_on_more_points() -> None:
    """Of 200 steps, rounding crosses the one boundary once in some hundred points."""
    model = callable_model(step, (2,))
    assert precise_enough(model, Ball(EDGE, 1.5e-3, "inf")).dtype == torch.float64


def test_float64_has_an_end_as_well() -> None:
    with pytest.raises(BadInput, match=r"numbers of float64 are 2\.84e-14 apart"):
        around(MODELS["function"](), EDGE, (1,), 1e-13, "inf")


def test_usual_regions_stay_in_float32() -> None:
    model = callable_model(lambda x: x[:, :2], (784,))
    for norm, radius in (("inf", 0.01), ("2", 0.1), ("1", 1.0)):
        asked = around(model, np.full(784, 0.5), None, radius, norm)  # type: ignore[arg-type]
        assert asked.numbers == "float32"
        assert not list(asked.warnings)


def test_the_criterion_is_the_number_of_steps_in_the_widest_direction_of_an_input() -> None:
    model = MODELS["module"]()
    spacing = float(np.spacing(np.float32(200)))
    enough = Ball(EDGE, 1.01 * FEWEST_STEPS * spacing / 2, "inf")
    assert precise_enough(model, enough) is model
    too_few = Ball(EDGE, 0.99 * FEWEST_STEPS * spacing / 2, "inf")
    assert precise_enough(model, too_few).dtype == torch.float64


def test_preprocessing_may_be_what_loses_the_digits() -> None:
    """Inputs near 0 have fine numbers; minus a mean of 1000 they have not."""
    ball = Ball(np.zeros(2), 1e-5, "inf")
    assert precise_enough(callable_model(step, (2,)), ball).dtype == torch.float32
    shifted = callable_model(lambda x: x, (2,), preprocessing=Preprocessing(mean=(1000.0,)))
    assert precise_enough(shifted, ball).dtype == torch.float64


def test_levels_need_only_be_told_apart() -> None:
    model = callable_model(rounding_step, (2,))
    pixels = Ball(EDGE, 1, "inf", (0.0, 255.0), 256)
    assert precise_enough(model, pixels) is model
    far = Ball(EDGE + 1e6, 0.01, "inf", (1e6, 1e6 + 255.0), 2**16)
    with pytest.raises(BadInput, match=r"has levels 0\.00389 .* 0\.0625 apart"):
        precise_enough(model, far)


@pytest.mark.parametrize("radius", [1e38, 1e39, 1e300])
def test_inputs_that_overflow_are_refused_by_every_sampler(radius: float) -> None:
    with pytest.raises(BadInput, match="overflow float32; give a smaller radius or box"):
        around(MODELS["function"](), EDGE, (1,), radius, "inf")


def test_the_points_of_a_box_that_is_counted_need_numbers_too() -> None:
    refuse_coarse_box("q.vnnlib", BoxRegion(np.array([0.0, 200.0]), np.array([1.0, 200.001])))
    narrow = BoxRegion(np.array([0.0, 200.0]), np.array([1.0, 200 + 1e-12]))
    with pytest.raises(BadInput, match=r"^q\.vnnlib: input 1 spreads over 9\.95e-13 around 200"):
        refuse_coarse_box("q.vnnlib", narrow)


def test_an_input_that_does_not_vary_needs_no_numbers() -> None:
    fixed = BoxRegion(np.array([0.1, 0.0]), np.array([0.1, 1.0]))
    model = callable_model(step, (2,))
    assert precise_enough(model, fixed) is model
