from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from assay.errors import BadInput
from assay.question import model_file
from assay.question.exact import evaluate
from assay.question.graph import GraphBuilder, mlp
from assay.question.network import load, load_file
from assay.question.runtime import FloatRunner

_WEIGHT = np.array([[1, -2], [0.5, 3], [0, 1]], np.float32)
_BIAS = np.array([0, 1, -1], np.float32)
Edit = Callable[[onnx.ModelProto], object]


def small() -> bytes:
    return mlp([(_WEIGHT, _BIAS), (_WEIGHT.T.copy(), _BIAS[:2])])


def edited(edit: Edit) -> bytes:
    model = onnx.load_from_string(small())
    edit(model)
    return bytes(model.SerializeToString())


def test_reads_what_the_builder_wrote() -> None:
    network = load(small(), "net.onnx")
    assert (network.input_name, network.input_shape, network.inputs) == ("input", (1, 2), 2)
    assert (network.output_name, network.output_shape, network.outputs) == ("output", (1, 2), 2)
    assert [node.op_type for node in network.nodes] == ["Gemm", "Relu", "Gemm"]
    assert network.operators == {"Gemm", "Relu"}
    assert network.nodes[0].attributes == {"transB": 1}
    assert network.shapes["Relu_1"] == (1, 3)
    weight = network.initializers[network.nodes[0].inputs[1]]
    assert weight.tolist() == _WEIGHT.tolist()
    assert not weight.flags.writeable


def test_constant_nodes_and_typed_data_are_initializers() -> None:
    nodes = [
        helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(_BIAS[:2])),
        helper.make_node("Constant", [], ["f"], value_float=2.0),
        helper.make_node("Add", ["x", "c"], ["y"]),
        helper.make_node("Mul", ["y", "f"], ["z"]),
        helper.make_node("Mul", ["z", "typed"], ["w"]),
    ]
    typed = helper.make_tensor("typed", TensorProto.FLOAT, [2], [1.0, 0.5])
    model = _model(nodes, [1, 2], [1, 2], [typed])
    network = load(model, "net")
    assert {k: v.tolist() for k, v in network.initializers.items()} == {
        "c": [0, 1],
        "f": 2.0,
        "typed": [1.0, 0.5],
    }
    assert evaluate(network, [1, 1]) == [2, 2]


def _integers(**named: list[int]) -> list[onnx.TensorProto]:
    return [numpy_helper.from_array(np.array(v, np.int64), k) for k, v in named.items()]


def test_constant_scales_decide_the_shape_of_a_resize() -> None:
    """nn.Upsample(scale_factor=2), by either exporter."""
    scales = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")
    nodes = [helper.make_node("Resize", ["x", "", "scales"], ["w"], mode="nearest")]
    network = load(_model(nodes, ["batch", 1, 2, 3], ["batch", 1, 4, 6], [scales]), "net")
    assert network.output_shape == (1, 1, 4, 6)


