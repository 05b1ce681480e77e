"""A truth is read before it is checked, so what it says must not keep its reader busy."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from specimens import made

from assay.errors import BadInput
from assay.truth.record import Truth


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(made("corners-plain")[0].truth.to_json())
    return found


@pytest.mark.parametrize(
    "margin", ["1e30000000", "1/1e30000000", "9" * 4001, "1/" + "7" * 4001, "1/0", "0.5", " 1", 1]
)
def test_a_margin_that_is_no_short_rational(document: dict[str, Any], margin: object) -> None:
    begun = time.process_time()
    with pytest.raises(BadInput, match=r"n\.json: not a readable truth .*margin"):
        Truth.from_json(json.dumps(document | {"margin": margin}), "n.json")
    assert time.process_time() - begun < 1


def test_the_longest_margin(document: dict[str, Any]) -> None:
    text = "-" + "9" * 4000 + "/" + "7" * 4000
    read = Truth.from_json(json.dumps(document | {"margin": text}), "n.json")
    assert read.margin.denominator > 1
