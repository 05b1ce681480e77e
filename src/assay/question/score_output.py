"""Which output of a model holds its scores.

A model of scikit-learn gives a label and probabilities; a network may give features beside its
scores. Statistics need one tensor of floats. Maps from class to probability (`ZipMap`) are read
where they are made: from the tensor that is turned into them.
"""

from __future__ import annotations

from dataclasses import dataclass

import onnx
from onnx import TensorProto

from assay.errors import BadInput

_FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16)
_TELLING = ("prob", "logit", "score")


@dataclass(frozen=True)
class ScoreOutput:
    """An output as the model names it, the tensor that is read, and the outputs left aside."""

    name: str
    tensor: str
    others: tuple[str, ...]


def choose_output(model: onnx.ModelProto, place: str, wanted: str = "") -> ScoreOutput:
    """The output called `wanted`, or the one that looks like scores."""
    tensors = {output.name: _tensor(model, output) for output in model.graph.output}
    usable = {name: tensor for name, tensor in tensors.items() if tensor}
    names = ", ".join(map(repr, tensors))
    if wanted and wanted not in tensors:
        raise BadInput(f"{place}: has no output {wanted!r}; name one of {names}")
    if not usable or (wanted and wanted not in usable):
        named = repr(wanted) if wanted else f"none of its outputs ({names})"
        raise BadInput(
            f"{place}: {named} {'is no' if wanted else 'is a'} tensor of floats, which scores are; "
            "export scores or probabilities"
        )
    telling = [name for name in usable if any(word in name.lower() for word in _TELLING)]
    chosen = wanted or (telling or list(usable))[0]
    return ScoreOutput(chosen, usable[chosen], tuple(name for name in tensors if name != chosen))


def keep_output(model: onnx.ModelProto, chosen: ScoreOutput) -> onnx.ModelProto:
    """A copy with this output only: what just serves the others need not run."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    kept = [output for output in model.graph.output if output.name == chosen.tensor]
    del copy.graph.output[:]
    copy.graph.output.extend(kept or [onnx.ValueInfoProto(name=chosen.tensor)])
    return copy


def _tensor(model: onnx.ModelProto, output: onnx.ValueInfoProto) -> str:
    """The tensor of floats behind an output; empty where there is none."""
    if output.type.WhichOneof("value") == "tensor_type":
        return output.name if output.type.tensor_type.elem_type in _FLOATS else ""
    for node in model.graph.node:
        if node.op_type == "ZipMap" and output.name in node.output:
            return str(node.input[0])
    return ""
