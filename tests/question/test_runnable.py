"""What ONNX Runtime runs can be sampled: any operator, any batch, the output that holds scores."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from assay.analyse.model import runnable_model
from assay.errors import BadInput
from assay.question.model_file import ModelFile
from assay.question.network import Network
from assay.question.runnable import Runnable, RunOptions
from assay.question.sampled_model import open_for_sampling
from assay.store.file_hash import file_sha256

WEIGHT = np.array([[1, 0, -1], [0.5, 2, 0]], np.float32)
Shape = list[int | str | None]


def model(
    nodes: list[onnx.NodeProto],
    shape: Shape,
    outputs: list[onnx.ValueInfoProto],
    weights: dict[str, np.ndarray] | None = None,
    kind: int = TensorProto.FLOAT,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "any",
        [helper.make_tensor_value_info("x", kind, shape)],
        outputs,
        [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def floats(name: str, *shape: int | str | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))


def opened(made: onnx.ModelProto, *given: int, output: str = "") -> Runnable:
    file = ModelFile(made, made.SerializeToString(), "net.onnx")
    return Runnable(file, given or None, RunOptions(output))


def linear(first: int | str | None, *, normed: bool = False) -> onnx.ModelProto:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    weights = {"w": WEIGHT}
    if normed:
        nodes.append(helper.make_node("LayerNormalization", ["y", "ones"], ["z"], axis=-1))
        weights["ones"] = np.ones(3, np.float32)
    return model(nodes, [first, 2], [floats("z" if normed else "y", first, 3)], weights)


def classifier(*, maps: bool) -> onnx.ModelProto:
    """As skl2onnx writes a logistic regression: a label, and probabilities as maps or a tensor."""
    nodes = [
        helper.make_node(
            "LinearClassifier",
            ["x"],
            ["label", "raw"],
            domain="ai.onnx.ml",
            coefficients=WEIGHT.T.ravel().tolist(),
            intercepts=[0.0, 0.0, 0.0],
            classlabels_ints=[0, 1, 2],
            post_transform="SOFTMAX",
        )
    ]
    scores = floats("raw", None, 3)
    if maps:
        nodes.append(
            helper.make_node(
                "ZipMap", ["raw"], ["maps"], domain="ai.onnx.ml", classlabels_int64s=[0, 1, 2]
            )
        )
        one = helper.make_map_type_proto(
            TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, [])
        )
        scores = helper.make_value_info("maps", helper.make_sequence_type_proto(one))
    label = helper.make_tensor_value_info("label", TensorProto.INT64, [None])
    return model(nodes, [None, 2], [label, scores])


POINTS = np.random.default_rng(1).normal(size=(7, 2)).astype(np.float32)


@pytest.mark.parametrize(
    ("first", "given", "batched"),
    [("n", (), True), (None, (2,), True), (1, (2,), False), (4, (2,), True), (3, (2,), True)],
)
def test_one_rule_for_batches(first: int | None, given: tuple[int, ...], batched: bool) -> None:
    runnable = opened(linear(first), *given)
    assert (runnable.shape, runnable.outputs, runnable.batched) == ((2,), 3, batched)
    np.testing.assert_allclose(runnable.run(POINTS), POINTS @ WEIGHT, rtol=1e-5)
    assert runnable.run(POINTS[:0]).shape == (0, 3)


def test_without_a_hint_a_fixed_batch_is_one_input() -> None:
    runnable = opened(linear(4))
    assert (runnable.shape, runnable.outputs) == ((4, 2), 12)
    whole = POINTS[:4].reshape(1, 8)
    np.testing.assert_allclose(runnable.run(whole)[0], (POINTS[:4] @ WEIGHT).ravel(), rtol=1e-5)


def test_rows_of_a_fixed_batch_that_mix_are_refused() -> None:
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[0]),
        helper.make_node("Sub", ["x", "mean"], ["y"]),
    ]
    with pytest.raises(BadInput, match="4 rows, whose answers depend on each other"):
        opened(model(nodes, [4, 2], [floats("y", 4, 2)]), 2)


def test_a_free_axis_that_is_no_batch_runs_one_by_one() -> None:
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["most"], axes=[0]),
        helper.make_node("Sub", ["x", "most"], ["y"]),
    ]
    runnable = opened(model(nodes, ["time", 2], [floats("y", "time", 2)]), 2)
    assert not runnable.batched
    assert not runnable.run(POINTS).any()


def test_free_lengths_are_those_of_the_input() -> None:
    nodes = [helper.make_node("GlobalAveragePool", ["x"], ["y"])]
    made = model(nodes, ["n", 2, "h", "w"], [floats("y", "n", 2, 1, 1)])
    assert opened(made, 2, 5, 3).shape == (2, 5, 3)
    assert opened(made, 1, 2, 5, 3).shape == (2, 5, 3)
    with pytest.raises(BadInput, match=r"leaves lengths free \(2 x \? x \?\)"):
        opened(made, 30)


@pytest.mark.parametrize("maps", [False, True])
def test_probabilities_are_chosen_over_labels(maps: bool) -> None:
    runnable = opened(classifier(maps=maps))
    logits = np.exp(POINTS @ WEIGHT)
    expected = logits / logits.sum(1, keepdims=True)
    np.testing.assert_allclose(runnable.run(POINTS), expected, rtol=1e-4)
    chosen = "maps" if maps else "raw"
    assert runnable.note.endswith(f"takes the output {chosen!r} as scores (it also has 'label')")


def test_an_output_may_be_named() -> None:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Relu", ["y"], ["z"])]
    made = model(nodes, ["n", 2], [floats("y", "n", 3), floats("z", "n", 3)], {"w": WEIGHT})
    assert opened(made).output == "y"
    np.testing.assert_allclose(
        opened(made, output="z").run(POINTS), np.maximum(POINTS @ WEIGHT, 0), rtol=1e-5
    )
    with pytest.raises(BadInput, match="has no output 'q'; name one of 'y', 'z'"):
        opened(made, output="q")
    with pytest.raises(BadInput, match="'label' is no tensor of floats"):
        opened(classifier(maps=True), output="label")


def test_inputs_that_are_no_real_numbers_are_refused() -> None:
    nodes = [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)]
    with pytest.raises(BadInput, match="'x' holds int64 where regions hold real numbers"):
        opened(model(nodes, [1, 2], [floats("y", 1, 2)], kind=TensorProto.INT64))


def test_custom_domains_without_a_library_are_the_runtimes_to_refuse(tmp_path: Path) -> None:
    nodes = [helper.make_node("Mystery", ["x"], ["y"], domain="com.mine")]
    made = model(nodes, [1, 2], [floats("y", 1, 2)])
    made.opset_import.append(helper.make_opsetid("com.mine", 1))
    with pytest.raises(BadInput, match=r"ONNX Runtime refuses it .*com\.mine"):
        opened(made)
    library = tmp_path / "ops.so"
    library.write_bytes(b"nothing")
    file = ModelFile(made, made.SerializeToString(), "net.onnx")
    with pytest.raises(BadInput, match="is no library of operators for ONNX Runtime"):
        Runnable(file, None, RunOptions(libraries=(library,)))


_OPERATORS = "void *RegisterCustomOps(void *options, const void *base) { return 0; }"


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_library_of_operators_is_registered(tmp_path: Path) -> None:
    """One that registers nothing: ONNX Runtime loads it, calls it, and runs the model."""
    source, library = tmp_path / "ops.c", tmp_path / "ops.so"
    source.write_text(_OPERATORS)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    made = linear("n")
    file = ModelFile(made, made.SerializeToString(), "net.onnx")
    runnable = Runnable(file, None, RunOptions(libraries=(library,)))
    np.testing.assert_allclose(runnable.run(POINTS), POINTS @ WEIGHT, rtol=1e-5)
    model_of_it = runnable_model(runnable, options=RunOptions(libraries=(library,)))
    assert model_of_it.identity["custom_ops"] == [file_sha256(library)]


def test_a_network_that_assay_reads_is_read(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(linear("n", normed=True), path)
    assert isinstance(open_for_sampling(path), Network)
    onnx.save(linear(4), path)
    assert isinstance(open_for_sampling(path, (8,)), Network)
    assert isinstance(open_for_sampling(path, (2,)), Runnable)
    onnx.save(classifier(maps=True), path)
    assert isinstance(open_for_sampling(path, (2,)), Runnable)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(BadInput, match="not an ONNX file"):
        open_for_sampling(path)
