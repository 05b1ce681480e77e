"""One question on disk in the versions asked for, each read back and compared exactly."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError, BadInput
from assay.question.network import load_file
from assay.question.vnnlib2 import read_any
from assay.suite.exchange.copying import pack, packed_name
from assay.suite.exchange.rewriting import question_text, rewritten, version_of
from assay.truth.instance import sha256


@dataclass(frozen=True)
class Question:
    """A VNN-LIB file, the networks it is about, and where each version of it goes."""

    vnnlib: Path
    onnx: tuple[Path, ...]
    targets: tuple[tuple[str, Path], ...]
    packed: bool


@dataclass(frozen=True)
class Written:
    """A question on disk: its version, the hash of its text, and whether that is a new text."""

    version: str
    sha256: str
    is_new: bool


def write_question(question: Question) -> tuple[Written, ...]:
    """Write a question in each version (in a worker)."""
    text = question_text(question.vnnlib)
    found = version_of(text, str(question.vnnlib))
    written = []
    for version, target in question.targets:
        new = text if version == found else _in_version(question, text, found, version)
        try:
            target.write_bytes(new.encode())
            if question.packed:
                pack(target)
        except OSError as error:
            raise BadInput(
                f"cannot write {target.name}: {error.strerror}; make room or choose another "
                "folder, and run the same command again"
            ) from None
        _compare(question, target, text, new)
        written.append(Written(version, sha256(new.encode()), version != found))
    return tuple(written)


def _in_version(question: Question, text: str, found: str, version: str) -> str:
    try:
        networks = [load_file(path) for path in question.onnx]
        shapes = {(network.input_shape, network.output_shape) for network in networks}
        if len(shapes) > 1:
            raise BadInput(f"{question.vnnlib}: its networks have tensors of different shapes")
        return rewritten(text, str(question.vnnlib), version, *shapes.pop())
    except AssayError as error:
        raise BadInput(
            f"{question.vnnlib} cannot be written in VNN-LIB {version} ({error}); export it with "
            f"--version {found} only"
        ) from None


def _compare(question: Question, target: Path, text: str, new: str) -> None:
    """Refuse anything on disk that is not exactly the question it came from."""
    try:
        data = packed_name(target).read_bytes() if question.packed else target.read_bytes()
        back = (gzip.decompress(data) if question.packed else data).decode()
    except (OSError, EOFError, ValueError):
        back = ""
    if back != new:
        raise BadInput(f"{target}: the disk gave back other bytes; choose another disk")
    if back is not text and back != text:
        place = str(question.vnnlib)
        if read_any(back, place) != read_any(text, place):
            raise BadInput(
                f"{place}: does not mean exactly the same when it is written anew; please report "
                "this file, and export it with its own version only"
            )
