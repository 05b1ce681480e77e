"""VNN-LIB 2.0: text to `Specification` and back, exactly; and `read_any` for either version.

Version 2 declares tensors, (declare-input X float32 [1,3]), and names their elements, X[0,1];
its conditions are those of version 1 and mean the same here, so this file only knows the
declarations. Elements are numbered in C order. Read are the queries that Assay's questions are
made of: one network with one input and one output of a floating-point type or `real`. The other
things that the standard can say (several networks, several inputs or outputs, hidden nodes,
initialized inputs) are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from assay.errors import BadInput
from assay.question import vnnlib
from assay.question.assertions import Assertions
from assay.question.property import Specification, Violation
from assay.question.region import Box
from assay.question.sexpr import Atom, Form, Source, shown
from assay.question.vnnlib import assertion_lines, comment_lines

MAX_ELEMENTS = 2_000_000
MAX_RANK = 16

_ELEMENT_TYPES = ("float32", "float64", "float16", "bfloat16", "real", "Real")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_VERSION = re.compile(r"<([0-9]{1,4})\.([0-9]{1,4})>")
_WHOLE = re.compile(r"[ \t\r\n]*(0|[1-9][0-9]{0,8})[ \t\r\n]*")

_UNSUPPORTED = {
    "equal-to": "a network declared equal to another",
    "isomorphic-to": "a network declared isomorphic to another",
    "declare-hidden": "a hidden node",
}


@dataclass(frozen=True)
class _Tensor:
    name: str
    shape: tuple[int, ...]
    offset: int

    @property
    def size(self) -> int:
        return prod(self.shape)

    def flat(self, indices: Sequence[int]) -> int | None:
        """The C-order number of an element, or None if there is no such element."""
        if len(indices) != len(self.shape):
            return None
        number = 0
        for index, extent in zip(indices, self.shape, strict=True):
            if index >= extent:
                return None
            number = number * extent + index
        return number

    def element(self, number: int) -> str:
        """The name of the element with this C-order number."""
        indices: list[str] = []
        for extent in reversed(self.shape):
            number, index = divmod(number, extent)
            indices.append(str(index))
        return f"{self.name}[{','.join(reversed(indices))}]" if indices else self.name


@dataclass
class _Network:
    """The one declared network, as the variables of the assertions."""

    source: Source
    name: str
    input: _Tensor
    output: _Tensor
    _keys: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def inputs(self) -> int:
        return self.input.size

    @property
    def outputs(self) -> int:
        return self.output.size

    def declared_at(self, index: int) -> int:  # noqa: ARG002 - one declaration holds all inputs
        return self.input.offset

    def find(self, atom: Atom) -> int | None:
        known = self._keys.get((atom.text, atom.suffix))
        if known is not None:
            return known
        if atom.text not in (self.input.name, self.output.name):
            return None
        tensor = self.input if atom.text == self.input.name else self.output
        number = tensor.flat(_whole_numbers(self.source, atom) if atom.suffix else ())
        if number is None:
            raise self.source.error(
                atom.offset,
                f"{atom} is not an element of {tensor.name}, whose shape is "
                f"{_bracketed(tensor.shape)}; correct the indices.",
            )
        key = number if tensor is self.input else ~number
        self._keys[atom.text, atom.suffix] = key
        return key


def read(text: str, place: str) -> Specification:
    """Read VNN-LIB 2.0 text; errors name `place` and the line."""
    source = Source(text, place)
    forms = source.forms()
    _check_version(source, next(forms, None))
    network = _network(source, next(forms, None))
    assertions = Assertions(source, network)
    for form in forms:
        if form.head == "assert":
            assertions.add(form)
        elif form.head == "declare-network":
            raise source.error(
                form.offset, "a second network is not supported; ask about one network."
            )
        else:
            raise source.error(
                form.offset,
                f"{shown(form.head)} is not expected here; only assertions follow the network.",
            )
    return assertions.specification()


def read_any(text: str, place: str) -> Specification:
    """Read VNN-LIB text of either version, told apart by the first command."""
    first = next(Source(text, place).forms(), None)
    is_second = first is not None and first.head in ("vnnlib-version", "declare-network")
    return (read if is_second else vnnlib.read)(text, place)


def write(
    box: Box,
    violation: Violation,
    *,
    input_shape: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None,
    element_type: str = "float32",
    comment: str = "",
) -> str:
    """VNN-LIB 2.0 text that reads back as exactly this case; shapes default to [1,n]."""
    if element_type not in _ELEMENT_TYPES:
        raise BadInput(
            f"{shown(element_type)} is not an element type; use {', '.join(_ELEMENT_TYPES)}."
        )
    x = _tensor_to_write("X", input_shape, box.dimension)
    y = _tensor_to_write("Y", output_shape, violation.outputs)
    lines = [
        *comment_lines(comment),
        "(vnnlib-version <2.0>)",
        "",
        "(declare-network N",
        f"    (declare-input X {element_type} {_bracketed(x.shape)})",
        f"    (declare-output Y {element_type} {_bracketed(y.shape)})",
        ")",
        "",
        *assertion_lines(box, violation, x.element, y.element),
    ]
    return "\n".join(lines) + "\n"


def _tensor_to_write(name: str, shape: Sequence[int] | None, size: int) -> _Tensor:
    tensor = _Tensor(name, (1, size) if shape is None else tuple(shape), 0)
    if tensor.size != size or any(extent < 1 for extent in tensor.shape):
        raise BadInput(
            f"shape {_bracketed(tensor.shape)} does not hold the {size} elements of {name}; "
            "give the shape of the network's tensor."
        )
    return tensor


def _check_version(source: Source, form: Form | None) -> None:
    missing = "a VNN-LIB 2 file begins with (vnnlib-version <2.0>); write it so."
    if form is None or form.head != "vnnlib-version" or len(form.items) != 2:
        raise source.error(form.offset if form else 0, missing)
    written = form.items[1]
    version = (
        _VERSION.fullmatch(written.text + written.suffix) if isinstance(written, Atom) else None
    )
    if version is None:
        raise source.error(form.offset, missing)
    if int(version[1]) != 2:
        raise source.error(
            form.offset, f"version {version[1]}.{version[2]} is not known; write version <2.0>."
        )


def _network(source: Source, form: Form | None) -> _Network:
    if form is None or form.head != "declare-network":
        raise source.error(
            form.offset if form else len(source.text),
            "the version is followed by (declare-network NAME (declare-input ...) "
            "(declare-output ...)); add it.",
        )
    name = form.items[1] if len(form.items) > 1 else None
    if not isinstance(name, Atom) or name.suffix or not _NAME.fullmatch(name.text):
        raise source.error(
            form.offset, "a network's name consists of letters, digits and _; give it one."
        )
    found: dict[str, _Tensor] = {}
    for part in form.items[2:]:
        kind = part.head if isinstance(part, Form) else ""
        if kind in _UNSUPPORTED:
            raise source.error(
                part.offset, f"{_UNSUPPORTED[kind]} is not supported; ask without it."
            )
        if not isinstance(part, Form) or kind not in ("declare-input", "declare-output"):
            raise source.error(
                part.offset, "a network holds only declare-input and declare-output; remove this."
            )
        if kind in found:
            raise source.error(
                part.offset, f"a second {kind} is not supported; ask about one input and output."
            )
        found[kind] = _tensor(source, part)
    if len(found) < 2:
        raise source.error(form.offset, "a network needs one declare-input and one declare-output.")
    network = _Network(source, name.text, found["declare-input"], found["declare-output"])
    if len({network.name, network.input.name, network.output.name}) < 3:
        raise source.error(
            form.offset, "the network, its input and its output need three different names."
        )
    return network


def _tensor(source: Source, form: Form) -> _Tensor:
    """Read (declare-input NAME TYPE [shape]); the shape is the suffix of the type."""
    atoms = [item for item in form.items[1:] if isinstance(item, Atom)]
    if len(atoms) == 3 and atoms[2].text == "initialized":
        raise source.error(
            form.offset, "an initialized input is not supported; bound its elements instead."
        )
    if (
        len(atoms) != 2
        or len(form.items) != 3
        or atoms[0].suffix
        or not _NAME.fullmatch(atoms[0].text)
        or not atoms[1].suffix
    ):
        raise source.error(
            form.offset, f"a tensor is declared as ({form.head} NAME TYPE [shape]); write it so."
        )
    if atoms[1].text not in _ELEMENT_TYPES:
        raise source.error(
            atoms[1].offset,
            f"elements of type {shown(atoms[1].text)} are not supported; use "
            f"{', '.join(_ELEMENT_TYPES)}.",
        )
    shape = _whole_numbers(source, atoms[1])
    if len(shape) > MAX_RANK or 0 in shape or prod(shape) > MAX_ELEMENTS:
        raise source.error(
            atoms[1].offset,
            f"a shape has at most {MAX_RANK} extents, none of them zero, and {MAX_ELEMENTS} "
            "elements; correct it.",
        )
    return _Tensor(atoms[0].text, shape, form.offset)


def _whole_numbers(source: Source, atom: Atom) -> tuple[int, ...]:
    """The numbers in the bracket after a name."""
    inside = atom.suffix[1:-1]
    if not inside.strip():
        return ()
    matches = [_WHOLE.fullmatch(piece) for piece in inside.split(",")]
    if len(matches) > MAX_RANK or None in matches:
        raise source.error(
            atom.offset,
            f"the bracket of {atom} holds up to {MAX_RANK} whole numbers between commas; "
            "correct it.",
        )
    return tuple(int(match[1]) for match in matches if match)


def _bracketed(shape: Sequence[int]) -> str:
    return f"[{','.join(map(str, shape))}]"
