"""Whether a network made for one point may run many at once along its leading axis.

It may when every tensor that depends on the input has leading dimension 1 and no node mixes
positions along that axis. Each rule below says when one operator keeps this; an operator
without a rule does not.
"""

from __future__ import annotations

from collections.abc import Callable

import onnx
from onnx import TensorProto, helper

from assay.errors import AssayError
from assay.question.network import Network
from assay.question.operators.call import Call
from assay.question.operators.selection import pad_edges, reduced_axes, slice_indices

Rule = Callable[[Call[bool]], bool]
"""Takes a call whose inputs say which tensors carry the batch."""


def batched_model(network: Network) -> onnx.ModelProto | None:
    """The model with a free leading dimension, or None where that would change its meaning."""
    carriers = _carriers(network)
    if carriers is None:
        return None
    model = onnx.ModelProto.FromString(network.onnx)
    set_input_shape(model, network, ("points", *network.input_shape[1:]))
    for proto in model.graph.node:
        if proto.op_type == "Reshape" and proto.output[0] in carriers:
            # Zero copies the leading dimension of what is reshaped.
            target = [0, *network.shapes[proto.output[0]][1:]]
            name = f"{proto.output[0]}::batched_shape"
            shape = helper.make_tensor(name, TensorProto.INT64, [len(target)], target)
            model.graph.initializer.append(shape)
            proto.input[1] = name
            del proto.attribute[:]
    return model


def set_input_shape(
    model: onnx.ModelProto, network: Network, shape: tuple[int | str, ...]
) -> onnx.ModelProto:
    """Give the input this shape and forget what the file says of the shapes that follow."""
    del model.graph.value_info[:]
    for info in model.graph.input:
        if info.name == network.input_name:
            info.CopyFrom(helper.make_tensor_value_info(info.name, TensorProto.FLOAT, shape))
    free = [None] * len(network.output_shape)
    output = helper.make_tensor_value_info(network.output_name, TensorProto.FLOAT, free)
    model.graph.output[0].CopyFrom(output)
    return model


def one_point_model(network: Network) -> bytes:
    """The file with its free batch fixed at one point; the same bytes where there is none."""
    model = onnx.ModelProto.FromString(network.onnx)
    if not has_free_batch(model, network):
        return network.onnx
    set_input_shape(model, network, network.input_shape)
    shape = network.output_shape
    output = helper.make_tensor_value_info(network.output_name, TensorProto.FLOAT, shape)
    model.graph.output[0].CopyFrom(output)
    return bytes(model.SerializeToString())


def has_free_batch(model: onnx.ModelProto, network: Network) -> bool:
    """Whether the file itself leaves the first axis of its input free."""
    for info in model.graph.input:
        if info.name == network.input_name and info.type.tensor_type.shape.dim:
            first = info.type.tensor_type.shape.dim[0]
            return not first.HasField("dim_value") or first.dim_value == 0
    return False


def _carriers(network: Network) -> set[str] | None:
    """The tensors that carry the batch, or None when some node would mix its points."""
    if network.input_shape[:1] != (1,):
        return None
    carriers = {network.input_name}
    for node in network.nodes:
        if carriers.isdisjoint(node.inputs):
            continue
        leading = all(network.shapes[o][:1] == (1,) for o in node.outputs if o)
        if node.op_type not in BATCH_RULES or not leading:
            return None
        try:
            kept = BATCH_RULES[node.op_type](
                Call(network, node, tuple(name in carriers for name in node.inputs))
            )
        except AssayError:
            return None
        if not kept:
            return None
        carriers.update(name for name in node.outputs if name)
    return carriers


def _only_first(call: Call[bool]) -> bool:
    return bool(call.inputs[0]) and not any(call.inputs[1:])


def _broadcast(call: Call[bool]) -> bool:
    """Operands that carry the batch have full rank; constants are the same for every point."""
    rank = len(call.output_shape())
    for index, carries in enumerate(call.inputs):
        if not call.has(index):
            continue
        shape = call.input_shape(index)
        if (carries and len(shape) != rank) or (len(shape) == rank and shape[0] != 1):
            return False
    return True


