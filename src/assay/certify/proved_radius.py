"""What the folder of `assay certify` proves, read off the questions that the checker verifies.

A robust box around the centre proves that the minimal adversarial radius is larger than its own, a
violated one that it is at most that. Nothing else that a truth says about itself is taken: its
facts were proved when they were written, and could have been changed since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from assay.errors import BadInput
from assay.question import vnnlib
from assay.question.property import Violation
from assay.suite.folder import BenchmarkFolder, FolderEntry
from assay.suite.proved_truths import proved_truths, question_hashes
from assay.truth.instance import sha256
from assay.truth.record import Truth


@dataclass(frozen=True)
class CertifiedInstance:
    """One instance in the folder: its box has the radius `epsilon` around the centre."""

    name: str
    fraction: float
    epsilon: Fraction
    answer: str
    margin: Fraction
    guard: str


@dataclass(frozen=True)
class ProvedRadius:
    """The minimal adversarial radius around `centre` is above `lower` and at most `upper`."""

    lower: Fraction
    upper: Fraction
    centre: tuple[Fraction, ...]
    instances: tuple[CertifiedInstance, ...]


@dataclass(frozen=True)
class _Ball:
    """A box with the same radius in every direction, and the label that it is about."""

    centre: tuple[Fraction, ...]
    radius: Fraction
    label: int


def proved_radius(
    path: Path, onnx_sha256: str, expected: Sequence[tuple[str, float]]
) -> ProvedRadius:
    """What a folder proves about a network; `expected` are its instances and their fractions."""
    folder = BenchmarkFolder.open(path)
    for entry in folder.entries:
        if entry.truth is None:
            raise BadInput(f"{entry.onnx}: its truth is gone; {_remedy(path)}")
    hashes = question_hashes(folder)
    truths = proved_truths(folder, hashes, remedy=_remedy(path))
    balls = {entry.name: _ball(entry, hashes[entry.name][1]) for entry in folder.entries}
    if (
        [entry.name for entry in folder.entries] != [name for name, _ in expected]
        or {network for network, _ in hashes.values()} != {onnx_sha256}
        or len({(ball.centre, ball.label) for ball in balls.values()}) != 1
        or {truth.answer for truth in truths.values()} != {"robust", "violated"}
    ):
        raise _changed(path, path)
    instances = tuple(
        _instance(name, fraction, balls[name], truths[name]) for name, fraction in expected
    )
    return ProvedRadius(
        lower=max(i.epsilon for i in instances if i.answer == "robust"),
        upper=min(i.epsilon for i in instances if i.answer == "violated"),
        centre=next(iter(balls.values())).centre,
        instances=instances,
    )


def _instance(name: str, fraction: float, ball: _Ball, truth: Truth) -> CertifiedInstance:
    return CertifiedInstance(name, fraction, ball.radius, truth.answer, truth.margin, truth.guard)


def _ball(entry: FolderEntry, verified_sha256: str) -> _Ball:
    """Read off the bytes that were verified, and no others."""
    folder, data = entry.vnnlib.parent.parent, entry.vnnlib.read_bytes()
    if sha256(data) != verified_sha256:
        raise _changed(entry.vnnlib, folder)
    cases = vnnlib.read(data.decode(), str(entry.vnnlib)).cases
    box, violation = cases[0].box, cases[0].violation
    ends = list(zip(box.lower, box.upper, strict=True))
    radii = {(high - low) / 2 for low, high in ends}
    classes = violation.outputs
    labels = [k for k in range(classes) if violation == Violation.misclassification(k, classes)]
    if len(cases) != 1 or len(radii) != 1 or len(labels) != 1:
        raise _changed(entry.vnnlib, folder)
    return _Ball(tuple((low + high) / 2 for low, high in ends), radii.pop(), labels[0])


def _changed(place: Path, folder: Path) -> BadInput:
    return BadInput(f"{place}: was changed after it was written; {_remedy(folder)}")


def _remedy(folder: Path) -> str:
    return f"remove {folder} to certify the network again, or choose another folder"