def test_sizes_computed_in_floats_are_constants() -> None:
    """F.interpolate(scale_factor=1.5) in TorchScript: floor(1.5 * height), as an integer."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Slice", ["shape", "zero", "two"], ["first"]),
        helper.make_node("Slice", ["shape", "two", "four"], ["last"]),
        helper.make_node("Cast", ["last"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["floats", "factor"], ["larger"]),
        helper.make_node("Floor", ["larger"], ["floor"]),
        helper.make_node("Cast", ["floor"], ["whole"], to=TensorProto.INT64),
        helper.make_node("Concat", ["first", "whole"], ["sizes"], axis=0),
        helper.make_node("Resize", ["x", "", "", "sizes"], ["w"], mode="nearest"),
    ]
    factor = numpy_helper.from_array(np.array([1.5], np.float32), "factor")
    given = [factor, *_integers(zero=[0], two=[2], four=[4])]
    network = load(_model(nodes, ["batch", 1, 2, 5], ["batch", 1, 3, 7], given), "net")
    assert network.output_shape == (1, 1, 3, 7)
    assert network.operators == {"Resize"}
    assert network.initializers["sizes"].tolist() == [1, 1, 3, 7]


def test_what_attention_computes_of_its_shapes_is_constant() -> None:
    """TorchScript's MultiheadAttention: a head's width by Div and Mod, an empty list, a cast."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "last"], ["width"], axis=0),
        helper.make_node("Div", ["width", "heads"], ["each"]),
        helper.make_node("Mod", ["width", "heads"], ["rest"]),
        helper.make_node("Add", ["each", "rest"], ["wide"]),
        helper.make_node("Slice", ["shape", "none", "none"], ["nothing"]),
        helper.make_node("Concat", ["nothing", "rows", "heads", "wide"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
        helper.make_node("Cast", ["wide"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Sqrt", ["real"], ["root"]),
        helper.make_node("Cast", ["root"], ["same"], to=TensorProto.FLOAT),
        helper.make_node("Div", ["y", "same"], ["w"]),
    ]
    given = _integers(last=[-1], heads=[2], rows=[-1], none=[0])
    network = load(_model(nodes, ["batch", 3, 4], [3, 2, 2], given), "net")
    assert network.output_shape == (3, 2, 2)
    # the root stays a node: over the real numbers it is no float32
    assert network.operators == {"Reshape", "Sqrt", "Identity", "Div"}


def test_one_opset_may_be_listed_twice() -> None:
    def listed(*imports: tuple[str, int]) -> bytes:
        model = onnx.load_from_string(small())
        del model.opset_import[:]
        model.opset_import.extend(helper.make_opsetid(*one) for one in imports)
        return bytes(model.SerializeToString())

    for imports in ((("", 13), ("", 13)), (("ai.onnx.ml", 1), ("", 13), ("ai.onnx", 13))):
        assert load(listed(*imports), "net").opset == 13
    with pytest.raises(BadInput, match="opset 13 and 14 is unknown"):
        load(listed(("", 13), ("", 14)), "net")


def test_shape_programs_are_folded() -> None:
    """What torch exports for x.view(x.size(0), -1)."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Constant", [], ["zero"], value_int=0),
        helper.make_node("Gather", ["shape", "zero"], ["batch"]),
        helper.make_node("Unsqueeze", ["batch", "axes"], ["batch1"]),
        helper.make_node("Concat", ["batch1", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["w"]),
    ]
    integers = [
        numpy_helper.from_array(np.array([0], np.int64), "axes"),
        numpy_helper.from_array(np.array([-1], np.int64), "rest"),
    ]
    network = load(_model(nodes, ["batch", 2, 3], ["batch", 6], integers), "net")
    assert [node.op_type for node in network.nodes] == ["Reshape"]
    assert (network.input_shape, network.output_shape) == ((1, 2, 3), (1, 6))
    runner = FloatRunner(network)
    assert runner.batched
    points = np.arange(12, dtype=np.float32).reshape(2, 6)
    assert runner.run(points).tolist() == points.tolist()


@pytest.mark.parametrize("opset", [9, 11])
def test_shape_programs_of_old_exporters_are_folded(opset: int) -> None:
    """Before opset 13 the axes of Unsqueeze and Squeeze are attributes."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Constant", [], ["zero"], value=numpy_helper.from_array(np.array(0))),
        helper.make_node("Gather", ["shape", "zero"], ["batch"]),
        helper.make_node("Unsqueeze", ["batch"], ["batch1"], axes=[0]),
        helper.make_node("Squeeze", ["batch1"], ["batch0"], axes=[0]),
        helper.make_node("Unsqueeze", ["batch0"], ["batch2"], axes=[0]),
        helper.make_node("Concat", ["batch2", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["w"]),
    ]
    rest = numpy_helper.from_array(np.array([-1], np.int64), "rest")
    model = onnx.load_from_string(_model(nodes, [1, 2, 3], [1, 6], [rest]))
    model.opset_import[0].version = opset
    network = load(model.SerializeToString(), "net")
    assert [node.op_type for node in network.nodes] == ["Reshape"]
    assert network.output_shape == (1, 6)


def test_initializers_listed_as_inputs_and_idle_nodes_are_fine() -> None:
    def edit(model: onnx.ModelProto) -> None:
        for tensor in model.graph.initializer:
            info = helper.make_tensor_value_info(tensor.name, TensorProto.FLOAT, tensor.dims)
            model.graph.input.append(info)
        model.graph.node.append(helper.make_node("Exp", ["input"], ["idle"]))

    assert [n.op_type for n in load(edited(edit), "net").nodes] == ["Gemm", "Relu", "Gemm"]


def test_nodes_out_of_order_are_sorted() -> None:
    def edit(model: onnx.ModelProto) -> None:
        nodes = list(model.graph.node)
        del model.graph.node[:]
        model.graph.node.extend(reversed(nodes))

    assert [n.op_type for n in load(edited(edit), "net").nodes] == ["Gemm", "Relu", "Gemm"]


@pytest.mark.parametrize("leading", [0, "N"])
def test_a_free_batch_dimension_is_one(leading: int | str) -> None:
    def edit(model: onnx.ModelProto) -> None:
        shape = (leading, 2)
        model.graph.input[0].CopyFrom(helper.make_tensor_value_info("input", 1, shape))

    network = load(edited(edit), "net")
    assert network.input_shape == (1, 2)
    assert FloatRunner(network).run(np.ones((1, 2), np.float32)).shape == (1, 2)


def _model(
    nodes: list[onnx.NodeProto],
    input_shape: list[int | str],
    output_shape: list[int | str],
    initializers: list[onnx.TensorProto],
) -> bytes:
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, input_shape)],
        [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, output_shape)],
        initializers,
    )
    opset = [helper.make_opsetid("", 13)]
    return bytes(helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString())


