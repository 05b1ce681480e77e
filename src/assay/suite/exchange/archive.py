"""The truths of a sealed benchmark in one file, and the commitment to it.

`truths.tar` holds `index.json` (the published files with their hashes, the names that the
instances had, what built them, and 256 random bits) and `truth/NAME.json`, `truth/NAME.bin`. Its
sha256 is published with the questions: without the random bits it cannot be told from a list of
hashes whether a guess of all answers is right.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import tarfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assay.errors import BadInput
from assay.store.file_hash import file_sha256

SCHEMA = 1
TRUTHS_FILE = "truths.tar"
COMMITMENT_FILE = "commitment.json"
INDEX = "index.json"
_LARGEST_JSON = 256 * 1024 * 1024
_CHUNK = 1 << 20
_PUBLISHED = re.compile(r"instances\.csv|(?:onnx/[a-z0-9]+\.onnx)|(?:vnnlib/[a-z0-9]+\.vnnlib)")
_KEPT = re.compile(r"index\.json|truth/[a-z0-9]+\.(?:json|bin)")
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Commitment:
    """What is published beside the questions: their hashes, and the hash of the truths."""

    schema: int
    assay: str
    instances: int
    truths_sha256: str
    files: dict[str, str]

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"


@dataclass(frozen=True)
class Index:
    """What the archive says about itself; `names` gives the old name of each published one."""

    schema: int
    nonce: str
    files: dict[str, str]
    names: dict[str, str]
    suite: dict[str, Any] | None


def write_archive(path: Path, index: Index, truths: Mapping[str, bytes | Path]) -> str:
    """Write the archive, readable by its owner only; return its sha256.

    `truths` gives the content of a file in `truth/`, or the file that has it.
    """
    path.touch(mode=0o600)
    head = json.dumps(asdict(index), indent=1, sort_keys=True).encode() + b"\n"
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        _add(archive, INDEX, head)
        for name in sorted(truths):
            _add(archive, f"truth/{name}", truths[name])
    return file_sha256(path, "check the file")


def unpack_archive(path: Path, folder: Path) -> Index:
    """Write the truths into `folder`, an empty one, and return the index."""
    index = b""
    try:
        with tarfile.open(path, "r:") as archive:
            for member in archive:
                plain = member.isreg() and not member.issparse() and _KEPT.fullmatch(member.name)
                stream = archive.extractfile(member) if plain else None
                target = folder / Path(member.name).name
                if stream is None or target.exists():
                    raise BadInput(f"{path}: holds {member.name[:80]!r}; give the sealed truths")
                if member.name == INDEX:
                    index = stream.read(_LARGEST_JSON + 1)
                else:
                    with target.open("xb") as output:
                        shutil.copyfileobj(stream, output, _CHUNK)
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise BadInput(
            f"{path}: not a readable archive ({error}); give the sealed truths"
        ) from None
    place = f"{path}, {INDEX}"
    found = Index(**_checked(Index, index, place))
    if not isinstance(found.names, dict) or not isinstance(found.suite, dict | None):
        raise BadInput(f"{place}: a value has the wrong type; give the sealed truths")
    return found


def _add(archive: tarfile.TarFile, name: str, content: bytes | Path) -> None:
    """Add a file that tells no more than its name and content."""
    member = tarfile.TarInfo(name)
    member.mode = 0o600
    with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as stream:
        member.size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        archive.addfile(member, stream)


def read_commitment(path: Path) -> Commitment:
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST_JSON + 1)
    except OSError as error:
        raise BadInput(
            f"{path}: cannot be read ({error.strerror}); give a folder of sealed questions"
        ) from None
    commitment = Commitment(**_checked(Commitment, data, str(path)))
    if not _HASH.fullmatch(str(commitment.truths_sha256)):
        raise BadInput(f"{path}: its truths_sha256 is no sha256; get the questions again")
    return commitment


def _checked(kind: type[Commitment | Index], data: bytes, place: str) -> dict[str, Any]:
    """The values of a JSON object, which must be exactly the known ones."""
    try:
        document = json.loads(data) if len(data) <= _LARGEST_JSON else None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise BadInput(f"{place}: not a readable JSON object; get the file again")
    if set(document) != set(kind.__dataclass_fields__) or document["schema"] != SCHEMA:
        raise BadInput(f"{place}: not written by this version of Assay; use the one that sealed it")
    files = document["files"]
    good = isinstance(files, dict) and all(
        _PUBLISHED.fullmatch(name) and _HASH.fullmatch(str(digest))
        for name, digest in files.items()
    )
    if not good:
        raise BadInput(f"{place}: its list of files is broken; get the file again")
    return document
