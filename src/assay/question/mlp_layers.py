"""Reading a network file as an MLP: affine layers with a ReLU between each two."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from assay.errors import Unsupported
from assay.question.floaterror import Layer
from assay.question.network import Network
from assay.question.operators.call import operator_place

_KEEPS_ORDER = ("Flatten", "Reshape", "Identity", "Squeeze", "Unsqueeze", "Dropout")


def mlp_layers(network: Network) -> tuple[Layer, ...]:
    """The layers, or Unsupported naming the node that is not part of an MLP.

    Each affine layer must be one Gemm, or one MatMul with at most one Add: then its weights are
    the file's own float32 numbers. Each must map one row to one row.
    """
    layers: list[Layer] = []
    weight: NDArray[np.float32] | None = None
    bias: NDArray[np.float32] | None = None
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
        elif node.op_type == "Relu" and weight is not None:
            layers.append((weight, np.zeros(len(weight), np.float32) if bias is None else bias))
            weight = bias = None
        elif node.op_type in ("Gemm", "MatMul") and weight is None and node.inputs[0] == name:
            weight, bias = _affine(place, node.attributes, constants[1:])
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
    if len(layers) < 2:
        raise Unsupported(f"{network.place} has no hidden ReLU layer; there is nothing to certify")
    return tuple(layers)


def _affine(
    place: str, attributes: Mapping[str, object], constants: list[NDArray[np.float32] | None]
) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
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
