"""Files as exporters write them, through the commands: what works, and what is said where not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from command_line import assay
from onnx import TensorProto, helper, numpy_helper

from assay.question.graph import mlp

WEIGHT = np.array([[1, -2], [0.5, 3], [0, 1]], np.float32)
BIAS = np.array([0, 1, -1], np.float32)
NEAR = ("--radius", 0.01, "--eps", 0.1)
QUESTION = """(declare-const X_0 Real)(declare-const X_1 Real)
(declare-const Y_0 Real)(declare-const Y_1 Real)(declare-const Y_2 Real)
(assert (>= X_0 0.5))(assert (<= X_0 0.75))(assert (>= X_1 -0.75))(assert (<= X_1 -0.5))
(assert (or (and (>= Y_1 Y_0)) (and (>= Y_2 Y_0))))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same linear classifier as three exporters write it, an input and a question."""
    folder = tmp_path_factory.mktemp("exports")
    single = onnx.load_from_string(mlp([(WEIGHT, BIAS), (np.eye(3, dtype=np.float32), 0 * BIAS)]))
    onnx.save(
        single, folder / "torch.onnx", save_as_external_data=True, location="torch.onnx.data",
        size_threshold=0,
    )  # fmt: skip
    onnx.save(_sklearn(), folder / "sklearn.onnx")
    onnx.save(_batch_of_four(), folder / "four.onnx")
    np.save(folder / "point.npy", np.array([0.6, -0.6], np.float32))
    (folder / "question.vnnlib").write_text(QUESTION)
    return folder


def _sklearn() -> onnx.ModelProto:
    """skl2onnx lists the main opset twice, and gives labels beside maps of probabilities."""
    nodes = [
        helper.make_node(
            "LinearClassifier",
            ["X"],
            ["output_label", "probabilities"],
            domain="ai.onnx.ml",
            coefficients=WEIGHT.ravel().tolist(),
            intercepts=BIAS.tolist(),
            classlabels_ints=[0, 1, 2],
            post_transform="SOFTMAX",
        ),
        helper.make_node(
            "ZipMap",
            ["probabilities"],
            ["output_probability"],
            domain="ai.onnx.ml",
            classlabels_int64s=[0, 1, 2],
        ),
    ]
    one = helper.make_map_type_proto(
        TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    )
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 2])],
        [
            helper.make_tensor_value_info("output_label", TensorProto.INT64, [None]),
            helper.make_value_info("output_probability", helper.make_sequence_type_proto(one)),
        ],
    )
    imports = [helper.make_opsetid(*one) for one in (("ai.onnx.ml", 1), ("", 17), ("", 17))]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def _batch_of_four() -> onnx.ModelProto:
    """LayerNormalization has no torch view; the batch is fixed."""
    weights = {"w": WEIGHT.T.copy(), "b": BIAS, "ones": np.ones(3, np.float32)}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("Add", ["product", "b"], ["sum"]),
        helper.make_node("LayerNormalization", ["sum", "ones"], ["y"], axis=-1),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 3])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("name", ["torch", "sklearn", "four"])
def test_sampling_commands_take_them_all(files: Path, name: str) -> None:
    model = files / f"{name}.onnx"
    for command in (
        ("weakened", "decide", model, files / "point.npy", *NEAR),
        ("weakened", "decide", model, files / "question.vnnlib", "--eps", 0.1),
        ("weakened", "radius", model, files / "point.npy", *NEAR, "--precision", 0.005),
        ("roma", model, files / "point.npy", "--radius", 0.01, "--samples", 100),
        ("splitting", model, files / "point.npy", "--radius", 0.01, "--particles", 50),
    ):
        done = assay(*command)
        assert done.returncode == 0, (command, done.stderr)


def test_the_chosen_output_is_told_and_may_be_named(files: Path) -> None:
    command = ("weakened", "decide", files / "sklearn.onnx", files / "point.npy", *NEAR, "--json")
    done = assay(*command)
    assert "takes the output 'output_probability' as scores (it also has 'output_label')" in (
        done.stderr
    )
    told = json.loads(done.stdout)
    assert "output_probability" in json.dumps(told)
    named = assay(*command, "--model-output", "output_probability")
    assert json.loads(named.stdout)["verdict"] == told["verdict"]
    refused = assay(*command, "--model-output", "output_label")
    assert refused.returncode == 2
    assert "'output_label' is no tensor of floats" in refused.stderr
    refused = assay(*command, "--custom-ops", files / "none.so")
    assert refused.returncode == 2
    assert "none.so: no such file; give a shared object" in refused.stderr


def test_attack_runs_without_gradients_and_says_why(files: Path) -> None:
    attacks = ("--attacks", "random", "--attacks", "pgd-margin")
    done = assay("attack", files / "sklearn.onnx", files / "question.vnnlib", *attacks)
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "1 attack did not run: needs gradients: torch cannot run" in told


def test_what_is_certified_is_a_single_file(files: Path, tmp_path: Path) -> None:
    """Whatever `certify` writes was verified by the checker, which reads one file."""
    bench = tmp_path / "bench"
    (files / "centre.txt").write_text("0.5 -0.5\n")
    done = assay("certify", files / "torch.onnx", "--centre", files / "centre.txt", "-o", bench)
    assert done.returncode == 0, done.stderr
    assert not list(bench.rglob("*.data"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sklearn", "Assay has no view of the domain 'ai.onnx.ml' yet; where ONNX Runtime runs"),
        ("four", "its batch is fixed at 4: export it with a batch of 1 or a free one"),
    ],
)
def test_a_refusal_says_what_assay_lacks(files: Path, name: str, words: str) -> None:
    done = assay("count", files / f"{name}.onnx", files / "question.vnnlib")
    assert done.returncode == 2
    assert words in done.stderr


def test_a_changed_data_file_is_another_model(files: Path, tmp_path: Path) -> None:
    """The record of a decision holds the hash of the weights beside the file."""
    for name in ("torch.onnx", "torch.onnx.data", "point.npy"):
        (tmp_path / name).write_bytes((files / name).read_bytes())
    command = ("weakened", "decide", tmp_path / "torch.onnx", tmp_path / "point.npy", *NEAR)
    before = json.loads(assay(*command, "--json").stdout)
    data = bytearray((tmp_path / "torch.onnx.data").read_bytes())
    data[2] ^= 1
    (tmp_path / "torch.onnx.data").write_bytes(data)
    after = json.loads(assay(*command, "--json").stdout)
    assert _hash(before) != _hash(after)


def _hash(document: dict[str, object]) -> str:
    text = json.dumps(document)
    return text[text.index('"sha256": "') :][:80]
