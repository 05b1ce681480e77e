"""The truths of a benchmark, as the checker verifies them: the only way to one that is on disk.

A label decides who is called unsound, so no command takes a file's word for it. The bytes that are
read are hashed; the checker's verdict about those digests was kept (`kept_verdicts`) or is made
now; a truth that is not verified stops the command.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from assay.errors import BadInput
from assay.suite.checking import Checked, Claim, check, check_claim
from assay.suite.file_hash import file_sha256, network_sha256, question_sha256
from assay.suite.folder import BenchmarkFolder, FolderEntry
from assay.suite.kept_verdicts import Digests, KeptVerdicts
from assay.suite.workers import Watcher, available_cores
from assay.truth.instance import sha256
from assay.truth.record import Truth, parse_truth, truth_bytes

Hashes = Mapping[str, tuple[str, str]]
"""The sha256 of both files of each instance, by its name: network, then property."""


@dataclass(frozen=True)
class _Read:
    """A truth and the digests of the very bytes that it was read from."""

    truth: Truth
    claim: Claim
    digests: Digests


def question_hashes(folder: BenchmarkFolder) -> Hashes:
    """Hash all files of the questions; one that several instances share is read once."""
    known: dict[Path, str] = {}

    def hashed(path: Path) -> str:
        if path not in known:
            known[path] = question_sha256(path)
        return known[path]

    return {entry.name: (hashed(entry.onnx), hashed(entry.vnnlib)) for entry in folder.entries}


def proved_truths(
    folder: BenchmarkFolder,
    hashes: Hashes | None = None,
    watcher: Watcher | None = None,
    jobs: int | None = None,
) -> dict[str, Truth]:
    """The truths of the instances that have one, without their bulk, all verified.

    The watcher hears only of those that have to be checked now.
    """
    hashes = question_hashes(folder) if hashes is None else hashes
    kept = KeptVerdicts()
    truths: dict[str, Truth] = {}
    waiting: list[Claim] = []
    for entry in folder.entries:
        if entry.truth is None:
            continue
        read = _read(entry.name, entry.onnx, entry.vnnlib, entry.truth, hashes[entry.name])
        truths[entry.name] = _light(read.truth)
        if read.digests not in kept:
            waiting.append(read.claim)
    if waiting:
        for checked in check(waiting, jobs or available_cores(), watcher):
            _refuse_unverified(checked)
    return truths


def entry_truth(entry: FolderEntry, hashes: tuple[str, str] | None = None) -> Truth:
    """The truth of an instance, with all that it says; BadInput where it has none."""
    if entry.truth is None:
        raise BadInput(f"{entry.name} has no truth; rebuild it with `assay build`")
    return proved_truth(entry.name, entry.onnx, entry.vnnlib, entry.truth, hashes)


def proved_truth(
    name: str, onnx: Path, vnnlib: Path, truth: Path, hashes: tuple[str, str] | None = None
) -> Truth:
    """One truth with all that it says; checked in this process if it has not been before.

    `hashes` are those of the network and the property, where they are known.
    """
    hashes = hashes or (network_sha256(onnx), file_sha256(vnnlib))
    read = _read(name, onnx, vnnlib, truth, hashes)
    if read.digests not in KeptVerdicts():
        _refuse_unverified(check_claim(read.claim))
    return read.truth


def _read(name: str, onnx: Path, vnnlib: Path, path: Path, hashes: tuple[str, str]) -> _Read:
    data, arrays = truth_bytes(path), path.with_suffix(".bin")
    truth = parse_truth(data, str(path))
    if (truth.onnx_sha256, truth.vnnlib_sha256) != hashes:
        raise BadInput(
            f"{path}: is about other bytes than the files of {name}; rebuild the "
            "benchmark, or remove this truth to ask the question without one"
        )
    beside = file_sha256(arrays) if arrays.exists() else ""
    digests = Digests(*hashes, sha256(data), beside)
    return _Read(truth, Claim(name, onnx, vnnlib, path, digests), digests)


def _refuse_unverified(checked: Checked) -> None:
    if checked.status != "verified":
        raise BadInput(
            f"{checked.truth}: the checker does not verify it ({checked.status}: "
            f"{checked.reason}); build the benchmark again, or remove this truth to ask the "
            "question without one"
        )


def _light(truth: Truth) -> Truth:
    """What scores need: a certificate may be megabytes, and there may be 10^5 of them."""
    known = isinstance(truth.certificate, dict)
    kind = str(truth.certificate.get("kind", "not named")) if known else "not named"
    return replace(truth, certificate={"kind": kind}, witness=None, parameters={}, facts={})
