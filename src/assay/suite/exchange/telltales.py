"""What in the published bytes could tell the answer: free text, and limits of time.

A sealed question keeps its bytes, because its truth is bound to them. So a comment in VNN-LIB, a
doc string or metadata in ONNX, or a timeout that only goes with one of the two answers, cannot be
taken out; it can only be pointed at. Names inside of a network differ with its architecture, so
they are suspected only when they hold a word that an answer would be called by.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import onnx
from google.protobuf.message import DecodeError

from assay.errors import BadInput
from assay.question.sexpr import shown

_COMMENT = re.compile(r";[^\r\n]*")
_WORDS = re.compile(
    r"(?<![a-z])(robust|violat\w*|unsat|sat|safe|unsafe|twin|witness|counterexample|hold|holds|"
    r"verified|falsified|true|false)(?![a-z])",
    re.IGNORECASE,
)
_FREE = ("doc_string", "metadata_props", "comment", "timeout")


@dataclass(frozen=True)
class Published:
    """What everybody will see of an instance, and the answer that nobody should."""

    name: str
    answer: str
    onnx: bytes
    vnnlib: bytes
    timeout: float


@dataclass(frozen=True)
class Telltale:
    """A text that only goes with one answer."""

    name: str
    kind: str
    text: str
    answer: str

    def sentence(self) -> str:
        return (
            f"{self.name}: its {self.kind.replace('_', ' ')} {shown(self.text)} goes only with "
            f"instances that are {self.answer}"
        )


def telltales(instances: Iterable[Published]) -> list[Telltale]:
    """Every text in the files that tells the answer, at its first place."""
    places: dict[tuple[str, str], tuple[str, set[str]]] = {}
    for instance in instances:
        for piece in set(_pieces(instance)):
            places.setdefault(piece, (instance.name, set()))[1].add(instance.answer)
    both = len({answer for _, answers in places.values() for answer in answers}) > 1
    return [
        Telltale(name, kind, text, *answers)
        for (kind, text), (name, answers) in sorted(places.items())
        if len(answers) == 1 and (_WORDS.search(text) or (both and kind in _FREE))
    ]


def _pieces(instance: Published) -> Iterator[tuple[str, str]]:
    yield "timeout", f"{instance.timeout:g}"
    for match in _COMMENT.finditer(instance.vnnlib.decode("utf-8", "replace")):
        yield "comment", match[0]
    try:
        model = onnx.ModelProto.FromString(instance.onnx)
    except DecodeError:
        raise BadInput(f"{instance.name}: its network is no ONNX file; rebuild it") from None
    yield from _strings(model, "")


def _strings(message: Any, within: str) -> Iterator[tuple[str, str]]:
    """All texts in a protobuf message, with the field they belong to."""
    for field, value in message.ListFields():
        kind = field.name if within not in _FREE else within
        for item in value if _repeats(value) else (value,):
            if isinstance(item, str):
                yield kind, item
            elif isinstance(item, bytes):
                if field.name != "raw_data":
                    yield kind, item.decode("utf-8", "replace")
            elif hasattr(item, "ListFields"):
                yield from _strings(item, kind)
            else:
                break  # a list of numbers


def _repeats(value: object) -> bool:
    return not isinstance(value, (str, bytes)) and hasattr(value, "__len__")
