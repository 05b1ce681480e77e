"""Assertions of a VNN-LIB file, expanded exactly into the cases of a `Specification`.

Both versions of VNN-LIB share this and differ only in how variables are declared and named. All
assertions together become an OR of ANDs; the inequalities on inputs are kept as boxes, those on
outputs as violations, and the disjuncts that share a box are grouped into one `Case`, in order of
appearance. Disjuncts whose own bounds contradict each other hold nowhere and are dropped; a file
of which nothing is left is refused.

Three things that the format allows are refused because Assay would have to guess: strict
inequalities (here ties violate), inequalities that relate several inputs or an input and an
output (the region would not be a box), and a file, or disjunct, without any condition on the
outputs (every input would violate: nearly always a lost assertion).
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, product
from typing import Protocol

from assay.errors import BadInput
from assay.question.property import Case, Inequality, Specification, Violation
from assay.question.region import Box
from assay.question.sexpr import MAX_DIGITS, Atom, Form, Source, fold, is_decimal, shown

MAX_DISJUNCTS = 100_000
MAX_WORK = 10_000_000
"""Steps of expanding assertions: literals copied, terms added or scaled."""
MAX_BOX_ENTRIES = 2_000_000
"""Inputs times distinct boxes."""

_ONE, _ZERO = Fraction(1), Fraction(0)


class Variables(Protocol):
    """What a version's declarations tell: input i has key i, output j has key ~j."""

    @property
    def inputs(self) -> int: ...

    @property
    def outputs(self) -> int: ...

    def find(self, atom: Atom) -> int | None:
        """The key of the variable that `atom` names."""

    def declared_at(self, index: int) -> int:
        """Where input `index` was declared."""


@dataclass(slots=True)
class _Linear:
    """sum of terms[key] * variable + constant, without zero coefficients; owned by one fold."""

    terms: dict[int, Fraction]
    constant: Fraction


@dataclass(frozen=True, slots=True)
class _InputBound:
    index: int
    is_upper: bool
    value: Fraction
    offset: int


_Disjunct = tuple["_InputBound | Inequality", ...]
_Disjuncts = list[_Disjunct]
_Side = MutableMapping[int, Fraction]


