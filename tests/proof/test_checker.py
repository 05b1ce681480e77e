"""From files to a verdict: what is verified, and every way in which a truth can be wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_claims import CONCAVE, SQUARE, Claimed, claimed, instances, network, question

from assay.proof.__main__ import main
from assay.proof.checker import check
from assay.truth.instance import Instance

KNOBS: dict[str, list[dict[str, Any]]] = {
    "meap": [{"inputs": 3, "classes": 3, "pairs": 2}, {"inputs": 5, "classes": 2, "pairs": 5}],
    "corners": [
        {"inputs": 5, "classes": 3, "hinges": 4, "active": 3},
        {"inputs": 9, "classes": 3, "hinges": 12, "active": 8, "window": 3},
    ],
    "constant_box": [
        {"inputs": 6, "classes": 3, "depth": 2, "width": 4, "latent": 3},
        {"inputs": 6, "classes": 2, "depth": 1, "width": 3, "collapse": "hinges"},
    ],
    "exact_radius": [
        {"inputs": 3, "classes": 3, "hidden": (4, 3), "fractions": (0.5, 0.99)},
        {"inputs": 2, "classes": 2, "hidden": (3,), "fractions": (0.9,)},
        {"inputs": 2, "classes": 2, "hidden": (4, 3, 2), "fractions": (0.9,)},
    ],
}
CASES = [(name, index) for name, settings in KNOBS.items() for index in range(len(settings))]


@cache
def made(name: str, index: int) -> tuple[Instance, ...]:
    return tuple(instances(name, **KNOBS[name][index]))


@pytest.mark.parametrize(("name", "index"), CASES)
def test_every_family_is_verified_on_both_sides(name: str, index: int) -> None:
    instances = made(name, index)
    assert {i.truth.answer for i in instances} == {"robust", "violated"}
    for instance in instances:
        verdict = Claimed.of(instance).verdict()
        assert verdict.status == "verified", verdict.line()
        assert (verdict.answer, verdict.margin) == (instance.truth.answer, instance.truth.margin)
        assert verdict.guard == instance.truth.guard
        relation = ">=" if instance.truth.answer == "robust" else "<="
        assert verdict.line().startswith(f"s VERIFIED {instance.truth.answer} margin{relation}")


def test_both_guards_occur() -> None:
    guards = {i.truth.guard for name, index in CASES for i in made(name, index)}
    assert "float32" in guards


PLAIN = claimed(network(CONCAVE), question(SQUARE), margin="3")
VIOLATED = claimed(
    network(CONCAVE), question([(0, 9), (0, 9)]), witness=["4", "1.5"], margin="-1/2"
)


def test_the_handmade_claims_are_verified() -> None:
    assert PLAIN.verdict().line() == "s VERIFIED robust margin>=3 guard=real"
    assert VIOLATED.verdict().line() == "s VERIFIED violated margin<=-1/2 guard=real"


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"margin": "1"}, "verified"),
        ({"margin": "3000000000001/1000000000000"}, "rejected"),
        ({"margin": "0"}, "rejected"),
        ({"margin": "-1"}, "rejected"),
        ({"margin": "3.0"}, "rejected"),
        ({"margin": "1e0"}, "rejected"),
        ({"margin": ""}, "rejected"),
        ({"margin": "1/0"}, "rejected"),
        ({"margin": "9" * 5000}, "rejected"),
        ({"margin": 3}, "rejected"),
        ({"answer": "violated"}, "rejected"),
        ({"answer": "Robust"}, "rejected"),
        ({"answer": "unknown"}, "rejected"),
        ({"answer": ["robust"]}, "rejected"),
        ({"guard": "float64"}, "rejected"),
        ({"guard": None}, "rejected"),
        ({"witness": ["0", "0"]}, "rejected"),
        ({"witness": None}, "rejected"),
        ({"schema": 2}, "unsupported"),
        ({"schema": True}, "rejected"),
        ({"schema": 1.0}, "rejected"),
        ({"schema": "1"}, "rejected"),
        ({"seed": False}, "rejected"),
        ({"seed": "0"}, "rejected"),
        ({"twin": 0}, "rejected"),
        ({"twin": "other"}, "verified"),
        ({"facts": {}}, "verified"),
        ({"facts": []}, "rejected"),
        ({"parameters": []}, "rejected"),
        ({"violation_probability": {"exact": "0"}}, "rejected"),
        ({"violation_probability": "0"}, "rejected"),
        ({"unknown": 1}, "unsupported"),
        ({"onnx_sha256": "0" * 64}, "rejected"),
        ({"onnx_sha256": None}, "rejected"),
        ({"vnnlib_sha256": PLAIN.truth["vnnlib_sha256"].upper()}, "rejected"),
        ({"certificate": {}}, "rejected"),
        ({"certificate": []}, "rejected"),
        ({"certificate": {"kind": "meap"}}, "unsupported"),
        ({"certificate": {"kind": "constant_box"}}, "rejected"),
        ({"certificate": {"kind": "relu_tree"}}, "rejected"),
        ({"certificate": {"kind": "witness"}}, "unsupported"),
        ({"certificate": {"kind": "magic"}}, "unsupported"),
        ({"certificate": {"kind": ["corners"]}}, "rejected"),
        ({"certificate": {"kind": {}}}, "rejected"),
        ({"certificate": {"kind": None}}, "rejected"),
        ({"certificate": {"kind": "corners", "trust": "me"}}, "rejected"),
        ({"certificate": {"kind": "corners", "arrays_sha256": "0" * 64}}, "rejected"),
        ({"certificate": {"kind": "corners", "arrays_sha256": []}}, "rejected"),
    ],
)
def test_changed_truths(changes: dict[str, Any], status: str) -> None:
    assert PLAIN.stating(**changes).verdict().status == status


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"margin": "-1/4"}, "verified"),
        ({"margin": "0"}, "verified"),
        ({"margin": "-51/100"}, "rejected"),
        ({"margin": "1/100"}, "rejected"),
        ({"answer": "robust"}, "rejected"),
        ({"witness": ["4", "1"]}, "rejected"),
        ({"witness": ["4", "9.0000000000000000000000000000001"]}, "rejected"),
        ({"witness": ["4", "-1e-30"]}, "rejected"),
        ({"witness": ["9", "9"]}, "verified"),
        ({"witness": ["0.4e1", "+15e-1"]}, "verified"),
        ({"witness": ["4"]}, "rejected"),
        ({"witness": ["4", "1.5", "0"]}, "rejected"),
        ({"witness": []}, "rejected"),
        ({"witness": [4, 1.5]}, "rejected"),
        ({"witness": [["4"], "1.5"]}, "rejected"),
        ({"witness": ["4", "3/2"]}, "rejected"),
        ({"witness": ["4", "nan"]}, "rejected"),
        ({"witness": ["4", "inf"]}, "rejected"),
        ({"witness": ["4", "1e99999999999"]}, "rejected"),
        ({"witness": "41"}, "rejected"),
        ({"certificate": {"kind": "corners"}}, "rejected"),
        ({"certificate": {"kind": "witness", "arrays_sha256": None}}, "rejected"),
    ],
)
def test_changed_violations(changes: dict[str, Any], status: str) -> None:
    assert VIOLATED.stating(**changes).verdict().status == status


def test_every_required_key_is_required() -> None:
    for key in PLAIN.truth:
        truth = {k: v for k, v in PLAIN.truth.items() if k != key}
        verdict = check(PLAIN.onnx, PLAIN.vnnlib, json.dumps(truth).encode(), None)
        assert verdict.status == "rejected", key
    truth = {k: v for k, v in VIOLATED.truth.items() if k != "witness"}
    assert (
        check(VIOLATED.onnx, VIOLATED.vnnlib, json.dumps(truth).encode(), None).status == "rejected"
    )


def test_stray_arrays_are_rejected() -> None:
    for claim in (PLAIN, VIOLATED):
        with_arrays = Claimed(claim.onnx, claim.vnnlib, claim.truth, b"\0\0\0\0")
        assert with_arrays.verdict().status == "rejected"
        assert with_arrays.signed().verdict().status == "rejected"


TEXT = json.dumps(PLAIN.truth)


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace('"answer": "robust"', '"answer": "violated", "answer": "robust"'),
        TEXT.replace('"parameters": {}', '"parameters": {"a": 1, "a": 2}'),
        TEXT.replace('"parameters": {}', '"parameters": {"a": NaN}'),
        TEXT.replace('"parameters": {}', '"parameters": {"a": -Infinity}'),
        TEXT.replace('"seed": 0', '"seed": 1' + "0" * 5000),
        TEXT.replace('"parameters": {}', '"parameters": ' + '{"a":' * 99_999 + "1" + "}" * 99_999),
        TEXT + "{}",
        TEXT[:-1],
        f"[{TEXT}]",
        "null",
        "",
        "\ufeff" + TEXT,
        TEXT.encode("utf-16"),
        b"\xff" + TEXT.encode(),
    ],
    ids=range(14),
)
def test_other_json_is_rejected(text: str | bytes) -> None:
    data = text.encode() if isinstance(text, str) else text
    assert check(PLAIN.onnx, PLAIN.vnnlib, data, None).status == "rejected"
    assert check(PLAIN.onnx, PLAIN.vnnlib, TEXT.encode(), None).status == "verified"


def test_sizes_that_differ_are_rejected() -> None:
    wider = claimed(network(CONCAVE), question([*SQUARE, (0, 1)]))
    more = claimed(network(CONCAVE), question(SQUARE, 3))
    assert "inputs" in wider.verdict().reason
    assert "outputs" in more.verdict().reason


def test_a_margin_with_many_digits_is_still_printed() -> None:
    """A hundred layers of tiny weights: exact margins have thousands of digits."""
    tiny = 2.0**-149 * 8388607
    layers: Any = [([[1]], [1])] + [([[tiny]], [tiny])] * 120 + [([[1], [0]], [0, -1])]
    claim = claimed(
        network(layers), question([(0, 1)], 2, "(assert (>= Y_0 Y_1))"), witness=["0.3"], margin="0"
    )
    assert claim.verdict().line() == "s VERIFIED violated margin<=0 guard=real"
    refused = claim.stating(margin="-2").verdict()
    assert refused.status == "rejected"
    assert len(refused.reason) < 300


@pytest.mark.timeout(120)  # a hang
def test_wide_layers_from_a_small_file_end_soon() -> None:
    """Two thin layers must not be multiplied into one that fills the memory."""
    count = 20_000
    thin: Any = [([[1] * count], [0]), ([[1]] * count, [0] * count), ([[1] * count] * 2, [0, 0])]
    proto = network(thin)
    del proto.graph.node[1]
    proto.graph.node[1].input[0] = "s0"
    verdict = claimed(proto, question([(0, 1)] * count)).verdict()
    assert verdict.status == "unsupported"


def test_files_on_disk(tmp_path: Path) -> None:
    robust = next(i for i in made("exact_radius", 1) if i.arrays is not None)
    claim = Claimed.of(robust)
    paths = [tmp_path / name for name in ("n.onnx", "n.vnnlib", "n.json")]
    data = (claim.onnx, claim.vnnlib, json.dumps(claim.truth).encode())
    for path, content in zip(paths, data, strict=True):
        path.write_bytes(content)
    assert main([*map(str, paths)]) == 1
    assert claim.arrays is not None
    (tmp_path / "n.bin").write_bytes(claim.arrays)
    assert main([*map(str, paths)]) == 0
    command = [sys.executable, "-m", "assay.proof", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("s VERIFIED robust margin>=")
    assert all(line.startswith("c ") for line in done.stdout.splitlines()[:-1])
    paths[1].write_bytes(claim.vnnlib + b"\n")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("s REJECTED vnnlib_sha256")
    for wrong in ([], [str(paths[0])], [*map(str, paths[:2]), "none.json"]):
        command = [sys.executable, "-m", "assay.proof", *wrong]
        assert subprocess.run(command, capture_output=True, check=False).returncode == 2


junk = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda j: st.one_of(
        st.lists(j, max_size=3), st.dictionaries(st.text(max_size=3), j, max_size=3)
    ),
    max_leaves=4,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([PLAIN, VIOLATED]), st.data())
def test_any_json_gives_a_verdict(claim: Claimed, data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted({*claim.truth, "witness", "facts", "else"})))
    verdict = claim.stating(**{key: data.draw(junk)}).verdict()
    assert verdict.status in ("verified", "rejected", "unsupported")
    assert verdict.status != "verified" or verdict.margin == Fraction(claim.truth["margin"])
