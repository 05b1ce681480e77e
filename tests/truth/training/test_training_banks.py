"""Banks: every architecture is the paper's, and what is trained is what is written."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import torch

from assay.question.network import load
from assay.question.runtime import FloatRunner
from assay.truth.training.architectures import ARCHITECTURES, input_shape, size
from assay.truth.training.bank import Bank
from assay.truth.training.banks import new_bank
from assay.truth.training.written import network_bytes

CPU = torch.device("cpu")
SEEDS = [3, 4]
CHANNELS, CLASSES = 3, 4
TABLE_1 = {
    "cnn_1_conv": ("Relu", [10], [1000, 100, 20]),
    "cnn_2_conv": ("Relu", [5, 10], [1000, 100, 20]),
    "cnn_3_conv": ("Relu", [5, 10, 20], [1000, 100, 20]),
    "cnn_avgpool": ("Relu", [10], [1000, 100, 20]),
    "mlp_4_hidden": ("Relu", [], [100, 1000, 1000, 1000, 20]),
    "mlp_5_hidden": ("Relu", [], [100, 1000, 1000, 1000, 1000, 20]),
    "cnn_tanh": ("Tanh", [10], [1000, 100, 20]),
    "cnn_sigmoid": ("Sigmoid", [10], [1000, 100, 20]),
}


def moved(name: str) -> Bank:
    """A new bank, none of its tensors as it is when training begins."""
    bank = new_bank(ARCHITECTURES[name], CHANNELS, CLASSES, SEEDS, CPU)
    draw = torch.Generator().manual_seed(0)
    for tensor in (*bank.parameters.values(), *bank.statistics.values()):
        noise = torch.rand(tensor.shape, generator=draw) - 0.5
        tensor.add_(noise * float(tensor.shape[1]) ** -0.5)
    return bank


def points(name: str, count: int) -> torch.Tensor:
    inputs = size(input_shape(ARCHITECTURES[name], CHANNELS))
    draw = torch.Generator().manual_seed(1)
    return torch.rand(len(SEEDS), count, inputs, generator=draw) * 3 - 1.5


def written(bank: Bank, name: str, place: int) -> bytes:
    kept = bank.parameters | bank.statistics
    weights = {key: value[place].numpy() for key, value in kept.items()}
    return network_bytes(ARCHITECTURES[name], CHANNELS, weights)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_what_is_written_is_what_is_attacked(name: str) -> None:
    bank, asked = moved(name), points(name, 5)
    said = bank.run(bank.frozen(), asked).numpy()
    for place in range(len(SEEDS)):
        runner = FloatRunner(load(written(bank, name, place), name))
        found = runner.run(asked[place].numpy())
        assert np.abs(found - said[place]).max() <= 1e-5 * (1 + np.abs(found).max())
    assert not np.allclose(said[0], said[1])


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_half_precision_is_close_with_its_slopes(name: str) -> None:
    bank, results = moved(name), []
    for fast in (False, True):
        frozen = [tensor.detach() for tensor in bank.frozen(fast=fast)]
        assert (frozen[0].dtype == torch.float16) is fast
        asked = points(name, 4).requires_grad_()
        said = bank.run(frozen, asked)
        (slopes,) = torch.autograd.grad(said[..., 0].sum(), asked)
        results.append((said.detach(), slopes))
    (exact, slopes), (fast_said, fast_slopes) = results
    assert fast_said.dtype == torch.float32
    assert (fast_said - exact).abs().max() <= 5e-3 * (1 + exact.abs().max())
    agree = (fast_slopes.sign() == slopes.sign())[slopes.abs() > 0.05 * slopes.abs().max()]
    assert agree.float().mean() > 0.98


def test_half_precision_sees_what_half_a_point_loses() -> None:
    """A point is read as the sum of two halves, so that differences of inputs keep their digits."""
    bank = new_bank(ARCHITECTURES["tiny_mlp"], 1, 2, [0], CPU)
    for tensor in bank.parameters.values():
        tensor.zero_()
    bank.parameters["weight0"][0, :2, 0] = torch.tensor([100.0, -100.0])
    for position in (1, 2):
        bank.parameters[f"weight{position}"][0, 0, 0] = 1.0
    asked = torch.tensor([[[0.7001, 0.7, 0.0, 0.0]]])
    assert asked.half()[0, 0, 0] == asked.half()[0, 0, 1]
    said = bank.run(bank.frozen(fast=True), asked)[0, 0, 0]
    assert said.item() == pytest.approx(0.01, rel=0.01)


@pytest.mark.parametrize("name", TABLE_1)
def test_sizes_are_those_of_table_1(name: str) -> None:
    activation, filters, widths = TABLE_1[name]
    graph = onnx.ModelProto.FromString(written(moved(name), name, 0)).graph
    inputs = [d.dim_value for d in graph.input[0].type.tensor_type.shape.dim]
    assert inputs == [1, CHANNELS, 5, 5] if filters else [1, 10]
    shapes = {tensor.name: list(tensor.dims) for tensor in graph.initializer}
    convs = [shapes[node.input[1]] for node in graph.node if node.op_type == "Conv"]
    assert convs == [
        [n, read, 3, 3] for n, read in zip(filters, [CHANNELS, *filters], strict=False)
    ]
    dense = [shapes[node.input[1]] for node in graph.node if node.op_type == "Gemm"]
    read = [25 * filters[-1] if filters else 10, *widths]
    assert dense == [list(pair) for pair in zip([*widths, CLASSES], read, strict=True)]
    kinds = [node.op_type for node in graph.node]
    assert kinds.count(activation) == len(filters) + len(widths)
    assert kinds[-1] == "Gemm"
    assert kinds.count("AveragePool") == (name == "cnn_avgpool")


def test_the_pool_has_another_stride_than_its_window() -> None:
    """What auto_LiRPA once took for the same (the paper's section 4.3)."""
    graph = onnx.ModelProto.FromString(written(moved("cnn_avgpool"), "cnn_avgpool", 0)).graph
    (pool,) = [node for node in graph.node if node.op_type == "AveragePool"]
    lists = {a.name: list(a.ints) for a in pool.attribute if a.ints}
    assert lists["kernel_shape"] == [3, 3]
    assert lists.get("strides", [1, 1]) == [1, 1]


def test_the_transformer_has_two_heads_of_width_sixteen() -> None:
    graph = onnx.ModelProto.FromString(written(moved("vit"), "vit", 0)).graph
    kinds = [node.op_type for node in graph.node]
    depth = 2
    assert kinds.count("Softmax") == 2 * depth
    assert kinds.count("Relu") == depth
    shapes = {tensor.name: list(tensor.dims) for tensor in graph.initializer}
    embedded = next(shapes[n.input[1]] for n in graph.node if n.op_type == "MatMul")
    assert embedded == [CHANNELS, 16]
    assert list(shapes.values()).count([16, 8]) == 3 * 2 * depth  # query, key and value of a head


def test_a_bank_draws_each_network_from_its_own_seed() -> None:
    together = new_bank(ARCHITECTURES["tiny_cnn"], 1, 2, [7, 8], CPU)
    alone = new_bank(ARCHITECTURES["tiny_cnn"], 1, 2, [8], CPU)
    for name, value in alone.parameters.items():
        assert torch.equal(value[0], together.parameters[name][1])


def test_a_transformer_in_training_normalises_and_remembers() -> None:
    bank, asked = moved("vit"), points("vit", 6)
    weights = torch.full((len(SEEDS), 6), 1 / 6)
    before = {name: value.clone() for name, value in bank.statistics.items()}
    in_training = bank.train(asked, weights)
    changed = bank.statistics
    assert all(not torch.equal(changed[name], value) for name, value in before.items())
    # a point that does not count changes neither the others' outputs nor the averages
    for name, value in before.items():
        bank.statistics[name].copy_(value)
    more = torch.cat([asked, 5 * points("vit", 1)], 1)
    ignored = bank.train(more, torch.cat([weights, torch.zeros(len(SEEDS), 1)], 1))
    assert torch.allclose(ignored[:, :6], in_training, atol=1e-5)
