"""Mutated ONNX files: a clear refusal or the right numbers, soon and in little memory."""

from __future__ import annotations

import random
import resource
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, TensorProto, helper, numpy_helper
from operator_cases import CASES, weights

from assay.errors import BadInput, Unsupported
from assay.question.exact import EXACT_OPERATORS, evaluate
from assay.question.graph import GraphBuilder, mlp
from assay.question.network import load
from assay.question.runtime import FloatRunner

FILES = 3000
MEGABYTES = 500

_INTEGERS = (-(2**63), -(10**9), -2, -1, 0, 1, 2, 3, 4, 7, 100, 5000, 10**9, 2**31, 2**63 - 1)
_FLOATS = (float("nan"), float("inf"), -1.0, 0.0, 1e-45, 1e38, 0.3, 2.0)
_ATTRIBUTES = ("axis", "axes", "keepdims", "ceil_mode", "group", "pads", "strides", "dilations")
_STRINGS = (b"SAME_UPPER", b"SAME_LOWER", b"VALID", b"wrap", b"edge", b"tanh", b"\xff", b"")
_ALL_OPERATORS = sorted({schema.name for schema in onnx.defs.get_all_schemas()})

Rng = random.Random
Model = onnx.ModelProto


def _networks() -> list[bytes]:
    graph = GraphBuilder((1, 2, 5, 5))
    x = graph.relu(graph.conv(graph.input, weights(3, 2, 3, 3), weights(3), pads=(1, 1, 1, 1)))
    x = graph.max_pool(graph.add(x, weights(3, 1, 1)), (2, 2), strides=(2, 2))
    x = graph.reshape(graph.concat([x, graph.neg(x)], axis=1), [1, -1])
    convolutional = graph.build(graph.gemm(x, weights(4, graph.shape(x)[1]), weights(4)))
    perceptron = mlp([(weights(5, 4), weights(5)), (weights(3, 5), weights(3))])
    return [perceptron, convolutional] * 8 + [case.onnx() for case in CASES]


def flip_bytes(data: bytes, rng: Rng) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def truncate(data: bytes, rng: Rng) -> bytes:
    return data[: rng.randrange(len(data))]


def repeat_chunk(data: bytes, rng: Rng) -> bytes:
    start, stop = sorted(rng.randrange(len(data)) for _ in range(2))
    return data[:stop] + data[start:stop] + data[stop:]


def change_dims(model: Model, rng: Rng) -> None:
    tensor = rng.choice(model.graph.initializer)
    match rng.randrange(3):
        case 0 if tensor.dims:
            tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(_INTEGERS)
        case 1:
            tensor.dims.append(1)
        case _:
            dims = list(tensor.dims)
            rng.shuffle(dims)
            del tensor.dims[:]
            tensor.dims.extend(dims)


def change_integers(model: Model, rng: Rng) -> None:
    tensor = rng.choice([t for t in model.graph.initializer if t.data_type == TensorProto.INT64])
    array = numpy_helper.to_array(tensor).copy()
    array.reshape(-1)[rng.randrange(array.size)] = rng.choice(_INTEGERS)
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def change_weights(model: Model, rng: Rng) -> None:
    tensor = rng.choice([t for t in model.graph.initializer if t.data_type == TensorProto.FLOAT])
    array = numpy_helper.to_array(tensor).copy()
    array.reshape(-1)[rng.randrange(array.size)] = rng.choice(_FLOATS)
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def change_data_type(model: Model, rng: Rng) -> None:
    rng.choice(model.graph.initializer).data_type = rng.randrange(25)


def rename_tensor(model: Model, rng: Rng) -> None:
    node = rng.choice(model.graph.node)
    names = rng.choice([node.input, node.output])
    known = [n for other in model.graph.node for n in (*other.input, *other.output)]
    names[rng.randrange(len(names))] = rng.choice([*known, "lost", ""])


def drop_input(model: Model, rng: Rng) -> None:
    node = rng.choice(model.graph.node)
    del node.input[rng.randrange(len(node.input))]


def add_input(model: Model, rng: Rng) -> None:
    node = rng.choice(model.graph.node)
    node.input.append(rng.choice(["input", *(t.name for t in model.graph.initializer)]))


def drop_node(model: Model, rng: Rng) -> None:
    del model.graph.node[rng.randrange(len(model.graph.node))]


def add_node(model: Model, rng: Rng) -> None:
    last = rng.choice(model.graph.node).output[0]
    op_type = rng.choice(sorted(EXACT_OPERATORS))
    model.graph.node.append(helper.make_node(op_type, [last, last][: rng.randint(1, 2)], ["new"]))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("new", TensorProto.FLOAT, None))