def _set(path: str, value: object) -> Edit:
    """Set an attribute of the protobuf given by a path such as `graph.node[0].name`."""

    def edit(model: onnx.ModelProto) -> None:
        *parents, last = path.replace("]", "").replace("[", ".").split(".")
        here: object = model
        for step in parents:
            here = here[int(step)] if step.isdigit() else getattr(here, step)  # type: ignore[index]
        if last.isdigit():
            here[int(last)] = value  # type: ignore[index]
        else:
            setattr(here, last, value)

    return edit


def _input(kind: int, shape: list[int | str]) -> Edit:
    return lambda m: m.graph.input[0].CopyFrom(helper.make_tensor_value_info("input", kind, shape))


def _initializer(index: int, **changes: object) -> Edit:
    def edit(model: onnx.ModelProto) -> None:
        for key, value in changes.items():
            if key == "dims":
                del model.graph.initializer[index].dims[:]
                model.graph.initializer[index].dims.extend(value)  # type: ignore[arg-type]
            else:
                setattr(model.graph.initializer[index], key, value)

    return edit


def _subgraph(model: onnx.ModelProto) -> None:
    branch = helper.make_graph([helper.make_node("Identity", ["input"], ["b"])], "g", [], [])
    model.graph.node[1].attribute.append(helper.make_attribute("then_branch", branch))


_NAN = np.array([0, np.nan, 1], np.float32).tobytes()
_REFUSED: dict[str, tuple[Edit, str]] = {
    "no graph": (lambda m: m.ClearField("graph"), "holds no graph"),
    "no nodes": (lambda m: m.graph.ClearField("node"), "holds no graph"),
    "ir version": (_set("ir_version", 99), "IR version 99"),
    "opset": (_set("opset_import[0].version", 99), "opset 99 is unknown"),
    "old opset": (_set("opset_import[0].version", 3), "opset 3 is unknown"),
    "no opset": (lambda m: m.ClearField("opset_import"), "opset none"),
    "functions": (lambda m: m.functions.add(), "functions"),
    "sparse": (lambda m: m.graph.sparse_initializer.add(), "sparse"),
    "two inputs": (
        lambda m: m.graph.input.append(helper.make_tensor_value_info("more", 1, [1])),
        "2 inputs; give a network with exactly one",
    ),
    "no inputs": (lambda m: m.graph.ClearField("input"), "takes 'input', which nothing makes|0 in"),
    "two outputs": (
        lambda m: m.graph.output.append(helper.make_tensor_value_info("Relu_1", 1, [1, 3])),
        "2 outputs",
    ),
    "output of nothing": (_set("graph.output[0].name", "lost"), "'lost': no node computes"),
    "output is the input": (_set("graph.output[0].name", "input"), "no node computes"),
    "output shape": (
        lambda m: m.graph.output[0].CopyFrom(helper.make_tensor_value_info("output", 1, [1, 7])),
        "declared with 7 numbers but computed with 2",
    ),
    "dynamic": (_input(1, [1, "d"]), "'input': dynamic shape"),
    "no shape": (
        lambda m: m.graph.input[0].type.tensor_type.ClearField("shape"),
        "'input': dynamic shape",
    ),
    "negative input": (_input(1, [1, -2]), "negative dimension"),
    "huge input": (_input(1, [2**40, 2**40]), "more than 268435456 elements"),
    "double input": (_input(11, [1, 2]), "element type 11 is not float32"),
    "not a tensor": (lambda m: m.graph.input[0].ClearField("type"), "is not a tensor"),
    "external data": (_initializer(0, data_location=1), "Gemm_0.B'.*lies in another file"),
    "double weight": (_initializer(0, data_type=11), "element type 11"),
    "short raw data": (_initializer(0, raw_data=b"123"), "3 bytes of data where .* needs 24"),
    "dims": (_initializer(0, dims=[4, 2]), "24 bytes of data where .* needs 32"),
    "negative dims": (_initializer(0, dims=[-3, -2]), "negative dimension"),
    "huge dims": (_initializer(0, dims=[2**62, 2**62]), "more than 268435456"),
    "no dims": (_initializer(0, dims=[0, 5]), "empty"),
    "nan weight": (_initializer(1, raw_data=_NAN), "Gemm_0.C'.*NaN"),
    "twice the data": (lambda m: m.graph.initializer[1].float_data.extend([1.0]), "bytes of data"),
    "unnamed": (_initializer(0, name=""), "has no name"),
    "same initializers": (_initializer(0, name="Gemm_0.C"), "two tensors are named 'Gemm_0.C'"),
    "same outputs": (_set("graph.node[1].output[0]", "Gemm_0"), "two tensors are named 'Gemm_0'"),
    "output over input": (_set("graph.node[1].output[0]", "input"), "two tensors are named"),
    "missing tensor": (_set("graph.node[1].input[0]", "lost"), "'Relu_1' takes 'lost', which"),
    "cycle": (_set("graph.node[0].input[0]", "Relu_1"), "'Gemm_0' waits for itself in a cycle"),
    "custom domain": (_set("graph.node[1].domain", "com.acme"), "domain 'com.acme'"),
    "unknown operator": (_set("graph.node[1].op_type", "Reluu"), "'Relu_1' .Reluu.: "),
    "unknown attribute": (
        lambda m: m.graph.node[1].attribute.append(helper.make_attribute("alpha", 1.0)),
        "'Relu_1' .Relu.: .*alpha",
    ),
    "attribute twice": (
        lambda m: m.graph.node[0].attribute.append(helper.make_attribute("transB", 0)),
        "'transB': is given twice",
    ),
    "huge attribute": (_set("graph.node[0].attribute[0].i", 2**60), "absurdly large"),
    "nan attribute": (
        lambda m: m.graph.node[0].attribute.append(helper.make_attribute("alpha", np.nan)),
        "'alpha': is NaN",
    ),
    "subgraph": (_subgraph, "'then_branch': Assay does not read subgraphs"),
    "wrong arity": (lambda m: m.graph.node[1].input.append("input"), "'Relu_1' .Relu.: "),
    "no output": (lambda m: m.graph.node[1].ClearField("output"), "Relu_1|nothing makes"),
    "shapes clash": (_input(1, [1, 5]), "'Gemm_0' .Gemm.: .*export with fixed shapes"),
}


