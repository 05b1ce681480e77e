"""What makes claims that ask for more than they look like; `hostile_files` lists those that are
made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper
from small_claims import Claimed, claimed, instances, model, network, question

node = helper.make_node
BELOW = "(assert (<= Y_0 0))"
KINDS = (
    "contractive_cnn",
    "constant_box",
    "meap",
    "paired_bias",
    "planted",
    "relu_tree",
    "corners",
)


def unit(count: int) -> list[tuple[object, object]]:
    return [(0, 1)] * count


def repeated(condition: str, count: int) -> str:
    return f"(assert (or {' '.join([condition] * count)}))"


def graded(count: int, outputs: int = 1) -> str:
    """As many disjuncts, all of them different."""
    parts = (f"(<= Y_{i % outputs} -{i + 1}.5)" for i in range(count))
    return f"(assert (or {' '.join(parts)}))"


def claim(
    proto: onnx.ModelProto, inputs: int, kind: str, condition: str = BELOW, **more: Any
) -> Claimed:
    """A claim about the unit box; of kind `witness`, that its middle violates."""
    outputs = proto.graph.output[0].type.tensor_type.shape.dim[-1].dim_value
    witness = ["0.5"] * inputs if kind == "witness" else None
    margin = "0" if kind == "witness" else "1/1000"
    asked = question(unit(inputs), outputs, condition)
    return claimed(proto, asked, kind=kind, margin=margin, witness=witness, **more)


def same_layer(width: int, depth: int, kind: str, spread: float = 1.0, **more: Any) -> Claimed:
    """One matrix again and again; entries with long numerators if they differ in size."""
    weight = np.full((width, width), 1.0000001 / width, np.float32)
    weight[0, 0] *= np.float32(spread)
    sign = -1.0 if kind == "witness" else 1.0
    constants = {"W": weight, "b": [1e-45] * width, "V": [[sign] * width], "v": [sign]}
    nodes, name = [], "x"
    for i in range(depth):
        nodes += [
            node("Gemm", [name, "W", "b"], [f"s{i}"], transB=1),
            node("Relu", [f"s{i}"], [f"z{i}"]),
        ]
        name = f"z{i}"
    nodes.append(node("Gemm", [name, "V", "v"], ["y"], transB=1))
    return claim(model(nodes, constants, (1, width), (1, 1)), width, kind, **more)


def same_kernel(side: int, depth: int, image: int, kind: str, **more: Any) -> Claimed:
    kernel = np.zeros((1, 1, side, side), np.float32)
    kernel[0, 0, side // 2, side // 2], kernel[0, 0, 0, 0] = 0.5, 0.25
    before = (side - 1) // 2
    pads = [before, before, side - 1 - before, side - 1 - before]
    nodes, name = [], "x"
    for i in range(depth):
        nodes += [
            node("Conv", [name, "K", "c"], [f"s{i}"], pads=pads),
            node("Relu", [f"s{i}"], [f"z{i}"]),
        ]
        name = f"z{i}"
    nodes += [node("Flatten", [name], ["f"]), node("Gemm", ["f", "V", "v"], ["y"], transB=1)]
    size = image * image
    sign = -1.0 if kind == "witness" else 1.0
    constants = {"K": kernel, "c": [0.0], "V": [[sign] * size], "v": [sign]}
    return claim(model(nodes, constants, (1, 1, image, image), (1, 1)), size, kind, **more)


def polynomial(inputs: int, hidden: int, degree: int, condition: str, outputs: int = 1) -> Claimed:
    rng = np.random.default_rng(1)
    constants = {
        "A": rng.uniform(-1, 1, (hidden, inputs)).astype(np.float32),
        "a": rng.uniform(-1, 1, hidden).astype(np.float32),
        "V": rng.uniform(-1, 1, (outputs, hidden)).astype(np.float32),
        "v": [1.0] * outputs,
        "e": float(degree),
    }
    nodes = [
        node("Gemm", ["x", "A", "a"], ["s"], transB=1),
        node("Pow", ["s", "e"], ["p"]),
        node("Gemm", ["p", "V", "v"], ["y"], transB=1),
    ]
    proto = model(nodes, constants, (1, inputs), (1, outputs))
    return claim(proto, inputs, "polynomial", condition)


def attention(tokens: int, width: int, condition: str, heads: int = 1) -> Claimed:
    proto = attention_model(tokens, width, heads)
    return claim(proto, tokens * width, "softmax_attention", condition)


def attention_model(tokens: int, width: int, heads: int = 1, outputs: int = 1) -> onnx.ModelProto:
    rng = np.random.default_rng(1)
    square = rng.uniform(-0.1, 0.1, (width, width)).astype(np.float32)
    nodes, name = [], "x"
    for i in range(heads):
        nodes += [
            node("MatMul", [name, "W"], [f"q{i}"]),
            node("MatMul", [name, "W"], [f"k{i}"]),
            node("Transpose", [f"k{i}"], [f"t{i}"], perm=[0, 2, 1]),
            node("MatMul", [f"q{i}", f"t{i}"], [f"s{i}"]),
            node("Softmax", [f"s{i}"], [f"a{i}"], axis=-1),
            node("MatMul", [name, "W"], [f"v{i}"]),
            node("MatMul", [f"a{i}", f"v{i}"], [f"h{i}"]),
        ]
        name = f"h{i}"
    nodes += [node("Flatten", [name], ["f"]), node("Gemm", ["f", "L", "l"], ["y"], transB=1)]
    readout = rng.uniform(-0.1, 0.1, (outputs, tokens * width)).astype(np.float32)
    constants = {"W": square, "L": readout, "l": [5.0] * outputs}
    return model(nodes, constants, (1, tokens, width), (1, outputs))


def linear_attention(tokens: int, width: int, condition: str) -> Claimed:
    nodes = [
        node("MatMul", ["x", "W"], ["z"]),
        node("Relu", ["z"], ["r"]),
        node("Add", ["r", "o"], ["q"]),
        node("Transpose", ["q"], ["t"], perm=[0, 2, 1]),
        node("MatMul", ["q", "t"], ["w"]),
        node("ReduceSum", ["w", "last"], ["s"], keepdims=1),
        node("MatMul", ["w", "z"], ["m"]),
        node("Div", ["m", "s"], ["d"]),
        node("Flatten", ["d"], ["f"]),
        node("Gemm", ["f", "R", "b"], ["y"], transB=1),
    ]
    constants = {
        "W": np.full((width, width), 0.1, np.float32),
        "o": 1.0,
        "last": np.array([-1], np.int64),
        "R": [[1.0] * (tokens * width)],
        "b": [1.0],
    }
    proto = model(nodes, constants, (1, tokens, width), (1, 1))
    return claim(proto, tokens * width, "linear_attention", condition)


def smooth(width: int, depth: int, condition: str, kind: str) -> Claimed:
    nodes, name = [], "x"
    for i in range(depth):
        nodes += [
            node("Gemm", [name, "W", "b"], [f"s{i}"], transB=1),
            node("Sigmoid", [f"s{i}"], [f"z{i}"]),
        ]
        name = f"z{i}"
    nodes.append(node("Gemm", [name, "V", "v"], ["y"], transB=1))
    constants = {
        "W": np.eye(width, dtype=np.float32) + np.float32(0.01),
        "b": [0.5] * width,
        "V": [[1.0] * width],
        "v": [1.0],
    }
    return claim(model(nodes, constants, (1, width), (1, 1)), width, kind, condition)


def plain(width: int, outputs: int = 1) -> onnx.ModelProto:
    """One hidden layer; every output is 1 plus a sum of ReLUs."""
    return network(
        [(np.eye(width).tolist(), [0.0] * width), ([[1.0] * width] * outputs, [1.0] * outputs)]
    )


def residual(width: int, blocks: int, **more: Any) -> Claimed:
    """x - W^T relu(W x) again and again, with the weights of one block."""
    rng = np.random.default_rng(1)
    inner = (rng.uniform(-1, 1, (width, width)) / width).astype(np.float32)
    nodes, name = [], "x"
    for i in range(blocks):
        nodes += [
            node("Gemm", [name, "W", "b"], [f"s{i}"], transB=1),
            node("Relu", [f"s{i}"], [f"z{i}"]),
            node("Gemm", [f"z{i}", "U", "b"], [f"u{i}"]),
            node("Add", [name, f"u{i}"], [f"x{i}"]),
        ]
        name = f"x{i}"
    nodes.append(node("Gemm", [name, "V", "v"], ["y"], transB=1))
    constants = {
        "W": inner,
        "U": -inner,
        "b": [0.0] * width,
        "V": [[1.0] * width],
        "v": [float(9 * width)],
    }
    return claim(model(nodes, constants, (1, width), (1, 1)), width, "residual", **more)


def corners(hinges: int, width: int) -> Claimed:
    rng = np.random.default_rng(1)
    rows = rng.uniform(-1, 1, (hinges, width)).astype(np.float32).tolist()
    proto = network([(rows, [0.5] * hinges), ([[-1.0] * hinges], [1e6])])
    return claim(proto, width, "corners")


def gates(hinges: int, width: int, count: int) -> Claimed:
    rng = np.random.default_rng(1)
    rows = rng.uniform(-1, 1, (hinges, width)).astype(np.float32).tolist()
    layers: Any = [
        (rows, [0.5] * hinges),
        ([[1.0] * hinges] * count, [-1e6] * count),
        ([[1.0] * count], [1.0]),
    ]
    return claim(network(layers), width, "constant_box")


def tree(words: int, kind: str) -> Claimed:
    """A certificate of so many words that all mean a leaf, or a split."""
    arrays = np.full(words, -1, "<i4")
    arrays[0], arrays[1] = 0, words - 2
    proto = polynomial(2, 3, 3, BELOW).onnx if kind == "polynomial" else plain(4)
    inputs = 2 if kind == "polynomial" else 4
    asked = question(unit(inputs), 1, BELOW)
    return claimed(proto, asked, kind=kind, arrays=arrays.tobytes())


def leaves(width: int, count: int) -> Claimed:
    """A complete tree that splits one unit, over and over for each of many disjuncts."""
    disjunct = [3, 0, -1, -1, *[0, *[1] * width] * 2]
    arrays = np.array([0, *disjunct * count], "<i4").tobytes()
    proto = plain(width)
    asked = question(unit(width), 1, graded(count))
    return claimed(proto, asked, kind="relu_tree", arrays=arrays)


def odd_denominators(inputs: int, digits: int) -> Claimed:
    lines = [f"(declare-const X_{i} Real)" for i in range(inputs)] + ["(declare-const Y_0 Real)"]
    for i in range(inputs):
        odd = 10**digits + 2 * i + 1
        lines += [f"(assert (>= (* {odd} X_{i}) -1))", f"(assert (<= (* {odd} X_{i}) 1))"]
    return claimed(plain(inputs), "\n".join([*lines, BELOW]), kind="contractive_cnn")


def thin(inputs: int) -> onnx.ModelProto:
    """One hidden unit that reads all inputs."""
    return network([([[1.0] * inputs], [0.0]), ([[1.0]], [1.0])])


def tiny_bounds(inputs: int, digits: int, kind: str = "contractive_cnn") -> Claimed:
    """One denominator of many digits for very many inputs."""
    box: list[tuple[object, object]] = [(f"1e-{digits}", "1")] * inputs
    witness = ["0.5"] * inputs if kind == "witness" else None
    margin = "0" if witness else "1/1000"
    asked = question(box, 1, BELOW)
    return claimed(thin(inputs), asked, kind=kind, witness=witness, margin=margin)


def crossed(count: int, length: int) -> Claimed:
    """Two disjunctions at once, each pair a disjunct, on outputs with long exact values."""
    layers: Any = [([[1.0000001]], [1e-45])] * length + [([[1.0000001]] * 2, [0, 0])]
    part = " ".join(f"(<= (* {i + 3}.7 Y_0) Y_1)" for i in range(count))
    other = " ".join(f"(<= (* {i + 4}.3 Y_0) Y_1)" for i in range(count))
    condition = f"(assert (<= Y_0 100000000))(assert (or {part}))(assert (or {other}))"
    return claim(network(layers), 1, "witness", condition)


def asking(condition: str, outputs: int = 2, kind: str = "contractive_cnn") -> Claimed:
    return claim(plain(2, outputs), 2, kind, condition)


def changed(change: Callable[[onnx.ModelProto], None]) -> Claimed:
    proto = plain(2)
    change(proto)
    return claim(proto, 2, "contractive_cnn")


def followed_by(data: bytes) -> Claimed:
    """The plain network with more bytes behind it."""
    asked = question(unit(2), 1, BELOW)
    return claimed(plain(2).SerializeToString() + data, asked, kind="contractive_cnn")


def stating(**more: Any) -> Claimed:
    return claim(plain(2), 2, "contractive_cnn").stating(**more)


def many_constants(count: int) -> Callable[[onnx.ModelProto], None]:
    """Constants that nothing reads."""

    def change(proto: onnx.ModelProto) -> None:
        for i in range(count):
            proto.graph.initializer.add(name=f"c{i}", data_type=1, dims=[1], raw_data=b"\0" * 4)

    return change


def large_weight(count: int, field: str) -> Callable[[onnx.ModelProto], None]:
    """A matrix that the first node reads."""

    def change(proto: onnx.ModelProto) -> None:
        tensor = proto.graph.initializer[0]
        tensor.Clear()
        tensor.MergeFrom(TensorProto(name="W0", data_type=1, dims=[count // 2, 2]))
        if field == "raw_data":
            tensor.raw_data = bytes(4 * count)
        else:
            tensor.float_data.extend([0.0] * count)

    return change


def many_integers(count: int) -> Callable[[onnx.ModelProto], None]:
    def change(proto: onnx.ModelProto) -> None:
        proto.graph.initializer.add(name="i", data_type=7, dims=[count], int64_data=[1] * count)

    return change


def idle_nodes(count: int) -> Callable[[onnx.ModelProto], None]:
    def change(proto: onnx.ModelProto) -> None:
        proto.graph.node.extend(node("Relu", ["y"], [f"idle{i}"]) for i in range(count))

    return change


def pooled(side: int, kind: str) -> Claimed:
    """A pool of a large image, as a matrix."""
    nodes = [
        node("AveragePool", ["x"], ["p"], kernel_shape=[1, 1]),
        node("Relu", ["p"], ["r"]),
        node("AveragePool", ["r"], ["q"], kernel_shape=[side, side]),
        node("Flatten", ["q"], ["f"]),
        node("Gemm", ["f", "V", "v"], ["y"], transB=1),
    ]
    nodes = nodes if kind != "contractive_cnn" else [*nodes[:3], node("Relu", ["q"], ["s"])]
    if kind == "contractive_cnn":
        nodes += [node("Flatten", ["s"], ["f"]), node("Gemm", ["f", "V", "v"], ["y"], transB=1)]
    constants = {"V": [[1.0]], "v": [1.0]}
    return claim(model(nodes, constants, (1, 1, side, side), (1, 1)), side * side, kind)


def filtered(side: int, channels: int, kind: str) -> Claimed:
    """Many filters over a large image."""
    constants = {
        "K": np.full((channels, 1, 5, 5), 0.01, np.float32),
        "V": np.ones((1, channels * side * side), np.float32),
        "v": [1.0],
    }
    nodes = [
        node("Conv", ["x", "K"], ["s"], pads=[2, 2, 2, 2]),
        node("Relu", ["s"], ["z"]),
        node("Flatten", ["z"], ["f"]),
        node("Gemm", ["f", "V", "v"], ["y"], transB=1),
    ]
    return claim(model(nodes, constants, (1, 1, side, side), (1, 1)), side * side, kind)


def hinged(inputs: int, witness: bool) -> Claimed:
    """A simplex of very many sides, whose volume is a determinant."""
    rng = np.random.default_rng(1)
    rows = rng.uniform(-1, 1, (inputs, inputs)).astype(np.float32)
    rows = np.concatenate([rows, -rows])
    layers: Any = [
        (rows.tolist(), [-0.1] * (2 * inputs)),
        ([[-1.0] * (2 * inputs)] * 2, [0.5, 0.25]),
        ([[-1.0, -1.0]], [0.1]),
    ]
    proto = network(layers)
    if not witness:
        return claim(proto, inputs, "planted")
    made = claimed(
        proto,
        question([(-1, 1)] * inputs, 1, BELOW),
        margin="0",
        witness=["0"] * inputs,
    )
    return made.stating(violation_probability={"exact": "1/2"})


def staircase(inputs: int, steps: int) -> Claimed:
    """Every input has its own staircase; the shares of all their sums are asked for."""
    rows, biases = [], []
    for i in range(inputs):
        for k in range(steps):
            rows.append([float(i == j) for j in range(inputs)])
            biases.append(-(k * inputs + i + 1) / (steps * inputs + 7))
    signs = [[(-1.0) ** k for _ in range(inputs) for k in range(steps)]]
    layers: Any = [(rows, biases), (signs, [0.001]), ([[-1.0]], [0.001])]
    made = claimed(
        network(layers), question(unit(inputs), 1, BELOW), margin="0", witness=["0"] * inputs
    )
    return made.stating(violation_probability={"lower": "0", "upper": "1"})


def long_weights(rows: int, columns: int, kind: str) -> Claimed:
    """Weights from the largest to the smallest float32: numerators of 277 bits."""
    weight = np.full((rows, columns), 3e38, np.float32)
    weight[0, 0] = 1e-45
    layers: Any = [(weight, [1e-45] * rows), (np.ones((1, rows), np.float32), [1.0])]
    return claim(network(layers), columns, kind)


def many_outputs(kind: str, outputs: int, count: int) -> Claimed:
    return claim(plain(8, outputs), 8, kind, graded(count, outputs))


def genuine(name: str, condition: str) -> Claimed:
    """A genuine label whose question has another condition."""
    made = next(i for i in instances(name) if i.truth.answer == "robust")
    before = made.vnnlib.decode().split("(assert (or")[0].split("(assert (>= Y")[0]
    certificate = made.truth.certificate["kind"]
    return claimed(made.onnx, before + condition, kind=certificate, arrays=made.arrays)
