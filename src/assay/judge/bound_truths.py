"""The truths of a benchmark, held against the bytes of the questions that they are about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from assay.errors import BadInput
from assay.suite.file_hash import question_sha256
from assay.suite.folder import BenchmarkFolder
from assay.truth.record import Truth, read_truth

Hashes = Mapping[str, tuple[str, str]]
"""The sha256 of both files of each instance, by its name: network, then property."""


def question_hashes(folder: BenchmarkFolder) -> Hashes:
    """Hash all files of the questions; one that several instances share is read once."""
    known: dict[Path, str] = {}

    def hashed(path: Path) -> str:
        if path not in known:
            known[path] = question_sha256(path)
        return known[path]

    return {entry.name: (hashed(entry.onnx), hashed(entry.vnnlib)) for entry in folder.entries}


def bound_truths(folder: BenchmarkFolder, hashes: Hashes) -> dict[str, Truth]:
    """The truths of the instances that have one, without their bulk; all about these bytes."""
    truths = {}
    for entry in folder.entries:
        if entry.truth is None:
            continue
        truth = read_truth(entry.truth)
        if (truth.onnx_sha256, truth.vnnlib_sha256) != hashes[entry.name]:
            raise BadInput(
                f"{entry.truth}: is about other bytes than the files of {entry.name}; rebuild the "
                "benchmark, or remove this truth to ask the question without one"
            )
        truths[entry.name] = _light(truth)
    return truths


def _light(truth: Truth) -> Truth:
    """What scores need: a certificate may be megabytes, and there may be 10^5 of them."""
    known = isinstance(truth.certificate, dict)
    kind = str(truth.certificate.get("kind", "not named")) if known else "not named"
    return replace(truth, certificate={"kind": kind}, witness=None, parameters={}, facts={})
