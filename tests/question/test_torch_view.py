from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
import torch
from operator_cases import CASES, Case, X, number, weights

from assay.errors import BadInput, Unsupported
from assay.question.exact import EXACT_OPERATORS, IRRATIONAL_OPERATORS, evaluate
from assay.question.graph import mlp
from assay.question.network import load
from assay.question.operators.torch_module import TORCH_OPERATORS
from assay.question.runtime import FloatRunner
from assay.question.torch_view import torch_view


def test_every_registered_operator_has_a_case() -> None:
    covered = {case.op_type for case in CASES}
    assert covered == set(EXACT_OPERATORS) | set(TORCH_OPERATORS)
    assert set(EXACT_OPERATORS) <= set(TORCH_OPERATORS)
    assert set(TORCH_OPERATORS) - set(EXACT_OPERATORS) == IRRATIONAL_OPERATORS


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.label)
def test_agrees_with_onnx_runtime_and_exact(case: Case) -> None:
    network = load(case.onnx(), case.label)
    points = case.points(3)
    view = torch_view(network, torch.float64)
    found = view(torch.as_tensor(points, dtype=torch.float64)).numpy()
    assert found.shape == (3, network.outputs)
    np.testing.assert_allclose(found, FloatRunner(network).run(points), rtol=2e-5, atol=2e-4)
    single = torch_view(network)(torch.as_tensor(points)).numpy()
    np.testing.assert_allclose(single, found, rtol=2e-5, atol=2e-4)
    if case.op_type in EXACT_OPERATORS:
        exact = [
            [float(y) for y in evaluate(network, [Fraction(float(v)) for v in p])] for p in points
        ]
        np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.label)
def test_gradients_are_those_of_single_points(case: Case) -> None:
    """Summing over a batch must not mix its points."""
    view = torch_view(load(case.onnx(), case.label), torch.float64)
    points = torch.as_tensor(case.points(3), dtype=torch.float64).requires_grad_()
    (together,) = torch.autograd.grad(view(points).square().sum(), points)
    for i in range(3):
        point = points[i : i + 1].detach().requires_grad_()
        (alone,) = torch.autograd.grad(view(point).square().sum(), point)
        assert torch.isfinite(alone).all()
        torch.testing.assert_close(together[i : i + 1], alone)


def test_is_frozen_and_follows_the_dtype() -> None:
    view = torch_view(load(mlp([(weights(3, 2), weights(3))]), "net"), torch.float64)
    assert not list(view.parameters())
    assert not view.training
    assert {buffer.dtype for buffer in view.buffers()} == {torch.float64}


def test_refusals() -> None:
    network = load(Case("Relu", (1, 2)).onnx(), "net")
    with pytest.raises(BadInput, match="ask for torch"):
        torch_view(network, torch.float16)
    with pytest.raises(BadInput, match=r"takes \[N, 2\]"):
        torch_view(network)(torch.zeros(1, 3))
    with pytest.raises(Unsupported, match="Assay has no torch view for operator HardSwish yet"):
        torch_view(load(Case("HardSwish", (1, 2), opset=14).onnx(), "net"))
    moving = Case("Conv", (1, 1, 2, 2), (X, X))
    with pytest.raises(Unsupported, match="depends on the input"):
        torch_view(load(moving.onnx(), "net"))


def test_power_of_a_negative_number_has_a_gradient() -> None:
    view = torch_view(load(Case("Pow", (1, 2), (X, number(2))).onnx(), "net"))
    points = torch.tensor([[0.0, -3.0]], requires_grad=True)
    view(points).sum().backward()
    assert points.grad is not None
    assert points.grad.tolist() == [[0.0, -6.0]]


def test_torch_is_optional() -> None:
    """Without torch the message says what to install, and no other module needs it."""
    program = """
import sys
sys.modules["torch"] = None
import numpy as np
import assay.question.exact, assay.question.runtime, assay.question.graph
from assay.errors import BadInput
from assay.question.graph import mlp
from assay.question.network import load
from assay.question.torch_view import torch_view
try:
    torch_view(load(mlp([(np.ones((1, 1), np.float32), np.ones(1, np.float32))]), "net"))
except BadInput as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "which is not installed; get it with: pip install" in done.stdout