def _gemm(call: Call[bool]) -> bool:
    bias_is_shared = not call.has(2) or len(call.input_shape(2)) < 2 or call.input_shape(2)[0] == 1
    return _only_first(call) and not call.attribute("transA", 0) and bias_is_shared


def _matmul(call: Call[bool]) -> bool:
    left, right = call.input_shape(0), call.input_shape(1)
    if _only_first(call):
        return len(left) >= 2 and len(right) == 2
    # Only stacks of matrices keep their leading axis out of the product.
    ranks_fit = len(right) >= 3 and (len(left) == len(right) or not call.inputs[0])
    return bool(call.inputs[1]) and ranks_fit and len(left) <= len(right)


def _flatten(call: Call[bool]) -> bool:
    rank = len(call.input_shape(0))
    return call.axis(call.attribute("axis", 1), rank + 1) == 1


def _reshape(call: Call[bool]) -> bool:
    return _only_first(call) and call.input_shape(0)[0] == 1


def _axis(default: int) -> Rule:
    def rule(call: Call[bool]) -> bool:
        rank = len(call.output_shape())
        return _broadcast(call) and call.axis(call.attribute("axis", default), rank) != 0

    return rule


def _softmax(call: Call[bool]) -> bool:
    default = -1 if call.node.opset >= 13 else 1
    return _axis(default)(call)


def _concat(call: Call[bool]) -> bool:
    """Constants beside the batch would have to be repeated for each point."""
    return all(call.inputs) and _axis(1)(call)


def _gather(call: Call[bool]) -> bool:
    rank = len(call.input_shape(0))
    return _only_first(call) and call.axis(call.attribute("axis", 0), rank) != 0


def _transpose(call: Call[bool]) -> bool:
    order = call.attribute("perm", tuple(reversed(range(len(call.output_shape())))))
    return bool(order[0] == 0)


def _axes(call: Call[bool]) -> bool:
    """Squeeze and Unsqueeze whose axes are named and leave the first in place."""
    rank = max(len(call.input_shape(0)), len(call.output_shape()))
    axes = call.integers(1, "axes")
    return bool(axes) and all(call.axis(axis, rank) != 0 for axis in axes or ())


def _reduction(call: Call[bool]) -> bool:
    return 0 not in reduced_axes(call)


def _slice(call: Call[bool]) -> bool:
    return _only_first(call) and all(axis != 0 for axis, _ in slice_indices(call))


def _pad(call: Call[bool]) -> bool:
    return _only_first(call) and pad_edges(call)[1][0] == (0, 0)


BATCH_RULES: dict[str, Rule] = {
    **dict.fromkeys(
        ("Add", "Div", "Max", "Mean", "Min", "Mul", "PRelu", "Pow", "Sub", "Sum"), _broadcast
    ),
    **dict.fromkeys(("Abs", "Clip", "Cos", "Dropout", "Elu", "Erf", "Exp", "Gelu"), _only_first),
    **dict.fromkeys(("Identity", "LeakyRelu", "Log", "Neg", "Reciprocal", "Relu"), _only_first),
    **dict.fromkeys(("Sigmoid", "Sin", "Softplus", "Sqrt", "Tanh"), _only_first),
    **dict.fromkeys(("AveragePool", "BatchNormalization", "Conv", "MaxPool"), _only_first),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool"), _only_first),
    **dict.fromkeys(("LogSoftmax", "Softmax"), _softmax),
    **dict.fromkeys(("ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum"), _reduction),
    **dict.fromkeys(("Squeeze", "Unsqueeze"), _axes),
    "Concat": _concat,
    "Flatten": _flatten,
    "Gather": _gather,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Pad": _pad,
    "Reshape": _reshape,
    "Slice": _slice,
    "Split": _axis(0),
    "Transpose": _transpose,
}