def swap_nodes(model: Model, rng: Rng) -> None:
    one, other = rng.choice(model.graph.node), rng.choice(model.graph.node)
    one.op_type, other.op_type = other.op_type, one.op_type


def change_operator(model: Model, rng: Rng) -> None:
    names = _ALL_OPERATORS if rng.random() < 0.3 else sorted(EXACT_OPERATORS)
    rng.choice(model.graph.node).op_type = rng.choice(names)


def change_attribute(model: Model, rng: Rng) -> None:
    attribute = rng.choice([a for node in model.graph.node for a in node.attribute])
    match attribute.type:
        case AttributeProto.INT:
            attribute.i = rng.choice(_INTEGERS)
        case AttributeProto.FLOAT:
            attribute.f = rng.choice(_FLOATS)
        case AttributeProto.INTS if attribute.ints and rng.random() < 0.8:
            attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(_INTEGERS)
        case AttributeProto.INTS:
            attribute.ints.append(rng.choice(_INTEGERS))
        case _:
            attribute.s = rng.choice(_STRINGS)


def drop_attribute(model: Model, rng: Rng) -> None:
    node = rng.choice([node for node in model.graph.node if node.attribute])
    del node.attribute[rng.randrange(len(node.attribute))]


def add_attribute(model: Model, rng: Rng) -> None:
    node = rng.choice(model.graph.node)
    name = rng.choice(_ATTRIBUTES)
    value: object = rng.choice(_INTEGERS)
    if name in ("axes", "pads", "strides", "dilations"):
        value = [rng.choice(_INTEGERS) for _ in range(rng.randint(1, 4))]
    if rng.random() < 0.2:
        name, value = "auto_pad", rng.choice(_STRINGS)
    node.attribute.append(helper.make_attribute(name, value))


def change_input(model: Model, rng: Rng) -> None:
    shape = model.graph.input[0].type.tensor_type.shape
    if rng.random() < 0.5:
        shape.dim[rng.randrange(len(shape.dim))].dim_value = rng.choice(_INTEGERS)
    else:
        shape.dim.add().dim_value = rng.choice((1, 1, 2, 10**9))


def change_opset(model: Model, rng: Rng) -> None:
    model.opset_import[0].version = rng.randrange(1, 30)


BYTES: list[Callable[[bytes, Rng], bytes]] = [flip_bytes, truncate, repeat_chunk]
FIELDS: list[Callable[[Model, Rng], None]] = [
    *(change_dims, change_integers, change_weights, change_data_type, rename_tensor, drop_input),
    *(add_input, drop_node, add_node, swap_nodes, change_operator, change_attribute),
    *(drop_attribute, add_attribute, change_input, change_opset),
]


def mutate(data: bytes, rng: Rng) -> bytes:
    if rng.random() < 0.3:
        return rng.choice(BYTES)(data, rng)
    model = onnx.load_from_string(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        try:
            rng.choice(FIELDS)(model, rng)
        except (IndexError, ValueError):
            continue  # nothing of that kind in this model
    return bytes(model.SerializeToString())


def judge(data: bytes, seed: int) -> str:
    """What came of one file: refused, unsupported, agreed, or not comparable in floats."""
    try:
        network = load(data, "fuzz.onnx")
        if network.inputs > 10**5:
            return "large"
        rng = np.random.default_rng(seed)
        point = (rng.integers(-128, 128, size=network.inputs) / 64).astype(np.float32)
        exact = evaluate(network, [Fraction(float(v)) for v in point])
    except (BadInput, Unsupported) as error:
        one_line = str(error).startswith("fuzz.onnx: ") and "\n" not in str(error)
        return type(error).__name__ if one_line else f"unclear message {error}"
    try:
        floats = FloatRunner(network).run(point[np.newaxis])[0].astype(np.float64)
    except BadInput:
        return "ONNX Runtime refuses"
    if not np.isfinite(floats).all():
        return "float overflow"
    expected = np.array([float(y) for y in exact])
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(floats, expected, rtol=1e-4, atol=1e-4 * scale)
    return "agreed"


@pytest.mark.timeout(300)  # a hang
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_mutated_files_are_refused_or_read_rightly() -> None:
    networks = _networks()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcomes: Counter[str] = Counter()
    for seed in range(FILES):
        rng = random.Random(seed)
        data = mutate(rng.choice(networks), rng)
        try:
            outcomes[judge(data, seed)] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < MEGABYTES
    assert not [outcome for outcome in outcomes if outcome.startswith("unclear")]
    # The mutations must neither break everything nor change nothing.
    assert outcomes["BadInput"] > FILES / 4
    assert outcomes["agreed"] > FILES / 10


def test_the_networks_themselves_agree() -> None:
    assert {judge(data, 0) for data in _networks()} <= {"agreed", "Unsupported", "BadInput"}
