"""Large settings of the knobs that the checker verifies in seconds."""

from __future__ import annotations

from typing import Any

import pytest

from assay.errors import CannotCertify
from assay.proof import work
from assay.proof.checker import check
from assay.truth.families import family


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        ("softmax_attention", {"tokens": 32, "width": 32, "value": 32, "classes": 50}),
        ("constant_box", {"width": 256, "depth": 150}),
    ],
)
def test_a_large_setting_is_verified(name: str, knobs: dict[str, Any]) -> None:
    constructor = family(name)
    for made in constructor.make(constructor.knobs.model_validate(knobs), 0):
        verdict = check(made.onnx, made.vnnlib, made.truth.to_json().encode(), made.arrays)
        assert verdict.status == "verified", verdict.line()


def test_the_advice_where_a_network_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "MOST_WORK", 10_000)
    constructor = family("softmax_attention")
    knobs = constructor.knobs.model_validate({"tokens": 3, "width": 3, "value": 2, "classes": 3})
    with pytest.raises(CannotCertify, match=r"more work .*; make the network smaller"):
        constructor.make(knobs, 0)
