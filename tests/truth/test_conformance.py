"""What every family owes, whatever it is about."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from ball_conformance import agree_in_balls, agree_in_floats, is_layered
from float_bounds import error_bounds
from pydantic import ValidationError

from assay.errors import BadInput
from assay.proof import reader
from assay.proof.arithmetic import Vector
from assay.proof.checker import check
from assay.proof.network import read_network
from assay.question import vnnlib
from assay.question.exact import ExactFunction
from assay.question.mlp_layers import chain_layers
from assay.question.network import load
from assay.question.property import Case
from assay.question.region import Box
from assay.question.runtime import FloatRunner
from assay.question.torch_view import torch_view
from assay.truth.assemble import mlp_outputs
from assay.truth.constructor import Constructor, Knobs
from assay.truth.families import families, family
from assay.truth.instance import Instance, sha256
from assay.truth.record import Truth

FAMILIES = sorted(families())
HASHES = """
import json, sys
from assay.truth.families import families
from assay.truth.instance import sha256
print(json.dumps({
    name: [[i.name, sha256(i.onnx), sha256(i.vnnlib), sha256(i.truth.to_json().encode()),
            sha256(i.arrays or b"")] for i in c.make(c.knobs(), 5)]
    for name, c in families().items()
}))
"""


@cache
def made(name: str, seed: int) -> tuple[Instance, ...]:
    constructor = family(name)
    return tuple(constructor.make(constructor.knobs(), seed))


def asked(instance: Instance) -> Case:
    (case,) = vnnlib.read(instance.vnnlib.decode(), instance.name).cases
    return case


def sampled(box: Box, seed: int) -> list[list[Fraction]]:
    """Float32 points of a box whose ends are float32 numbers: inside, and a corner."""
    draw = np.random.default_rng(seed)
    low = np.array([float(v) for v in box.lower], dtype=np.float32)
    high = np.array([float(v) for v in box.upper], dtype=np.float32)
    rows = [low + draw.random(len(low)).astype(np.float32) * (high - low) for _ in range(3)]
    rows.append(np.where(draw.integers(0, 2, len(low)) == 1, low, high))
    return [[Fraction(float(v)) for v in np.clip(row, low, high)] for row in rows]


@pytest.mark.parametrize("name", FAMILIES)
def test_declares_itself(name: str) -> None:
    constructor = family(name)
    assert constructor.name == name == constructor.name.strip()
    for text in (constructor.summary, constructor.theorem):
        assert len(text) > 20
        assert "\n" not in text
    assert issubclass(constructor.knobs, Knobs)


def leaves(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The simple types that a field may take."""
    if "$ref" in schema:
        yield from leaves(root["$defs"][schema["$ref"].split("/")[-1]], root)
    for option in schema.get("anyOf", []):
        yield from leaves(option, root)
    if schema.get("type") == "array":
        assert "maxItems" in schema
        yield from leaves(schema["items"], root)
    elif "type" in schema:
        yield schema


@pytest.mark.parametrize("name", FAMILIES)
def test_every_knob_is_described_and_bounded(name: str) -> None:
    schema = family(name).knobs.model_json_schema()
    assert schema["properties"]
    for knob, field in schema["properties"].items():
        assert len(field.get("description", "")) > 5, f"{name}.{knob} has no description"
        assert "default" in field, f"{name}.{knob} has no default"
        for leaf in leaves(field, schema):
            if leaf["type"] in ("integer", "number"):
                assert {"minimum", "exclusiveMinimum"} & set(leaf), f"{name}.{knob}: no least"
                assert {"maximum", "exclusiveMaximum"} & set(leaf), f"{name}.{knob}: no most"
            else:
                fixed = "enum" in leaf or "const" in leaf
                assert fixed or leaf["type"] in ("null", "boolean"), f"{name}.{knob} is free text"


@pytest.mark.parametrize("name", FAMILIES)
def test_unknown_knobs_and_names_are_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="knob_that_is_not"):
        family(name).knobs.model_validate({"knob_that_is_not": 1})
    with pytest.raises(BadInput, match=name):
        family(name + "x")


@pytest.mark.parametrize("name", [name for name in FAMILIES if not family(name).twins])
def test_default_knobs_of_families_without_twins_make_what_is_violated(name: str) -> None:
    """Robust instances as well, where a proof succeeds; nothing names a twin."""
    names = [instance.name for instance in made(name, 5)]
    assert len(set(names)) == len(names)
    assert "violated" in {instance.truth.answer for instance in made(name, 5)}
    assert all(instance.truth.twin is None for instance in made(name, 5))


def test_only_trained_networks_have_no_twins() -> None:
    assert [name for name in FAMILIES if not family(name).twins] == ["trained"]


