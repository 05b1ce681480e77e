"""Attributes of ONNX nodes as plain Python values: int, float, str, tuples of them, arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto

from assay.errors import SAMPLING_WORKS, BadInput
from assay.question.initializers import decode, frozen

_LARGEST_INTEGER = 2**31


def read_attributes(proto: onnx.NodeProto, place: str) -> dict[str, Any]:
    """Return the attributes of a node by name; `place` names the node in error messages."""
    values: dict[str, Any] = {}
    for attribute in proto.attribute:
        where = f"{place}: attribute {attribute.name!r}"
        if attribute.name in values:
            raise BadInput(f"{where}: is given twice; remove one")
        values[attribute.name] = _attribute(attribute, proto.op_type, where)
    return values


def _attribute(attribute: AttributeProto, op_type: str, place: str) -> Any:
    if attribute.ref_attr_name:
        raise BadInput(f"{place}: refers to a function's attribute; inline functions")
    match attribute.type:
        case AttributeProto.FLOAT | AttributeProto.FLOATS:
            floats = (attribute.f, *attribute.floats)
            if not all(math.isfinite(v) for v in floats):
                raise BadInput(f"{place}: is NaN or infinite; use finite numbers")
            return attribute.f if attribute.type == AttributeProto.FLOAT else tuple(floats[1:])
        case AttributeProto.INT | AttributeProto.INTS:
            ints = (attribute.i, *attribute.ints)
            # Old Slice writes "to the end" as the largest int64.
            if op_type != "Slice" and any(abs(v) > _LARGEST_INTEGER for v in ints):
                raise BadInput(f"{place}: {max(ints, key=abs)} is absurdly large; fix the model")
            return attribute.i if attribute.type == AttributeProto.INT else tuple(ints[1:])
        case AttributeProto.STRING:
            return attribute.s.decode("utf-8", errors="replace")
        case AttributeProto.TENSOR:
            return decode(attribute.t, place)
    raise BadInput(
        f"{place}: Assay does not read subgraphs and special values; export without control flow; "
        f"{SAMPLING_WORKS}"
    )


def constant_value(attributes: Mapping[str, Any], place: str) -> np.ndarray:
    """Return what a Constant node with these attributes makes."""
    match [(key, value) for key, value in attributes.items()]:
        case [("value", np.ndarray() as array)]:
            return array
        case [("value_float" | "value_floats", value)]:
            return frozen(np.array(value, np.float32), place)
        case [("value_int" | "value_ints", value)]:
            return frozen(np.array(value, np.int64), place)
    raise BadInput(f"{place}: is not one dense number tensor; export the model again")
