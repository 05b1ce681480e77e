"""Reading a network file as affine layers with a ReLU between each two: an MLP or a plain CNN."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from assay.errors import Unsupported
from assay.question.convolution import ConvLayer
from assay.question.floaterror import AnyLayer, Layer
from assay.question.network import Network, Node
from assay.question.operators.call import operator_place

_KEEPS_ORDER = ("Flatten", "Reshape", "Identity", "Squeeze", "Unsqueeze", "Dropout")


def mlp_layers(network: Network) -> tuple[Layer, ...]:
    """The layers, or Unsupported naming the node that is not part of an MLP.

    Each affine layer must be one Gemm, or one MatMul with at most one Add: then its weights are
    the file's own float32 numbers. Each must map one row to one row.
    """
    for node in network.nodes:
        if node.op_type == "Conv":
            raise Unsupported(
                f"{operator_place(network, node)} is not part of an MLP of Gemm (or MatMul and "
                "Add) and Relu; only such networks can be certified"
            )
    return tuple(layer for layer in chain_layers(network) if not isinstance(layer, ConvLayer))


def chain_layers(network: Network) -> tuple[AnyLayer, ...]:
    """The layers of an MLP or of a CNN whose convolutions are plain, each one Conv node."""
    layers = affine_chain(network)
    if len(layers) < 2:
        raise Unsupported(f"{network.place} has no hidden ReLU layer; there is nothing to certify")
    return layers


def affine_chain(network: Network) -> tuple[AnyLayer, ...]:
    """The same, also of a network that is one affine layer."""
    layers: list[AnyLayer] = []
    weight: NDArray[np.float32] | None = None
    bias: NDArray[np.float32] | None = None
    conv: ConvLayer | None = None
    name = network.input_name
    for node in network.nodes:
        place = operator_place(network, node)
        constants = [network.initializers.get(i) for i in node.inputs]
        if node.inputs.count(name) != 1 or sum(c is None for c in constants) != 1:
            raise Unsupported(
                f"{place} does not continue a chain of layers; only MLPs are certified"
            )
        if node.op_type in _KEEPS_ORDER:
            pass
        elif node.op_type == "Conv" and weight is None and conv is None:
            conv = plain_convolution(place, node, network)
        elif node.op_type == "Relu" and conv is not None:
            layers.append(conv)
            conv = None
        elif node.op_type == "Relu" and weight is not None:
            layers.append((weight, np.zeros(len(weight), np.float32) if bias is None else bias))
            weight = bias = None
        elif (
            node.op_type in ("Gemm", "MatMul")
            and weight is None
            and conv is None
            and node.inputs[0] == name
        ):
            weight, bias = plain_affine(place, node.attributes, constants[1:])
            if network.shapes[name] != (1, weight.shape[1]):
                raise Unsupported(
                    f"{place} takes a tensor of shape {list(network.shapes[name])}, not one row; "
                    "only MLPs are certified"
                )
        elif node.op_type == "Add" and weight is not None and bias is None:
            added = next(c for c in constants if c is not None)
            if network.shapes[node.outputs[0]] != (1, len(weight)):
                raise Unsupported(f"{place} turns one row into several; only MLPs are certified")
            bias = np.broadcast_to(added.reshape(-1), (len(weight),)).astype(np.float32)
        else:
            raise Unsupported(
                f"{place} is not part of an MLP of Gemm (or MatMul and Add) and Relu; "
                "only such networks can be certified"
            )
        name = node.outputs[0]
    if weight is None or name != network.output_name:
        raise Unsupported(
            f"{network.place} does not end in an affine layer; only MLPs are certified"
        )
    layers.append((weight, np.zeros(len(weight), np.float32) if bias is None else bias))
    return tuple(layers)


def plain_convolution(place: str, node: Node, network: Network) -> ConvLayer:
    """A Conv node as a layer: one group, no dilation; Unsupported otherwise."""
    constants = [network.initializers.get(i) for i in node.inputs[1:]]
    kernel, attributes = constants[0], node.attributes
    shape = network.shapes[node.inputs[0]]
    plain = attributes.get("group", 1) == 1 and "auto_pad" not in attributes
    if kernel is None or kernel.ndim != 4 or len(shape) != 4 or shape[0] != 1 or not plain:
        raise Unsupported(f"{place} is not a plain convolution of one image")
    sides = tuple(attributes.get("kernel_shape", kernel.shape[2:]))
    if kernel.shape[1] != shape[1] or sides != kernel.shape[2:]:
        raise Unsupported(f"{place} has filters that do not fit its input or its attributes")
    if tuple(attributes.get("dilations", (1, 1))) != (1, 1):
        raise Unsupported(f"{place} is a dilated convolution; only plain ones are read")
    bias = constants[1] if len(constants) > 1 else None
    strides, pads = attributes.get("strides", (1, 1)), attributes.get("pads", (0, 0, 0, 0))
    return ConvLayer(
        kernel,
        np.zeros(len(kernel), np.float32) if bias is None else bias,
        (shape[1], shape[2], shape[3]),
        (strides[0], strides[1]),
        (pads[0], pads[1], pads[2], pads[3]),
    )


def plain_affine(
    place: str, attributes: Mapping[str, object], constants: list[NDArray[np.float32] | None]
) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """Weight (units, inputs) and bias of a Gemm or MatMul whose other operands are constants."""
    matrix = constants[0]
    assert matrix is not None
    plain = attributes.get("alpha", 1) == attributes.get("beta", 1) == 1
    if matrix.ndim != 2 or not plain or attributes.get("transA", 0):
        raise Unsupported(
            f"{place} scales its operands or transposes its input; only MLPs are certified"
        )
    weight = np.ascontiguousarray(matrix if attributes.get("transB", 0) else matrix.T)
    added = constants[1] if len(constants) > 1 else None
    if added is None:
        return weight, None
    return weight, np.broadcast_to(added.reshape(-1), (len(weight),)).astype(np.float32)
