"""The truth of an entry, held against the bytes that it says it is about."""

from __future__ import annotations

from assay.errors import BadInput
from assay.suite.folder import FolderEntry
from assay.truth.instance import sha256
from assay.truth.record import Truth

LARGEST_TRUTH = 256 * 1024 * 1024


def bound_truth(entry: FolderEntry) -> Truth:
    """Read the truth of `entry`; refuse one that is missing or about other bytes."""
    if entry.truth is None:
        raise BadInput(f"{entry.name} has no truth; rebuild it with `assay build`")
    place = str(entry.truth)
    try:
        with entry.truth.open("rb") as stream:
            data = stream.read(LARGEST_TRUTH + 1)
        hashes = [sha256(path.read_bytes()) for path in (entry.onnx, entry.vnnlib)]
    except OSError as error:
        raise BadInput(f"{error.filename}: cannot be read ({error.strerror}); restore it") from None
    if len(data) > LARGEST_TRUTH:
        raise BadInput(f"{place}: larger than {LARGEST_TRUTH} bytes; rebuild the benchmark")
    truth = read_truth(data, place)
    if hashes != [truth.onnx_sha256, truth.vnnlib_sha256]:
        raise BadInput(f"{place}: is about other bytes than those of {entry.name}; rebuild it")
    return truth


def read_truth(data: bytes, place: str) -> Truth:
    try:
        return Truth.from_json(data.decode("utf-8"), place)
    except (UnicodeDecodeError, RecursionError):
        raise BadInput(f"{place}: not a readable truth; rebuild the benchmark") from None
