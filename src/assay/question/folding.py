"""Bookkeeping inside a graph, computed once when the network is read.

Exporters write shapes as small programs (Shape, Gather, Concat, ... into Reshape, Slice, Resize).
With static shapes these are constants; folding them leaves a graph of float32 operators only.

Integers are folded away. A float result is only *known* (the size of an image times 1.5, on its way
to an integer or to a Resize): its node stays, because the network is a function over the real
numbers and no rounding of a constant may enter it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from assay.question.shapes import ShapeError, TensorType

_REARRANGING = ("Flatten", "Reshape", "Squeeze", "Unsqueeze")
_MOVING = ("Concat", "Expand", "Gather", "Identity", "Slice", "Tile", "Transpose", "Where")
_MAKING = ("Cast", "ConstantOfShape", "Range", "Shape", "Size")
_ARITHMETIC = (
    *("Abs", "Add", "Ceil", "Div", "Floor", "Max", "Min", "Mod", "Mul", "Neg", "Pow", "Round"),
    *("ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum", "Sign", "Sqrt", "Sub"),
)
_LOGIC = ("And", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Not", "Or")
_FOLDED = frozenset((*_REARRANGING, *_MOVING, *_MAKING, *_ARITHMETIC, *_LOGIC))
_LARGEST_FOLDED = 2**16
_LARGEST_KNOWN = 2**10
_LARGEST_INTEGER = 2**31


def computable(
    node: onnx.NodeProto,
    inputs: Sequence[np.ndarray | None],
    output: TensorType,
) -> bool:
    """Whether `node` makes a small constant out of known numbers; None stands for no number."""
    if node.op_type not in _FOLDED or len(node.output) != 1:
        return False
    if node.op_type in ("Shape", "Size"):
        return output.size <= _LARGEST_FOLDED
    if any(value is None for value in inputs):
        return False
    values = [value for value in inputs if value is not None]
    floats = [value for value in values if value.dtype == np.float32]
    if output.size > (_LARGEST_KNOWN if floats else _LARGEST_FOLDED):
        return False
    if output.dtype != np.float32 and any((np.abs(v) > _LARGEST_INTEGER).any() for v in floats):
        return False
    # Negative quotients round differently in numpy and in ONNX Runtime.
    integers = (value for value in values if value.dtype != np.float32)
    return node.op_type != "Div" or all((value >= 0).all() for value in integers)


def stays(inputs: Sequence[np.ndarray | None], output: TensorType) -> bool:
    """Whether a computed node stays in the graph: a float result of float numbers."""
    floats = any(value is not None and value.dtype == np.float32 for value in inputs)
    return floats and output.dtype == np.float32


def compute(
    node: onnx.NodeProto, inputs: dict[str, np.ndarray], output: TensorType, opset: int
) -> np.ndarray:
    """Evaluate a computable node; for Shape and Size any array of the right shape serves."""
    if node.op_type in _REARRANGING:
        # The inferred shape says it all; the reference evaluator knows the newest form only, in
        # which the axes are an input.
        return inputs[node.input[0]].reshape(output.shape)
    from onnx.reference import ReferenceEvaluator  # slow to import, and few graphs need it

    try:
        evaluator = ReferenceEvaluator(node, opsets={"": opset})
        with np.errstate(all="ignore"):
            (result,) = evaluator.run(None, inputs)
    except Exception as error:  # the reference evaluator raises whatever numpy raises
        raise ShapeError(f"cannot be computed ({type(error).__name__})") from None
    array = np.array(result)
    if array.dtype != output.dtype or array.shape != output.shape:
        raise ShapeError(f"gives shape {array.shape} where {output.shape} was inferred")
    return array
