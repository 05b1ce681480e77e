"""The question's text: a VNN-LIB 1.0 file with one input box and a disjunction on the outputs.

Anything beyond that shape (several input boxes, inequalities that mix inputs and outputs,
strict inequalities) is unsupported here: no certificate speaks of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, product
from typing import Any

from flint import fmpq

from assay.proof.arithmetic import Rejected, Unsupported, decimal, from_flint, to_flint
from assay.proof.work import charge, limbs

# printable ASCII, spaces, tabs and line ends LF or CR LF, in comments too: where some reader ends
# a line elsewhere (at a lone CR, a form feed, ...), a comment could hide an assertion from it
_TOKEN = re.compile(r"(?:[ \t\n]|\r\n)+|;[\t -~]*|([()]|[!-'*-:<-~]+)|(.)", re.DOTALL)
_VARIABLE = re.compile(r"[XY]_(?:0|[1-9]\d{0,8})", re.ASCII)
_MOST_BYTES = 1 << 25
_MOST_LITERALS, _MOST_TOKENS = 1 << 18, 1 << 22
_LONGEST_NUMBER = 1 << 14

Term = dict[str, Fraction]
"""A linear term: coefficients by variable, and the constant under the empty name."""


@dataclass(frozen=True)
class Inequality:
    """sum of coefficients[i] * Y_i <= bound."""

    coefficients: tuple[tuple[int, Fraction], ...]
    bound: Fraction

    def excess(self, outputs: list[fmpq]) -> fmpq:
        for i, _ in self.coefficients:
            charge(100 + limbs(int(outputs[i].q).bit_length()) ** 2)
        return sum((to_flint(c) * outputs[i] for i, c in self.coefficients), -to_flint(self.bound))


Disjunct = tuple[Inequality, ...]


@dataclass(frozen=True)
class Question:
    """Is there an x in the box whose outputs satisfy all inequalities of one disjunct?"""

    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]
    outputs: int
    disjuncts: tuple[Disjunct, ...]

    def margin(self, outputs: list[Fraction]) -> Fraction:
        """Positive exactly when no disjunct holds at these outputs (ties violate)."""
        exact = list(map(to_flint, outputs))
        return from_flint(self.least_of_largest(lambda inequality: inequality.excess(exact)))

    def least_of_largest(self, value: Callable[[Inequality], Any]) -> Any:
        """min over disjuncts of max over their inequalities, each of which is evaluated once."""
        values = {i: value(i) for disjunct in self.disjuncts for i in disjunct}
        # long numbers are compared to sort them, then their places
        order = {i: place for place, i in enumerate(sorted(values, key=values.__getitem__))}
        chosen = min((max(d, key=order.__getitem__) for d in self.disjuncts), key=order.__getitem__)
        return values[chosen]


def read(data: bytes) -> Question:
    declared: set[str] = set()
    lower: dict[str, Fraction] = {}
    upper: dict[str, Fraction] = {}
    facts: list[list[Disjunct]] = []
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
                    facts.append([(_inequality(term),)])
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
    return Question(box[0], box[1], len(outputs), tuple(_conjunction(facts)))


def _commands(data: bytes) -> Iterator[Any]:
    """The top-level expressions of the file, as nested lists of words."""
    if len(data) > _MOST_BYTES or not data.isascii():
        raise Unsupported("the VNN-LIB file is not ASCII text, or too long for the checker")
    opened: list[list[Any]] = []
    tokens = 0
    for match in _TOKEN.finditer(data.decode("ascii")):
        token: Any = match[1]
        tokens = tokens + 1 if opened else 0
        if tokens > _MOST_TOKENS:
            raise Unsupported("a command of the VNN-LIB file has more words than the checker reads")
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
            digits = 0 if known else len(expression) + 1000 * ("e" in expression.lower())
            charge(200 + digits + digits**2 // 500)
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
            charge(100 + limbs(value.denominator.bit_length()) ** 2)
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


def _disjuncts(formula: Any, declared: set[str]) -> list[Disjunct]:
    """The disjunctive normal form of a formula over the outputs."""
    match formula:
        case ["or", _, *_]:
            return list(dict.fromkeys(chain.from_iterable(_parts(formula[1:], declared))))
        case ["and", _, *_]:
            return _conjunction(_parts(formula[1:], declared))
    return [(_inequality(_difference(formula, declared)),)]


def _parts(formulas: list[Any], declared: set[str]) -> list[list[Disjunct]]:
    """The disjuncts of some formulas; formulas that say the same share them."""
    parts: list[list[Disjunct]] = []
    known: dict[tuple[Disjunct, ...], list[Disjunct]] = {}
    literals = 0
    for formula in formulas:
        found = _disjuncts(formula, declared)
        if tuple(found) in known:
            continue
        parts.append(known.setdefault(tuple(found), found))
        literals = _bounded(literals + sum(map(len, parts[-1])))
    return parts


def _bounded(literals: int) -> int:
    if literals > _MOST_LITERALS:
        raise Unsupported("the VNN-LIB file has more disjuncts than the checker expands")
    return literals


def _conjunction(parts: list[list[Disjunct]]) -> list[Disjunct]:
    count = 1
    for part in parts:
        count = min(count * len(part), _MOST_LITERALS + 1)
    literals = sum(sum(map(len, part)) * (count // len(part)) for part in parts)
    _bounded(max(count, literals))
    found = (tuple(dict.fromkeys(chain.from_iterable(choice))) for choice in product(*parts))
    return list(dict.fromkeys(found))
