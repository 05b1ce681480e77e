"""What happens when an attack breaks a label that the checker believed: everything stops."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from exchange_folders import instances

from assay.attack.attacking import _hold_to_label
from assay.attack.battery import Budget, run
from assay.errors import WrongLabel
from assay.question import vnnlib
from assay.question.network import load
from assay.suite.instance_table import WRONG_LABEL_FILE, with_witness


def test_a_robust_label_that_an_attack_breaks(tmp_path: Path) -> None:
    made = next(i for i in instances("meap") if i.truth.answer == "violated")
    network = load(made.onnx, made.name)
    asked = vnnlib.read(made.vnnlib.decode(), made.name)
    results = run(network, asked, Budget(attacks=("corners", "pgd-margin")), "cpu")
    sentence = "WRONG LABEL: said to be robust, but it is violated: .*found by the attack "
    with pytest.raises(WrongLabel, match=sentence) as caught:
        _hold_to_label(network.place, results)
    error = with_witness(tmp_path, caught.value)
    assert str(tmp_path / WRONG_LABEL_FILE) in str(error)
    written = json.loads((tmp_path / WRONG_LABEL_FILE).read_text())
    assert written["point"] == list(error.point)
    assert len(error.point) == 3