@dataclass
class Assertions:
    """The (assert ...) forms of one file, taken one by one and expanded at the end."""

    source: Source
    variables: Variables
    _lower: dict[int, Fraction] = field(default_factory=dict)
    _upper: dict[int, Fraction] = field(default_factory=dict)
    _inequalities: list[Inequality] = field(default_factory=list)
    _alternatives: list[_Disjuncts] = field(default_factory=list)
    _last: int = 0
    _work: int = 0

    def add(self, form: Form) -> None:
        """Take one (assert condition)."""
        self._last = form.offset
        condition = form.items[1] if len(form.items) == 2 else None
        if not isinstance(condition, Form):
            raise self.source.error(
                form.offset, "an assert holds exactly one condition in parentheses; write one."
            )
        disjuncts = fold(condition, self._leaf, self._combine)
        if isinstance(disjuncts, _Linear):
            raise self.source.error(
                condition.offset, "this is a term where a condition belongs; compare it."
            )
        if not disjuncts:
            raise self.source.error(
                form.offset, "this assertion never holds, so nothing is asked; correct it."
            )
        if len(disjuncts) > 1:
            self._alternatives.append(disjuncts)
            return
        for literal in disjuncts[0]:
            if isinstance(literal, Inequality):
                self._inequalities.append(literal)
            elif not _tighten(self._lower, self._upper, literal):
                raise self._empty(literal)

    def specification(self) -> Specification:
        """All assertions together, as cases."""
        common = tuple(self._inequalities)
        cases: dict[object, tuple[_Side, _Side, list[tuple[Inequality, ...]]]] = {}
        contradiction: _InputBound | None = None
        for disjunct in self._conjunction(self._alternatives, self._last):
            lower, upper = ChainMap({}, self._lower), ChainMap({}, self._upper)
            bounds = [b for b in disjunct if isinstance(b, _InputBound)]
            clash = next((b for b in bounds if not _tighten(lower, upper, b)), None)
            if clash is not None:
                contradiction = clash
                continue
            # Only bounds tighter than the common ones were written, so equal boxes have equal keys.
            own_lower, own_upper = lower.maps[0], upper.maps[0]
            key = (frozenset(own_lower.items()), frozenset(own_upper.items()))
            inequalities = common + tuple(i for i in disjunct if isinstance(i, Inequality))
            self._charge(self._last, len(inequalities))
            if not inequalities:
                raise self.source.error(
                    self._last,
                    "up to here some disjunct has no condition on the outputs, so that every "
                    "input in its box would be a violation; assert something about an output.",
                )
            cases.setdefault(key, (own_lower, own_upper, []))[2].append(inequalities)
        if not cases and contradiction is not None:
            raise self._empty(contradiction)
        if len(cases) * self.variables.inputs > MAX_BOX_ENTRIES:
            raise self.source.error(
                self._last,
                f"the assertions give {len(cases)} boxes of {self.variables.inputs} inputs, more "
                f"than {MAX_BOX_ENTRIES} bounds in all; split the file.",
            )
        return Specification(
            tuple(
                Case(
                    Box(
                        self._side({**self._lower, **lower}, "lower"),
                        self._side({**self._upper, **upper}, "upper"),
                    ),
                    Violation(self.variables.outputs, tuple(disjuncts)),
                )
                for lower, upper, disjuncts in cases.values()
            )
        )

    def _side(self, bounds: _Side, name: str) -> tuple[Fraction, ...]:
        """One side of a box, for every input."""
        count = self.variables.inputs
        if len(bounds) < count:
            index = next(i for i in range(count) if i not in bounds)
            raise self.source.error(
                self.variables.declared_at(index),
                f"input {index} has no {name} bound, so the region is infinite; assert one.",
            )
        return tuple(map(bounds.__getitem__, range(count)))

    def _empty(self, bound: _InputBound) -> BadInput:
        return self.source.error(
            bound.offset,
            f"with this, the lower bound of input {bound.index} is above its upper bound; "
            "correct one of them.",
        )

    def _charge(self, offset: int, steps: int) -> None:
        self._work += steps
        if self._work > MAX_WORK:
            raise self.source.error(
                offset, f"expanding the assertions takes over {MAX_WORK} steps; simplify them."
            )

    # Terms and conditions, bottom up.

    def _leaf(self, atom: Atom) -> _Linear | _Disjuncts:
        key = self.variables.find(atom)
        if key is not None:
            return _Linear({key: _ONE}, _ZERO)
        if atom.text[0] in "+-.0123456789":
            return _Linear({}, self.source.number(atom))
        raise self.source.error(
            atom.offset, f"{atom} is neither a number nor a declared variable; declare or fix it."
        )

    def _combine(self, form: Form, values: list[_Linear | _Disjuncts]) -> _Linear | _Disjuncts:
        operator, at = form.head, form.offset
        terms = [v for v in values if isinstance(v, _Linear)]
        conditions = [v for v in values if not isinstance(v, _Linear)]
        if operator in ("<", ">", "!=", "distinct", "not"):
            raise self.source.error(
                at,
                f"{shown(operator)} is not supported, because ties count as violations here; "
                "restate the condition with <= or >=.",
            )
        if operator in ("and", "or"):
            if terms or not conditions:
                raise self.source.error(
                    at, f"{shown(operator)} takes one or more conditions; give it some."
                )
            return (self._conjunction if operator == "and" else self._disjunction)(conditions, at)
        if operator in ("<=", ">=", "=", "=="):
            if conditions or len(terms) != 2:
                raise self.source.error(
                    at, f"{shown(operator)} compares exactly two terms; give it two."
                )
            return self._compare(operator, terms[0], terms[1], at)
        if operator in ("+", "-", "*"):
            if conditions or not terms:
                raise self.source.error(
                    at, f"{shown(operator)} takes one or more terms; give it some."
                )
            if operator == "*":
                return self._product(terms, at)
            return self._sum(terms, at) if operator == "+" else self._difference(terms, at)
        raise self.source.error(
            at,
            f"{shown(operator)} is not an operator that is read; use and, or, <=, >=, =, +, -, *.",
        )

    def _sum(self, parts: list[_Linear], at: int) -> _Linear:
        # Adding the smaller to the largest keeps long chains of (+ a (+ b ...)) cheap.
        total = max(parts, key=lambda part: len(part.terms))
        for part in parts:
            if part is total:
                continue
            self._charge(at, 1 + len(part.terms))
            total.constant += part.constant
            for key, coefficient in part.terms.items():
                value = total.terms.get(key, _ZERO) + coefficient
                if value:
                    total.terms[key] = value
                else:
                    total.terms.pop(key, None)
        return total

    def _difference(self, parts: list[_Linear], at: int) -> _Linear:
        """The first minus the others, or the negative of a single one."""
        negative = self._scaled(self._sum(parts[1:] or parts, at), -_ONE, at)
        return self._sum([parts[0], negative], at) if len(parts) > 1 else negative

    def _product(self, parts: list[_Linear], at: int) -> _Linear:
        factor, variable = _ONE, None
        for part in parts:
            if not part.terms:
                factor = self._modest(factor * part.constant, at)
            elif variable is None:
                variable = part
            else:
                raise self.source.error(
                    at, "this multiplies variables with each other; only linear terms are read."
                )
        return _Linear({}, factor) if variable is None else self._scaled(variable, factor, at)

    def _scaled(self, part: _Linear, factor: Fraction, at: int) -> _Linear:
        size = 1 + (factor.numerator.bit_length() + factor.denominator.bit_length()) // 64
        self._charge(at, (1 + len(part.terms)) * size)
        return _Linear(
            {k: self._modest(c * factor, at) for k, c in part.terms.items() if factor},
            self._modest(part.constant * factor, at),
        )

    def _modest(self, value: Fraction, at: int) -> Fraction:
        """`value`, unless products have made it longer than any number that is read."""
        if not is_decimal(value):
            raise self.source.error(
                at, f"this product has over {MAX_DIGITS} digits; use numbers of ordinary size."
            )
        return value

    def _compare(self, operator: str, left: _Linear, right: _Linear, at: int) -> _Disjuncts:
        if operator == ">=":
            left, right = right, left
        self._charge(at, 1 + len(right.terms))
        terms = left.terms
        for key, coefficient in right.terms.items():
            value = terms[key] - coefficient if key in terms else -coefficient
            if value:
                terms[key] = value
            else:
                del terms[key]
        bound = right.constant - left.constant if left.constant else right.constant
        literals = self._at_most(terms, bound, at)
        if operator in ("=", "=="):
            opposite = self._at_most({k: -c for k, c in terms.items()}, -bound, at)
            return self._conjunction([literals, opposite], at)
        return literals

    def _at_most(self, terms: dict[int, Fraction], bound: Fraction, at: int) -> _Disjuncts:
        """The condition sum of `terms` <= `bound`: one literal, or a constant."""
        if not terms:
            return [()] if bound >= 0 else []
        if max(terms) < 0:
            return [(Inequality(tuple(sorted((~k, c) for k, c in terms.items())), bound),)]
        if min(terms) < 0:
            raise self.source.error(
                at, "this relates inputs to outputs; only conditions on one kind are read."
            )
        if len(terms) > 1:
            raise self.source.error(
                at, "this relates several inputs, so the region is not a box; bound each input."
            )
        ((index, coefficient),) = terms.items()
        value = bound if coefficient == 1 else bound / coefficient
        return [(_InputBound(index, coefficient > 0, value, at),)]

    def _disjunction(self, parts: list[_Disjuncts], at: int) -> _Disjuncts:
        count = sum(map(len, parts))
        self._charge(at, count)
        self._refuse_many(count, at)
        return parts[0] if len(parts) == 1 else list(chain.from_iterable(parts))

    def _conjunction(self, parts: list[_Disjuncts], at: int) -> _Disjuncts:
        if len(parts) == 1:
            return parts[0]
        count = 1
        for part in parts:
            count *= len(part)
            self._refuse_many(count, at)
        if not count:
            return []
        self._charge(at, sum(sum(map(len, part)) * (count // len(part)) for part in parts))
        return [tuple(chain.from_iterable(choice)) for choice in product(*parts)]

    def _refuse_many(self, count: int, at: int) -> None:
        if count > MAX_DISJUNCTS:
            raise self.source.error(
                at,
                f"written as an OR of ANDs, this has over {MAX_DISJUNCTS} disjuncts; split the "
                "file.",
            )


def _tighten(lower: _Side, upper: _Side, bound: _InputBound) -> bool:
    """Intersect with one more bound; say whether anything is left of that input's interval."""
    index, value = bound.index, bound.value
    low, high = lower.get(index), upper.get(index)
    if bound.is_upper:
        if high is None or value < high:
            upper[index] = high = value
    elif low is None or value > low:
        lower[index] = low = value
    return low is None or high is None or low <= high