@pytest.mark.parametrize("label", _REFUSED)
def test_refuses_with_place_and_remedy(label: str) -> None:
    edit, expected = _REFUSED[label]
    with pytest.raises(BadInput, match=expected) as caught:
        load(edited(edit), "net.onnx")
    message = str(caught.value)
    assert message.startswith("net.onnx: ")
    assert ";" in message
    assert "\n" not in message


@pytest.mark.parametrize("data", [b"", b"hello", b"\x00" * 50, small()[:-9]])
def test_refuses_what_is_not_onnx(data: bytes) -> None:
    with pytest.raises(BadInput, match=r"^net\.onnx: "):
        load(data, "net.onnx")


def test_refuses_tensors_of_absurd_size() -> None:
    graph = GraphBuilder((1, 2))
    with pytest.raises(BadInput, match="elements"):
        graph.pad(graph.input, [0, 10**9, 0, 0])
    column = graph.transpose(graph.input, [1, 0])
    nodes = [helper.make_node("Expand", ["x", "shape"], ["y"])]
    shape = numpy_helper.from_array(np.array([30_000, 30_000], np.int64), "shape")
    with pytest.raises(BadInput, match="elements"):
        load(_model(nodes, [1, 1], [1, 1], [shape]), "net")
    assert graph.shape(column) == (2, 1)


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, packed = tmp_path / "net.onnx", tmp_path / "net.onnx.gz"
    plain.write_bytes(small())
    packed.write_bytes(gzip.compress(small()))
    assert load_file(plain).sha256 == load_file(packed).sha256
    assert load_file(str(plain)).place == str(plain)
    for broken in (b"", b"not gzip", gzip.compress(small())[:-20]):
        packed.write_bytes(broken)
        with pytest.raises(BadInput, match=r"net\.onnx\.gz: "):
            load_file(packed)
    with pytest.raises(BadInput, match="cannot be read"):
        load_file(tmp_path / "missing.onnx")
    with pytest.raises(BadInput, match="cannot be read"):
        load_file(tmp_path)
    monkeypatch.setattr(model_file, "LARGEST_FILE", 10**6)
    packed.write_bytes(gzip.compress(bytes(10**8)))
    with pytest.raises(BadInput, match="more than 1000000 bytes"):
        load_file(packed)
