"""The question's text: a VNN-LIB 1.0 file with one input box and a disjunction on the outputs.

Anything beyond that shape (several input boxes, inequalities that mix inputs and outputs,
strict inequalities) is unsupported here: no certificate speaks of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from assay.proof.arithmetic import Rejected, Unsupported, decimal

_TOKEN = re.compile(r"\s+|;[^\n]*|([()]|[^\s();]+)")
_VARIABLE = re.compile(r"([XY])_(0|[1-9]\d{0,8})", re.ASCII)
_MOST_BYTES = 1 << 28

Term = dict[tuple[str, int] | None, Fraction]


@dataclass(frozen=True)
class Inequality:
    """sum of coefficients[i] * Y_i <= bound."""

    coefficients: tuple[tuple[int, Fraction], ...]
    bound: Fraction


@dataclass(frozen=True)
class Question:
    """Is there an x in the box whose outputs satisfy all inequalities of one disjunct?"""

    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]
    outputs: int
    disjuncts: tuple[tuple[Inequality, ...], ...]

    def margin(self, outputs: list[Fraction]) -> Fraction:
        """Positive exactly when no disjunct holds at these outputs (ties violate)."""
        return min(
            max(
                sum((c * outputs[i] for i, c in inequality.coefficients), start=Fraction(0))
                - inequality.bound
                for inequality in disjunct
            )
            for disjunct in self.disjuncts
        )


def read(data: bytes) -> Question:
    if len(data) > _MOST_BYTES:
        raise Unsupported("the VNN-LIB file is larger than the checker reads")
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError:
        raise Rejected("the VNN-LIB file is not ASCII text") from None
    declared: set[tuple[str, int]] = set()
    lower: dict[int, Fraction] = {}
    upper: dict[int, Fraction] = {}
    facts: list[list[list[Inequality]]] = []
    for command in _lists(text):
        if command[:1] == ["declare-const"] and len(command) == 3 and command[2] == "Real":
            name = _variable(command[1])
            if name in declared:
                raise Rejected(f"{command[1]} is declared twice in the VNN-LIB file")
            declared.add(name)
        elif command[:1] == ["assert"] and len(command) == 2:
            bound = _input_bound(command[1], declared)
            if bound is None:
                facts.append(_disjuncts(command[1], declared))
            else:
                index, low, high = bound
                if low is not None:
                    lower[index] = max(low, lower.get(index, low))
                if high is not None:
                    upper[index] = min(high, upper.get(index, high))
        else:
            raise Unsupported(f"VNN-LIB command {str(command)[:60]} is not understood")
    inputs = sum(kind == "X" for kind, _ in declared)
    outputs = len(declared) - inputs
    for kind, count in (("X", inputs), ("Y", outputs)):
        if count == 0 or any((kind, i) not in declared for i in range(count)):
            raise Rejected(f"the {kind} variables of the VNN-LIB file are not numbered 0, 1, 2, …")
    for i in range(inputs):
        if i not in lower or i not in upper or lower[i] > upper[i]:
            raise Rejected(f"X_{i} has no interval in the VNN-LIB file")
    box = [tuple(side[i] for i in range(inputs)) for side in (lower, upper)]
    if not facts:
        raise Unsupported("the VNN-LIB file says nothing about the outputs")
    combined: list[list[Inequality]] = [[]]
    for alternatives in facts:
        if len(combined) * len(alternatives) > 100_000:
            raise Unsupported("the VNN-LIB file has more disjuncts than the checker expands")
        combined = [left + right for left in combined for right in alternatives]
    return Question(box[0], box[1], outputs, tuple(tuple(disjunct) for disjunct in combined))


def _lists(text: str) -> list[Any]:
    """The nested lists of an s-expression file."""
    top: list[Any] = []
    stack = [top]
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise Rejected("the VNN-LIB file holds a character that is not text")
        position = match.end()
        token = match.group(1)
        if token == "(":
            if len(stack) > 50:
                raise Unsupported("the VNN-LIB file is nested too deeply")
            stack[-1].append([])
            stack.append(stack[-1][-1])
        elif token == ")":
            if len(stack) == 1:
                raise Rejected("the VNN-LIB file closes a parenthesis that it did not open")
            stack.pop()
        elif token is not None:
            stack[-1].append(token)
    if len(stack) != 1:
        raise Rejected("the VNN-LIB file ends inside a parenthesis")
    return top


def _variable(text: Any) -> tuple[str, int]:
    match = _VARIABLE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise Rejected(f"{str(text)[:40]!r} is not a VNN-LIB variable")
    return match.group(1), int(match.group(2))


def _linear(expression: Any, declared: set[tuple[str, int]]) -> Term:
    """A linear term; the key None holds the constant."""
    if isinstance(expression, str):
        if expression[:1] in ("X", "Y"):
            variable = _variable(expression)
            if variable not in declared:
                raise Rejected(f"{expression} is used before it is declared")
            return {variable: Fraction(1)}
        return {None: decimal(expression)}
    head, *rest = expression or [""]
    parts = [_linear(part, declared) for part in rest]
    if head == "*" and len(parts) == 2:
        left, right = parts if set(parts[0]) <= {None} else reversed(parts)
        if set(left) <= {None}:
            factor = left.get(None, Fraction(0))
            return {key: factor * value for key, value in right.items()}
    if head in ("+", "-") and parts:
        total: Term = {}
        for position, part in enumerate(parts):
            minus = head == "-" and (position > 0 or len(parts) == 1)
            for key, value in part.items():
                total[key] = total.get(key, Fraction(0)) + (-value if minus else value)
        return total
    raise Unsupported(f"VNN-LIB term {str(expression)[:60]} is not linear")


def _difference(atom: Any, declared: set[tuple[str, int]]) -> Term:
    """left - right of `left <= right` (or of `right >= left`)."""
    if not isinstance(atom, list) or len(atom) != 3 or atom[0] not in ("<=", ">="):
        raise Unsupported(f"VNN-LIB assertion {str(atom)[:60]} is not understood")
    left, right = (_linear(side, declared) for side in atom[1:])
    if atom[0] == ">=":
        left, right = right, left
    for key, value in right.items():
        left[key] = left.get(key, Fraction(0)) - value
    return {key: value for key, value in left.items() if value or key is None}


def _input_bound(
    atom: Any, declared: set[tuple[str, int]]
) -> tuple[int, Fraction | None, Fraction | None] | None:
    """The bound on one input that an atom states, or None if it speaks of outputs."""
    if not isinstance(atom, list) or atom[:1] not in (["<="], [">="]):
        return None
    term = _difference(atom, declared)
    constant = term.pop(None, Fraction(0))
    if not any(key is not None and key[0] == "X" for key in term):
        return None
    if len(term) != 1:
        raise Unsupported("an input constraint of the VNN-LIB file is not an interval")
    ((key, factor),) = term.items()
    assert key is not None
    limit = -constant / factor
    return (key[1], None, limit) if factor > 0 else (key[1], limit, None)


def _disjuncts(formula: Any, declared: set[tuple[str, int]]) -> list[list[Inequality]]:
    """The disjunctive normal form of a formula over the outputs."""
    if isinstance(formula, list) and formula[:1] == ["or"] and len(formula) > 1:
        return [disjunct for part in formula[1:] for disjunct in _disjuncts(part, declared)]
    if isinstance(formula, list) and formula[:1] == ["and"] and len(formula) > 1:
        product: list[list[Inequality]] = [[]]
        for part in formula[1:]:
            alternatives = _disjuncts(part, declared)
            if len(product) * len(alternatives) > 100_000:
                raise Unsupported("the VNN-LIB file has more disjuncts than the checker expands")
            product = [left + right for left in product for right in alternatives]
        return product
    term = _difference(formula, declared)
    bound = -term.pop(None, Fraction(0))
    coefficients = []
    for key, value in term.items():
        if key is None or key[0] != "Y":
            raise Unsupported("an output constraint of the VNN-LIB file speaks of inputs")
        coefficients.append((key[1], value))
    return [[Inequality(tuple(sorted(coefficients)), bound)]]
