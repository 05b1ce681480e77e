"""VNN-LIB 1.0: text to `Specification` and back, exactly.

A file declares inputs X_0.. and outputs Y_0.. and asserts conditions on them; together they
describe the *violations* of a property. `assay.question.assertions` says how the assertions are
read, and what is refused. `assertion_lines` serves VNN-LIB 2.0 as well, which only names
variables differently.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain

from assay.errors import BadInput
from assay.question.assertions import Assertions
from assay.question.property import Inequality, Specification, Violation
from assay.question.region import Box
from assay.question.sexpr import Atom, Form, Source, decimal, shown

__all__ = ["assertion_lines", "comment_lines", "decimal", "read", "write"]

_ONE = Fraction(1)
_NAME = re.compile(r"([XY])_(0|[1-9][0-9]{0,8})")


@dataclass
class _Constants:
    """The constants that a 1.0 file declares, with the offsets of the declarations."""

    source: Source
    _offsets: dict[str, int] = field(default_factory=dict)
    _keys: dict[str, int] = field(default_factory=dict)
    inputs: int = 0
    outputs: int = 0

    def declare(self, form: Form) -> None:
        """Take one (declare-const NAME Real)."""
        words = [i.text for i in form.items if isinstance(i, Atom) and not i.suffix]
        name = _NAME.fullmatch(words[1]) if len(words) == len(form.items) == 3 else None
        if name is None or words[2] != "Real":
            raise self.source.error(
                form.offset,
                "a declaration reads (declare-const X_i Real) or (declare-const Y_i Real); "
                "write it so.",
            )
        if words[1] in self._offsets:
            raise self.source.error(form.offset, f"{words[1]} is declared twice; remove one.")
        self._offsets[words[1]] = form.offset
        index = int(name[2])
        is_input = name[1] == "X"
        self._keys[words[1]] = index if is_input else ~index
        self.inputs += is_input
        self.outputs += not is_input

    def find(self, atom: Atom) -> int | None:
        return None if atom.suffix else self._keys.get(atom.text)

    def declared_at(self, index: int) -> int:
        return self._offsets[f"X_{index}"]

    def check_complete(self) -> None:
        """Refuse gaps: the indices place the variables in the network's tensors."""
        for letter, kind, count in (("X", "input", self.inputs), ("Y", "output", self.outputs)):
            if not count:
                raise self.source.error(0, f"no {kind} {letter}_0 is declared; declare it.")
            for index in range(count):
                if f"{letter}_{index}" not in self._offsets:
                    raise self.source.error(
                        0,
                        f"{letter}_{index} is not declared although {count} {kind}s are; "
                        "number them from 0 without gaps.",
                    )


def read(text: str, place: str) -> Specification:
    """Read VNN-LIB 1.0 text; errors name `place` and the line."""
    source = Source(text, place)
    constants = _Constants(source)
    assertions = Assertions(source, constants)
    for form in source.forms():
        if form.head == "assert":
            assertions.add(form)
        elif form.head == "declare-const":
            constants.declare(form)
        else:
            raise source.error(
                form.offset,
                f"{shown(form.head)} is not a command of VNN-LIB 1.0 that is read; use "
                "declare-const and assert only.",
            )
    constants.check_complete()
    return assertions.specification()


def write(box: Box, violation: Violation, *, comment: str = "") -> str:
    """VNN-LIB 1.0 text that reads back as exactly this case."""
    names = [f"X_{i}" for i in range(box.dimension)] + [f"Y_{j}" for j in range(violation.outputs)]
    lines = [
        *comment_lines(comment),
        *(f"(declare-const {name} Real)" for name in names),
        "",
        *assertion_lines(box, violation, "X_{}".format, "Y_{}".format),
    ]
    return "\n".join(lines) + "\n"


def comment_lines(comment: str) -> list[str]:
    """A comment for the top of a file; what cannot be printed becomes a space."""
    printable = "".join(c if c.isprintable() or c in "\r\n\t" else " " for c in comment)
    return [f"; {line}".rstrip() for line in printable.splitlines()]


def assertion_lines(
    box: Box,
    violation: Violation,
    input_name: Callable[[int], str],
    output_name: Callable[[int], str],
) -> Iterable[str]:
    """The assertions of one case: the bounds of each input, then the violation."""
    _refuse_unwritable(box, violation)
    for i, (low, high) in enumerate(zip(box.lower, box.upper, strict=True)):
        yield f"(assert (>= {input_name(i)} {decimal(low)}))"
        yield f"(assert (<= {input_name(i)} {decimal(high)}))"
    yield ""
    written = [[_written(i, output_name) for i in d] for d in violation.disjuncts]
    if len(written) == 1:
        yield from (f"(assert {inequality})" for inequality in written[0])
    else:
        yield "(assert (or"
        yield from (f"    (and {' '.join(disjunct)})" for disjunct in written)
        yield "))"


def _written(inequality: Inequality, name: Callable[[int], str]) -> str:
    """One inequality in the plainest form, because many tools read nothing else."""
    coefficients = sorted(c for _, c in inequality.terms)
    by_coefficient = {c: name(i) for i, c in inequality.terms}
    if coefficients == [-1, 1] and inequality.bound == 0:
        return f"(>= {by_coefficient[-_ONE]} {by_coefficient[_ONE]})"
    if coefficients == [1]:
        return f"(<= {by_coefficient[_ONE]} {decimal(inequality.bound)})"
    if coefficients == [-1]:
        return f"(>= {by_coefficient[-_ONE]} {decimal(-inequality.bound)})"
    terms = [name(i) if c == 1 else f"(* {decimal(c)} {name(i)})" for i, c in inequality.terms]
    left = terms[0] if len(terms) == 1 else f"(+ {' '.join(terms)})"
    return f"(<= {left} {decimal(inequality.bound)})"


def _refuse_unwritable(box: Box, violation: Violation) -> None:
    if not box.dimension or not violation.outputs:
        raise BadInput("a VNN-LIB file needs at least one input and one output; add them.")
    if not violation.disjuncts or not all(violation.disjuncts):
        raise BadInput("a violation without any inequality cannot be written; state one.")
    for inequality in chain.from_iterable(violation.disjuncts):
        indices = [i for i, _ in inequality.terms]
        in_range = indices and indices[0] >= 0 and indices[-1] < violation.outputs
        nonzero = all(c for _, c in inequality.terms)
        if not in_range or indices != sorted(set(indices)) or not nonzero:
            raise BadInput(
                f"an inequality must have terms on outputs 0 to {violation.outputs - 1}, sorted, "
                "each once and with a coefficient other than zero; correct it."
            )
