"""NeuralSAT's adapter: its words, its settings; the tool itself where it is installed."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from assay.judge.drivers import neuralsat_driver
from assay.judge.execute import Task, execute
from assay.judge.task import Answer, Limits, Question
from assay.judge.verifier import Garbled, Refused
from assay.judge.verifiers import neuralsat

HERE = neuralsat.version() is not None


def network(path: Path, inputs: int, hidden: int) -> str:
    """Y_0 = sum of relu(X_i), hidden units of which all but the first are zero."""
    floats = TensorProto.FLOAT
    first = [1.0 if row == 0 else 0.0 for row in range(hidden) for _ in range(inputs)]
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["x", "w", "b"], ["a"], transB=1),
            helper.make_node("Relu", ["a"], ["r"]),
            helper.make_node("Gemm", ["r", "v", "c"], ["y"], transB=1),
        ],
        "g",
        [helper.make_tensor_value_info("x", floats, [1, inputs])],
        [helper.make_tensor_value_info("y", floats, [1, 2])],
        [
            helper.make_tensor("w", floats, [hidden, inputs], first),
            helper.make_tensor("b", floats, [hidden], [0.0] * hidden),
            helper.make_tensor("v", floats, [2, hidden], [1.0] * hidden + [0.0] * hidden),
            helper.make_tensor("c", floats, [2], [0.0, 0.0]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, str(path))
    return str(path)


def specification(path: Path, threshold: str) -> Path:
    lines = ["(declare-const X_0 Real)", "(declare-const X_1 Real)"]
    lines += ["(declare-const Y_0 Real)", "(declare-const Y_1 Real)"]
    lines += [f"(assert ({sign} X_{i} {b}))" for i in (0, 1) for sign, b in ((">=", -1), ("<=", 1))]
    lines += [f"(assert (>= Y_0 {threshold}))"]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_what_it_writes_is_read() -> None:
    assert neuralsat.read("unsat\n") == Answer("robust")
    assert neuralsat.read("timeout\n") == Answer("unknown")
    assert neuralsat.read("unknown\n") == Answer("unknown")
    assert neuralsat.read("early_stop\n") == Answer("unknown")
    written = "sat\n((X_0 0.5)\n (X_1 -1.25e-07)\n (Y_0 2.0))\n"
    assert neuralsat.read(written) == Answer("violated", ("0.5", "-1.25e-07"), ("2.0",))


@pytest.mark.parametrize(
    "text",
    [
        "None\n",
        "restart\n",
        "invalid_counterexample\n",
        "unsat,3.1415\n",
        "early_stop\n((X_0 1))\n",
        "early_stop unsat\n",
        "unsat\n((X_0 1))\n",
        "Result: unsat\n",
        "",
    ],
)
def test_anything_else_is_garbled(text: str) -> None:
    with pytest.raises(Garbled):
        neuralsat.read(text)


def test_an_error_is_a_refusal() -> None:
    with pytest.raises(Refused):
        neuralsat.read("error\n")


def test_the_size_of_the_mixed_integer_model(tmp_path: Path) -> None:
    path = network(tmp_path / "n.onnx", inputs=2, hidden=5)
    assert neuralsat_driver.model_size(path) == 2 + 5 + 3 * 5 + 2


def test_every_version_is_pinned() -> None:
    environment = neuralsat.VERIFIER.environment
    assert environment is not None
    arguments = [text for step in environment.packages for text in step if text[0] != "-"]
    assert all(text.count("==") == 1 for text in arguments)
    assert "torch==2.13.0" in arguments


@pytest.mark.slow
@pytest.mark.skipif(not HERE, reason="needs: assay verifiers install neuralsat")
@pytest.mark.parametrize(
    ("hidden", "threshold", "verdict"),
    [(4, "2.5", "robust"), (4, "1.5", "violated"), (700, "2.5", "robust")],
    ids=["robust", "violated", "too-large-for-the-free-licence"],
)
def test_the_real_tool(tmp_path: Path, hidden: int, threshold: str, verdict: str) -> None:
    path = Path(network(tmp_path / "n.onnx", inputs=2, hidden=hidden))
    question = Question("q", path, specification(tmp_path / "q.vnnlib", threshold), 60)
    done = execute(
        Task(question, "neuralsat", 0),
        neuralsat.VERIFIER,
        str(neuralsat.version()),
        tmp_path / "task",
        Limits(90, 4096),
    )
    assert (done.result.ending, done.result.verdict) == ("answered", verdict), done.log.decode()
    if verdict == "violated":
        assert done.result.witness_class == "exact"
