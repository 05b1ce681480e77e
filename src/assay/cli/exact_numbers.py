"""Exact numbers as a person reads them: rounded to the side on which a statement stays true."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction


def exact_number(value: Fraction, *, down: bool) -> dict[str, str]:
    return {"exact": str(value), "decimal": rounded_decimal(value, down=down)}


def rounded_decimal(value: Fraction, *, down: bool) -> str:
    """Nine digits, rounded to the side on which the statement stays true."""
    context = Context(prec=9, rounding=ROUND_FLOOR if down else ROUND_CEILING)
    return str(context.divide(Decimal(value.numerator), Decimal(value.denominator)))
