"""Integer bookkeeping inside a graph, computed once when the network is read.

Exporters write shapes as small integer programs (Shape, Gather, Concat, ... into Reshape).
With static shapes these are constants; folding them leaves a graph of float32 operators only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from assay.question.shapes import ShapeError, TensorType

_BOOKKEEPING = ("Shape", "Size", "Gather", "Slice", "Concat", "Reshape", "Squeeze", "Unsqueeze")
_REARRANGING = ("Reshape", "Squeeze", "Unsqueeze")
_ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Cast", "Range", "Identity", "ConstantOfShape")
_LARGEST_FOLDED = 2**16


def foldable(
    node: onnx.NodeProto,
    inputs: Sequence[np.ndarray | None],
    output: TensorType,
) -> bool:
    """Whether `node` makes a small constant out of integers alone; None stands for no constant."""
    if node.op_type not in _BOOKKEEPING + _ARITHMETIC:
        return False
    if len(node.output) != 1 or output.size > _LARGEST_FOLDED:
        return False
    if node.op_type in ("Shape", "Size"):
        return True
    integers = [value for value in inputs if value is not None and value.dtype != np.float32]
    # Negative quotients round differently in numpy and in ONNX Runtime.
    if node.op_type == "Div" and not all(value.min() >= 0 for value in integers):
        return False
    return len(integers) == len(inputs)


def fold(
    node: onnx.NodeProto, inputs: dict[str, np.ndarray], output: TensorType, opset: int
) -> np.ndarray:
    """Evaluate a foldable node; for Shape and Size any array of the right shape serves."""
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
