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


def outward_interval(low: float, high: float, digits: int = 4) -> str:
    """An interval in a few digits that holds the given one: rounded, it is still true."""
    ends = (
        Context(prec=digits, rounding=rounding).create_decimal(Decimal(end))
        for end, rounding in ((low, ROUND_FLOOR), (high, ROUND_CEILING))
    )
    return "[{}, {}]".format(*(f"{float(end):.{digits}g}" for end in ends))
