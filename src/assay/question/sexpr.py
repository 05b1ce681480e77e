"""S-expressions with places and exact decimals: the lexical ground under VNN-LIB 1.0 and 2.0.

`Source.forms` yields the top-level forms one at a time, so that a file costs the memory of its
largest form. Every node keeps its offset in the text; `Source.error` turns it into a line and a
column, so the price of places is paid only when something is wrong. Nothing here recurses, and
every quantity a hostile file could blow up (size, depth, nodes, digits) has a stated limit.

Lines end in LF or CR LF. Commands consist of printable ASCII characters, spaces and tabs; comments
may hold other letters, but nothing at which some reader ends a line (a lone CR, a form feed, U+2028
and the like): the same comment would end elsewhere for it, and hide or show an assertion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

from assay.errors import BadInput

MAX_CHARACTERS = 64 * 1024 * 1024
MAX_DEPTH = 1_000
MAX_NODES = 2_000_000
"""Atoms and lists in one top-level form."""
MAX_DIGITS = 1_100
"""Digits before, and after, the point of a number written out; a double needs 309 and 1,074."""

# Possessive quantifiers (++, *+) keep matching linear: there is never anything to backtrack into.
_SPACE = r"(?:[ \t\n]|\r\n)"
_COMMENT = r";[^\x00-\x08\n-\x1f\x7f-\x9f\u2028\u2029]*+"
_TOKEN = re.compile(
    rf"(?:{_SPACE}|{_COMMENT})*+"
    r"(?:(\()|(\))"
    rf"|([!#-'*-:<-Z\\^-~]++)(?:{_SPACE}*+(\[(?:[!#-'*-:<-Z\\^-~]|{_SPACE})*+\]))?"
    rf"|(\"(?:[!#-\[\]-~]|{_SPACE}|\\[ -~])*+\")|(.)|\Z)",
    re.DOTALL,
)
_OPEN, _CLOSE, _STRAY = 1, 2, 6

_POWER: int = 10**MAX_DIGITS
_NUMBER = re.compile(r"[+-]?(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?[0-9]+))?")

Value = TypeVar("Value")


@dataclass(slots=True)
class Atom:
    """A symbol, number or string; `suffix` is the bracket after it, as in X[0,1], or empty."""

    text: str
    suffix: str
    offset: int

    def __str__(self) -> str:
        return shown(self.text + self.suffix)


@dataclass(slots=True)
class Form:
    """A parenthesised list; its offset is that of the opening parenthesis."""

    offset: int
    items: list[Atom | Form] = field(default_factory=list)

    @property
    def head(self) -> str:
        """The symbol that says what the form is, or an empty text when there is none."""
        first = self.items[0] if self.items else None
        return first.text if isinstance(first, Atom) and not first.suffix else ""


def shown(text: str) -> str:
    """`text` as a short quotation on one line, for an error message."""
    return ascii(text if len(text) <= 40 else text[:40] + "...")


def _unread(stray: str) -> str:
    """Why a character cannot be read where it stands."""
    if " " <= stray <= "~":
        return (
            f"{shown(stray)} does not belong here: a bracket follows a name, and brackets and "
            "strings are closed; complete or remove it."
        )
    return (
        f"{shown(stray)} is not plain text: lines end in LF or CR LF, and outside of comments only "
        "printable ASCII is read; remove it."
    )


@dataclass(frozen=True)
class Source:
    """A text and the name of the place it came from."""

    text: str
    place: str

    def error(self, offset: int, sentence: str) -> BadInput:
        line = self.text.count("\n", 0, offset) + 1
        column = offset - self.text.rfind("\n", 0, offset)
        return BadInput(f"{self.place}:{line}:{column}: {sentence}")

    def forms(self) -> Iterator[Form]:
        """The top-level parenthesised forms, in order."""
        text = self.text
        if len(text) > MAX_CHARACTERS:
            raise BadInput(
                f"{self.place}:1: the text has {len(text)} characters, more than the "
                f"{MAX_CHARACTERS} that are read; split the file."
            )
        nodes = 0
        opened: list[Form] = []
        for match in _TOKEN.finditer(text, 1 if text.startswith("\ufeff") else 0):
            kind = match.lastindex
            if kind is None:
                break
            if kind == _CLOSE:
                if not opened:
                    raise self.error(match.start(kind), "this ')' closes nothing; remove it.")
                form = opened.pop()
                if not opened:
                    yield form
                    nodes = 0
                continue
            if kind == _STRAY:
                raise self.error(match.start(kind), _unread(match[kind]))
            nodes += 1
            if nodes > MAX_NODES:
                raise self.error(
                    opened[0].offset,
                    f"this form has more than {MAX_NODES} symbols and lists; split it.",
                )
            if kind == _OPEN:
                form = Form(match.start(kind))
                if opened:
                    opened[-1].items.append(form)
                opened.append(form)
                if len(opened) > MAX_DEPTH:
                    raise self.error(
                        form.offset, f"nested deeper than {MAX_DEPTH} parentheses; flatten it."
                    )
                continue
            word, suffix, string = match.group(3, 4, 5)
            atom = Atom(word or string, suffix or "", match.start(3 if word else 5))
            if not opened:
                raise self.error(
                    atom.offset, f"{atom} stands outside of any parentheses; remove it."
                )
            opened[-1].items.append(atom)
        if opened:
            raise self.error(opened[0].offset, "this '(' is never closed; add the missing ')'.")

    def number(self, atom: Atom) -> Fraction:
        """The exact value of a decimal such as -3, .5, 5. or 1e-05."""
        match = _NUMBER.fullmatch(atom.text)
        if match is None or atom.suffix:
            raise self.error(atom.offset, f"{atom} is not a decimal number; correct it.")
        whole, decimals, bare_decimals, exponent_text = match.groups(default="")
        exponent = 0
        fits = len(atom.text) <= 3 * MAX_DIGITS and len(exponent_text) <= 6
        if fits and exponent_text:
            exponent = int(exponent_text)
        before = len(whole) + max(exponent, 0)
        after = len(decimals or bare_decimals) - min(exponent, 0)
        if not fits or before > MAX_DIGITS or after > MAX_DIGITS:
            raise self.error(
                atom.offset,
                f"{atom} has more than {MAX_DIGITS} digits before or after its point when "
                "written out; use a number of ordinary size.",
            )
        return Fraction(atom.text)


def fold(
    root: Form, leaf: Callable[[Atom], Value], combine: Callable[[Form, list[Value]], Value]
) -> Value:
    """The value of a tree, children before parents; the head of a form is not a child."""
    pending: list[tuple[Form, Iterator[Atom | Form], list[Value]]] = []
    pending.append((root, iter(root.items[1:]), []))
    while True:
        form, children, values = pending[-1]
        for child in children:
            if isinstance(child, Form):
                pending.append((child, iter(child.items[1:]), []))
                break
            values.append(leaf(child))
        else:
            pending.pop()
            value = combine(form, values)
            if not pending:
                return value
            pending[-1][2].append(value)


def is_decimal(value: Fraction) -> bool:
    """Whether `value` is a finite decimal of at most MAX_DIGITS digits on each side."""
    numerator, denominator = value.numerator, value.denominator
    if denominator.bit_length() <= MAX_DIGITS and denominator & (denominator - 1) == 0:
        return abs(numerator) < _POWER * denominator
    return _POWER % denominator == 0 and abs(numerator) < _POWER * denominator


def decimal(value: Fraction) -> str:
    """`value` in exact decimal digits with a point and no exponent."""
    if not is_decimal(value):
        size = max(value.numerator.bit_length(), value.denominator.bit_length())
        named = str(value) if size < 100 else "a number"
        raise BadInput(
            f"{named} has no exact decimal expansion of at most {MAX_DIGITS} digits; use a value "
            "whose denominator has only the factors 2 and 5."
        )
    twos = (value.denominator & -value.denominator).bit_length() - 1
    rest, fives = value.denominator >> twos, 0
    while rest > 1:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives, 1)
    scaled = abs(value.numerator) * (10**places // value.denominator)
    digits = str(scaled).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"
