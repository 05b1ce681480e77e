"""The question's text: a VNN-LIB 1.0 file with one input box and a disjunction on the outputs.

Anything beyond that shape (several input boxes, inequalities that mix inputs and outputs,
strict inequalities) is unsupported here: no certificate speaks of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, product
from typing import Any

from assay.proof.arithmetic import Rejected, Unsupported, decimal

# printable ASCII, spaces, tabs and line ends LF or CR LF, in comments too: where some reader ends
# a line elsewhere (at a lone CR, a form feed, ...), a comment could hide an assertion from it
_TOKEN = re.compile(r"(?:[ \t\n]|\r\n)+|;[\t -~]*|([()]|[!-'*-:<-~]+)|(.)", re.DOTALL)
_VARIABLE = re.compile(r"[XY]_(?:0|[1-9]\d{0,8})", re.ASCII)
_MOST_BYTES = 1 << 25
_MOST_LITERALS = 1_000_000
_LONGEST_NUMBER = 1 << 14

Term = dict[str, Fraction]
"""A linear term: coefficients by variable, and the constant under the empty name."""


@dataclass(frozen=True)
class Inequality:
    """sum of coefficients[i] * Y_i <= bound."""

    coefficients: tuple[tuple[int, Fraction], ...]
    bound: Fraction

    def excess(self, outputs: list[Fraction]) -> Fraction:
        return sum((c * outputs[i] for i, c in self.coefficients), start=-self.bound)


@dataclass(frozen=True)
class Question:
    """Is there an x in the box whose outputs satisfy all inequalities of one disjunct?"""

    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]
    outputs: int
    disjuncts: tuple[tuple[Inequality, ...], ...]

    def margin(self, outputs: list[Fraction]) -> Fraction:
        """Positive exactly when no disjunct holds at these outputs (ties violate)."""
        return min(max(i.excess(outputs) for i in disjunct) for disjunct in self.disjuncts)


def read(data: bytes) -> Question:
    declared: set[str] = set()
    lower: dict[str, Fraction] = {}
    upper: dict[str, Fraction] = {}
    facts: list[list[list[Inequality]]] = []
    literals = 0
    for command in _commands(data):
        match command:
            case ["declare-const", str(name), "Real"]:
                if name in declared or not _VARIABLE.fullmatch(name):
                    raise Rejected(f"{name[:40]!a} is declared twice or is not a variable")
                declared.add(name)
            case ["assert", ["<=" | ">=", _, _] as atom]:
                term = _difference(atom, declared)
                if any(name.startswith("X") for name in term):
                    _tighten(term, lower, upper)
                else:
                    facts.append([[_inequality(term)]])
            case ["assert", formula]:
                facts.append(_disjuncts(formula, declared))
                literals = _bounded(literals + sum(map(len, facts[-1])))
            case _:
                raise Unsupported(f"VNN-LIB command {str(command)[:60]} is not understood")
    inputs, outputs = (
        [f"{kind}_{i}" for i in range(sum(name[0] == kind for name in declared))] for kind in "XY"
    )
    if not inputs or not outputs or declared != {*inputs, *outputs}:
        raise Rejected("the VNN-LIB file does not declare X_0, X_1... and Y_0, Y_1... without gaps")
    for name in inputs:
        if name not in lower or name not in upper or lower[name] > upper[name]:
            raise Rejected(f"{name} has no interval in the VNN-LIB file")
    if not facts:
        raise Unsupported("the VNN-LIB file says nothing about the outputs")
    box = [tuple(side[name] for name in inputs) for side in (lower, upper)]
    return Question(box[0], box[1], len(outputs), tuple(map(tuple, _conjunction(facts))))


def _commands(data: bytes) -> Iterator[Any]:
    """The top-level expressions of the file, as nested lists of words."""
    if len(data) > _MOST_BYTES or not data.isascii():
        raise Unsupported("the VNN-LIB file is not ASCII text, or too long for the checker")
    opened: list[list[Any]] = []
    for match in _TOKEN.finditer(data.decode("ascii")):
        token: Any = match[1]
        if match[2]:
            raise Rejected(
                f"the VNN-LIB file holds {match[2]!a} at byte {match.start()}: only printable "
                "ASCII, spaces, tabs and line ends LF or CR LF are read"
            )
        if token == "(":
            if len(opened) == 50:
                raise Unsupported("the VNN-LIB file is nested too deeply")
            opened.append([])
            continue
        if token == ")":
            if not opened:
                raise Rejected("the VNN-LIB file closes a parenthesis that it did not open")
            token = opened.pop()
        if token is not None and opened:
            opened[-1].append(token)
        elif token is not None:
            yield token
    if opened:
        raise Rejected("the VNN-LIB file ends inside a parenthesis")


def _linear(expression: Any, declared: set[str]) -> Term:
    match expression:
        case str():
            known = expression in declared
            return {expression: Fraction(1)} if known else {"": decimal(expression)}
        case ["*", first, second]:
            left, right = _linear(first, declared), _linear(second, declared)
            if set(left) != {""}:
                left, right = right, left
            if set(left) == {""}:
                return {name: _product(left[""], value) for name, value in right.items()}
        case ["-", only]:
            return _sum({}, [_linear(only, declared)], -1)
        case ["+" | "-" as head, first, *rest]:
            others = [_linear(part, declared) for part in rest]
            return _sum(_linear(first, declared), others, 1 if head == "+" else -1)
    raise Unsupported(f"VNN-LIB term {str(expression)[:60]} is not linear")


def _product(left: Fraction, right: Fraction) -> Fraction:
    value = left * right
    if value.numerator.bit_length() + value.denominator.bit_length() > _LONGEST_NUMBER:
        raise Unsupported("a product in the VNN-LIB file has too many digits")
    return value


def _sum(total: Term, parts: list[Term], sign: int) -> Term:
    for part in parts:
        for name, value in part.items():
            total[name] = total.get(name, Fraction(0)) + sign * value
    return total


def _difference(atom: Any, declared: set[str]) -> Term:
    """left - right of `left <= right` (or of `right >= left`), which is to be at most zero."""
    match atom:
        case ["<=", left, right] | [">=", right, left]:
            total = _sum(_linear(left, declared), [_linear(right, declared)], -1)
            return {name: value for name, value in total.items() if value}
    raise Unsupported(f"VNN-LIB assertion {str(atom)[:60]} is not understood")


def _tighten(term: Term, lower: dict[str, Fraction], upper: dict[str, Fraction]) -> None:
    """Intersect the box with `term` <= 0, which speaks of an input."""
    constant = term.pop("", Fraction(0))
    if len(term) != 1:
        raise Unsupported("an input constraint of the VNN-LIB file is not an interval")
    ((name, factor),) = term.items()
    limit = -constant / factor
    if factor > 0:
        upper[name] = min(limit, upper.get(name, limit))
    else:
        lower[name] = max(limit, lower.get(name, limit))


def _inequality(term: Term) -> Inequality:
    """`term` <= 0 on outputs."""
    bound = -term.pop("", Fraction(0))
    if not term or any(name.startswith("X") for name in term):
        raise Unsupported("a constraint of the VNN-LIB file speaks of no output, or of inputs too")
    return Inequality(tuple(sorted((int(name[2:]), c) for name, c in term.items())), bound)


def _disjuncts(formula: Any, declared: set[str]) -> list[list[Inequality]]:
    """The disjunctive normal form of a formula over the outputs."""
    match formula:
        case ["or", _, *_]:
            return list(chain.from_iterable(_all_disjuncts(formula[1:], declared)))
        case ["and", _, *_]:
            return _conjunction(_all_disjuncts(formula[1:], declared))
    return [[_inequality(_difference(formula, declared))]]


def _all_disjuncts(formulas: list[Any], declared: set[str]) -> list[list[list[Inequality]]]:
    parts: list[list[list[Inequality]]] = []
    literals = 0
    for formula in formulas:
        parts.append(_disjuncts(formula, declared))
        literals = _bounded(literals + sum(map(len, parts[-1])))
    return parts


def _bounded(literals: int) -> int:
    if literals > _MOST_LITERALS:
        raise Unsupported("the VNN-LIB file has more disjuncts than the checker expands")
    return literals


def _conjunction(parts: list[list[list[Inequality]]]) -> list[list[Inequality]]:
    count = 1
    for part in parts:
        count = min(count * len(part), _MOST_LITERALS + 1)
    literals = sum(sum(map(len, part)) * (count // len(part)) for part in parts)
    _bounded(max(count, literals))
    return [list(chain.from_iterable(choice)) for choice in product(*parts)]
