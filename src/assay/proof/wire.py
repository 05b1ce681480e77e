"""The bytes of an ONNX file as protobuf writes them, each field in its one place.

Protobuf readers drop fields that they do not know and take the last one of two where one belongs.
So bytes can mean one network to one reader and another network to the next. Here every field must
be known, stand at most once where it is not repeated (of alternatives, one), have the form its type
has, and hold a known name of an enumeration. Numbers, in lists too, have their shortest form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from assay.proof.arithmetic import Rejected, Unsupported

_DEEPEST = 32
_LONGER = re.compile(rb"[\x80-\xff]\x00")
_VARINT, _WORD64, _BYTES, _WORD32 = 0, 1, 2, 5
_FORMS = {"double": _WORD64, "fixed64": _WORD64, "sfixed64": _WORD64}
_FORMS |= {"float": _WORD32, "fixed32": _WORD32, "sfixed32": _WORD32}
_FORMS |= {"string": _BYTES, "bytes": _BYTES, "message": _BYTES}


@dataclass(frozen=True)
class Field:
    """`group` is the name of the alternatives it belongs to, or its own."""

    name: str
    form: int
    repeated: bool
    group: str
    values: frozenset[int] | None
    message: Any


def check_fields(data: bytes, message: Any, *, most: int, longest: int) -> None:
    """Raise unless `data` is one `message`, a protobuf descriptor, without any ambiguity.

    `most` is the number of fields that are read in all, `longest` that of the bytes of a packed
    list of integers, each of which can become eight bytes in memory.
    """
    pending = [(message, 0, len(data), 0)]
    while pending:
        kind, start, end, depth = pending.pop()
        if depth > _DEEPEST:
            raise Unsupported("the ONNX file is nested too deeply")
        known, seen = _known_fields(kind), set[str]()
        for number, form, begin, stop in _fields(data, start, end, kind.name):
            most -= 1
            if most < 0:
                raise Unsupported("the ONNX file has more fields than are read")
            field = known.get(number)
            if field is None:
                raise Rejected(f"the ONNX file has an unknown field {number} in a {kind.name}")
            place = f"field {field.name!r} of a {kind.name} in the ONNX file"
            packed = form == _BYTES != field.form and field.repeated
            if form != field.form and not packed:
                raise Rejected(f"{place} has another form than its type")
            if packed and field.form == _VARINT and stop - begin > longest:
                raise Unsupported(f"{place} is a longer list than is read")
            if packed and field.form == _VARINT and _LONGER.search(data, begin, stop):
                raise Rejected(f"{place} has a number that is not in its shortest form")
            if not field.repeated and field.group in seen:
                raise Rejected(f"{place} stands there twice, or beside an alternative of it")
            if field.values is not None and begin not in field.values:
                raise Rejected(f"{place} has a value without a meaning")
            seen.add(field.group)
            if field.message is not None:
                pending.append((field.message, begin, stop, depth + 1))


@cache
def _known_fields(message: Any) -> dict[int, Field]:
    found = {}
    for field in message.fields:
        forms = {getattr(field, f"TYPE_{name.upper()}"): form for name, form in _FORMS.items()}
        choice, meanings = field.containing_oneof or field, field.enum_type
        older = not hasattr(field, "is_repeated")  # a protobuf from before that property
        found[field.number] = Field(
            field.name,
            forms.get(field.type, _VARINT),
            field.label == field.LABEL_REPEATED if older else field.is_repeated,
            choice.name,
            frozenset(meanings.values_by_number) if meanings else None,
            field.message_type,
        )
    return found


def _fields(data: bytes, at: int, end: int, name: str) -> Iterator[tuple[int, int, int, int]]:
    """Number and form of each field, and where it begins and ends; of a number, its value."""
    while at < end:
        tag, at = _varint(data, at, end, name)
        form, begin = tag & 7, at
        if form == _VARINT:
            begin, at = _varint(data, at, end, name)
        elif form == _BYTES:
            length, begin = _varint(data, at, end, name)
            at = begin + length
        elif form in (_WORD32, _WORD64):
            at += 4 if form == _WORD32 else 8
        else:
            raise Rejected(f"the ONNX file has a field of an unknown form in a {name}")
        if at > end:
            raise Rejected(f"the ONNX file ends inside a field of a {name}")
        yield tag >> 3, form, begin, at


def _varint(data: bytes, at: int, end: int, name: str) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= end:
            break
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if (byte == 0 and shift) or value >> 64:
                break
            return value, at
    raise Rejected(f"a number in a {name} of the ONNX file is cut off or not in its shortest form")
