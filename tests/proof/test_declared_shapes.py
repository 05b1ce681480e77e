"""Shapes that a file declares inside of attention, which is read as one operation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import onnx
import pytest
from small_claims import Claimed, instances

KNOBS: dict[str, dict[str, Any]] = {
    "softmax_attention": {"tokens": 3, "width": 3, "value": 2, "classes": 3},
    "linear_attention": {},
}


def verdict(claim: Claimed, proto: onnx.ModelProto) -> tuple[str, str]:
    found = replace(claim, onnx=proto.SerializeToString()).signed().verdict()
    return found.status, found.reason


def told(family: str) -> list[tuple[Claimed, onnx.ModelProto]]:
    made = [Claimed.of(instance) for instance in instances(family, **KNOBS[family])]
    return [(c, onnx.shape_inference.infer_shapes(onnx.load_from_string(c.onnx))) for c in made]


@pytest.mark.parametrize("family", KNOBS)
def test_shapes_that_onnx_infers_are_checked(family: str) -> None:
    for claim, proto in told(family):
        assert len(proto.graph.value_info) > 5
        assert verdict(claim, proto) == ("verified", "")
        for info in proto.graph.value_info:
            last = info.type.tensor_type.shape.dim[-1]
            last.dim_value += 1
            status, reason = verdict(claim, proto)
            last.dim_value -= 1
            assert (status, "is declared otherwise" in reason) == ("rejected", True), info.name
