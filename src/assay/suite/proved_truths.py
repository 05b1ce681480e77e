"""The truths of a benchmark, as the checker verifies them: the only way to one that is on disk.

A label decides who is called unsound, so no command takes a file's word for it. The bytes that are
read are hashed; the checker's verdict about those digests was kept (`kept_verdicts`) or is made
now; a truth that is not verified stops the command. Of a network that has a truth the file's own
bytes are hashed, as the checker reads them: it verifies no network whose weights lie elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from assay.engine.processes import Jobs
from assay.engine.work import Watcher
from assay.errors import BadInput
from assay.question.model_file import network_sha256, weights_beside
from assay.store.file_hash import file_sha256
from assay.store.kept_verdicts import Digests, KeptVerdicts
from assay.suite.checking import Checked, Claim, check, check_claim
from assay.suite.folder import BenchmarkFolder, FolderEntry
from assay.truth.instance import sha256
from assay.truth.record import Truth, parse_truth, truth_bytes

Hashes = Mapping[str, tuple[str, str]]
"""The sha256 of both files of each instance, by its name: network, then property."""
_WITHOUT = "rebuild the benchmark, or remove this truth to ask the question without one"


@dataclass(frozen=True)
class _Read:
    """A truth and the digests of the very bytes that it was read from."""

    truth: Truth
    claim: Claim
    digests: Digests


def question_hashes(folder: BenchmarkFolder) -> Hashes:
    """Hash all files of the questions; one that several instances share is read once."""
    of_file, of_network = cache(file_sha256), cache(network_sha256)
    return {
        entry.name: (
            (of_network if entry.truth is None else of_file)(entry.onnx),
            of_file(entry.vnnlib),
        )
        for entry in folder.entries
    }


def proved_truths(
    folder: BenchmarkFolder,
    hashes: Hashes | None = None,
    watcher: Watcher | None = None,
    jobs: Jobs = 0,
    remedy: str = _WITHOUT,
) -> dict[str, Truth]:
    """The truths of the instances that have one, without their bulk, all verified.

    The watcher hears only of those that have to be checked now. `remedy` ends the sentence about
    one that is not verified.
    """
    hashes = question_hashes(folder) if hashes is None else hashes
    kept = KeptVerdicts()
    truths: dict[str, Truth] = {}
    waiting: list[Claim] = []
    for entry in folder.entries:
        if entry.truth is None:
            continue
        files = entry.onnx, entry.vnnlib, entry.truth
        read = _read(entry.name, *files, hashes[entry.name], remedy)
        truths[entry.name] = _light(read.truth)
        if read.digests not in kept:
            waiting.append(read.claim)
    if waiting:
        for checked in check(waiting, jobs, watcher):
            _refuse_unverified(checked, remedy)
    return truths


def entry_truth(entry: FolderEntry, hashes: tuple[str, str] | None = None) -> Truth:
    """The truth of an instance, with all that it says; BadInput where it has none."""
    return proved_truth(entry.name, entry.onnx, entry.vnnlib, _truth_file(entry), hashes)


def truth_and_arrays(entry: FolderEntry) -> tuple[Truth, str]:
    """The same, and the sha256 of the arrays that it was verified with; empty without any."""
    read = _verified(entry.name, entry.onnx, entry.vnnlib, _truth_file(entry), None)
    return read.truth, read.digests.arrays


def proved_truth(
    name: str, onnx: Path, vnnlib: Path, truth: Path, hashes: tuple[str, str] | None = None
) -> Truth:
    """One truth with all that it says; checked in this process if it has not been before.

    `hashes` are those of the network's file and the property, where they are known.
    """
    return _verified(name, onnx, vnnlib, truth, hashes).truth


def _truth_file(entry: FolderEntry) -> Path:
    if entry.truth is None:
        raise BadInput(f"{entry.name} has no truth; rebuild it with `assay build`")
    return entry.truth


def _verified(
    name: str, onnx: Path, vnnlib: Path, truth: Path, hashes: tuple[str, str] | None
) -> _Read:
    hashes = hashes or (file_sha256(onnx), file_sha256(vnnlib))
    read = _read(name, onnx, vnnlib, truth, hashes, _WITHOUT)
    kept = KeptVerdicts()
    if read.digests not in kept:
        _refuse_unverified(check_claim(read.claim), _WITHOUT)
        kept.add(read.digests)
    return read


def _read(
    name: str, onnx: Path, vnnlib: Path, path: Path, hashes: tuple[str, str], remedy: str
) -> _Read:
    data, arrays = truth_bytes(path), path.with_suffix(".bin")
    truth = parse_truth(data, str(path))
    if (truth.onnx_sha256, truth.vnnlib_sha256) != hashes:
        if weights_beside(onnx):
            raise BadInput(
                f"{onnx}: its weights lie in other files, and the checker verifies truths about "
                "single files only; save the model as a single file, or ask without truths about "
                "the copy that `assay import` makes"
            )
        raise BadInput(f"{path}: is about other bytes than the files of {name}; {remedy}")
    beside = file_sha256(arrays) if arrays.exists() else ""
    digests = Digests(*hashes, sha256(data), beside)
    return _Read(truth, Claim(name, onnx, vnnlib, path, digests), digests)


def _refuse_unverified(checked: Checked, remedy: str) -> None:
    if checked.status != "verified":
        raise BadInput(
            f"{checked.truth}: the checker does not verify it ({checked.status}: "
            f"{checked.reason}); {remedy}"
        )


def _light(truth: Truth) -> Truth:
    """What scores need: a certificate may be megabytes, and there may be 10^5 of them."""
    known = isinstance(truth.certificate, dict)
    kind = str(truth.certificate.get("kind", "not named")) if known else "not named"
    return replace(truth, certificate={"kind": kind}, witness=None, parameters={}, facts={})