@pytest.mark.parametrize("name", [name for name in FAMILIES if family(name).twins])
def test_default_knobs_make_both_answers_named_as_twins(name: str) -> None:
    instances = {instance.name: instance for instance in made(name, 5)}
    assert len(instances) == len(made(name, 5))
    assert {i.truth.answer for i in instances.values()} == {"robust", "violated"}
    for instance in instances.values():
        assert instance.truth.twin is not None
        twin = instances[instance.truth.twin]
        assert twin.truth.twin == instance.name
        assert twin.truth.answer != instance.truth.answer


@pytest.mark.parametrize("name", FAMILIES)
def test_truths_are_complete_and_bound_to_the_bytes(name: str) -> None:
    constructor: Constructor = family(name)
    for instance in made(name, 5):
        truth = instance.truth
        assert (truth.family, truth.seed) == (name, 5)
        assert truth.onnx_sha256 == sha256(instance.onnx)
        assert truth.vnnlib_sha256 == hashlib.sha256(instance.vnnlib).hexdigest()
        assert Truth.from_json(truth.to_json(), "truth") == truth
        assert (truth.margin > 0) == (truth.answer == "robust")
        assert (truth.witness is None) == (truth.answer == "robust")
        for fact in truth.facts.values():
            Fraction(fact)
        again = {k: v for k, v in truth.parameters.items() if k in constructor.knobs.model_fields}
        constructor.knobs.model_validate(again)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_checker_verifies_all(name: str) -> None:
    for instance in made(name, 5):
        truth = instance.truth.to_json().encode()
        verdict = check(instance.onnx, instance.vnnlib, truth, instance.arrays)
        assert verdict.status == "verified", verdict.reason
        assert (verdict.answer, verdict.guard) == (instance.truth.answer, instance.truth.guard)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_checker_does_not_verify_the_opposite(name: str) -> None:
    for instance in made(name, 5):
        document = json.loads(instance.truth.to_json())
        document["answer"] = "violated" if document["answer"] == "robust" else "robust"
        verdict = check(
            instance.onnx, instance.vnnlib, json.dumps(document).encode(), instance.arrays
        )
        assert verdict.status != "verified"


@pytest.mark.parametrize("name", FAMILIES)
def test_same_seed_same_bytes_other_seed_other_network(name: str) -> None:
    constructor = family(name)
    assert tuple(constructor.make(constructor.knobs(), 5)) == made(name, 5)
    first = {instance.onnx for instance in made(name, 5)}
    assert first.isdisjoint({instance.onnx for instance in made(name, 6)})


def test_same_bytes_in_other_processes() -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", HASHES]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, env={**environment, "PYTHONHASHSEED": s})
        for s in ("1", "2")
    ]
    outputs = [process.communicate(timeout=120)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert outputs[0] == outputs[1]
    assert sorted(json.loads(outputs[0])) == FAMILIES


@pytest.mark.parametrize("name", FAMILIES)
def test_every_exact_evaluator_agrees(name: str) -> None:
    for instance in made(name, 5):
        if not is_layered(instance):
            agree_in_balls(instance, sampled(asked(instance).box, 1))
            continue
        network = load(instance.onnx, name)
        function, proved = ExactFunction(network), read_network(reader.read(instance.onnx))
        points = sampled(asked(instance).box, 1)
        if instance.truth.witness is not None:
            points.append([Fraction(text) for text in instance.truth.witness])
        for point in points:
            outputs = function(point)
            assert proved.outputs(Vector.of(point)).fractions() == outputs
            if network.operators <= {"Conv", "Flatten", "Gemm", "Relu"}:
                assert mlp_outputs(chain_layers(network), point) == outputs
            margin = asked(instance).violation.margin(outputs)
            if instance.truth.answer == "robust":
                assert margin >= instance.truth.margin
        if instance.truth.answer == "violated":
            assert margin <= instance.truth.margin


@pytest.mark.parametrize("name", FAMILIES)
def test_exported_files_run_in_onnx_runtime_and_torch(name: str) -> None:
    for instance in made(name, 5):
        network, case = load(instance.onnx, name), asked(instance)
        if not is_layered(instance):
            agree_in_floats(instance, sampled(case.box, 2))
            continue
        assert case.box.dimension == network.inputs
        assert case.violation.outputs == network.outputs
        runner, function = FloatRunner(network), ExactFunction(network)
        assert runner.batched
        points = sampled(case.box, 2)
        rows = np.array([[float(v) for v in point] for point in points])
        together = runner.run(rows.astype(np.float32))
        double = torch_view(network, torch.float64)(torch.tensor(rows)).numpy()
        for row, point in enumerate(points):
            bounds = error_bounds(instance, Box(tuple(point), tuple(point)))
            alone = runner.run(rows[row : row + 1].astype(np.float32))[0]
            for k, (right, bound) in enumerate(zip(function(point), bounds, strict=True)):
                assert abs(Fraction(float(together[row, k])) - right) <= bound
                assert abs(Fraction(float(alone[k])) - right) <= bound
                # float64 has 29 bits more; underflow is not part of the bound's absolute term
                assert abs(Fraction(float(double[row, k])) - right) <= bound / 2**28
