"""Ways to spoil a claim about a convolutional network; the rest of `mutators` applies as well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import numpy as np
import onnx
from mutators import Mutant, Mutator, _jump, _ulp, _with_element, signed
from onnx import helper, numpy_helper
from small_claims import Claimed

ON_CONVOLUTIONS: dict[str, Mutator] = {}


def mutator(function: Mutator) -> Mutator:
    ON_CONVOLUTIONS[function.__name__] = function
    return function


@mutator
def filter_ulp(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    return _with_element(claim, draw, 4, _ulp(draw))


@mutator
def filter_jump(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    return _with_element(claim, draw, 4, _jump(draw))


@mutator
def filters_moved(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    """Filters, channels or taps in another order: some keep the function, most do not."""
    model = onnx.ModelProto.FromString(claim.onnx)
    tensor = draw.choice([t for t in model.graph.initializer if len(t.dims) == 4])
    values = numpy_helper.to_array(tensor)
    axis = draw.randrange(4)
    order = list(range(values.shape[axis]))
    draw.shuffle(order)
    moved = np.ascontiguousarray(np.take(values, order, axis))
    if (moved == values).all():
        return None
    tensor.raw_data = moved.tobytes()
    return signed(replace(claim, onnx=model.SerializeToString()))


@mutator
def biases_moved(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    """Two biases of a convolution exchanged, as the twin of a pair does."""
    model = onnx.ModelProto.FromString(claim.onnx)
    names = {node.input[2] for node in model.graph.node if node.op_type == "Conv"}
    tensor = draw.choice([t for t in model.graph.initializer if t.name in names])
    values = numpy_helper.to_array(tensor).copy()
    i, j = draw.randrange(values.size), draw.randrange(values.size)
    if values[i] == values[j]:
        return None
    values[[i, j]] = values[[j, i]]
    tensor.raw_data = values.tobytes()
    return signed(replace(claim, onnx=model.SerializeToString()))


@mutator
def window_changed(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    """Other attributes, of which a reader must not lose one."""
    model = onnx.ModelProto.FromString(claim.onnx)
    node = draw.choice([n for n in model.graph.node if n.op_type == "Conv"])

    def put(name: str, value: object) -> Callable[[], None]:
        def change() -> None:
            kept = [a for a in node.attribute if a.name != name]
            del node.attribute[:]
            node.attribute.extend([*kept, helper.make_attribute(name, value)])

        return change

    changes = [
        put("strides", draw.choice([[2, 2], [1, 2], [0, 1], [-1, 1], [1]])),
        put(
            "pads", draw.choice([[0, 0, 0, 0], [2, 2, 0, 0], [0, 0, 2, 2], [1, 1, 1], [0, 1, 2, 1]])
        ),
        put("dilations", draw.choice([[2, 2], [1, 2]])),
        put("group", draw.choice([2, 0])),
        put("auto_pad", draw.choice(["SAME_UPPER", "VALID", "SAME_LOWER"])),
        put("kernel_shape", draw.choice([[1, 1], [3], [5, 5]])),
        put("axis", 1),
        lambda: node.input.pop(),
        lambda: setattr(node, "op_type", "ConvTranspose"),
    ]
    draw.choice(changes)()
    data = model.SerializeToString()
    return None if data == claim.onnx else signed(replace(claim, onnx=data))
