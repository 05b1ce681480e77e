"""Numbers from text and from float32 words, against numpy and the standard library."""

from __future__ import annotations

import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.proof.arithmetic import (
    Rejected,
    Vector,
    column,
    decimal,
    entries,
    float32_vector,
    is_float32,
    rational,
)

finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(finite, max_size=30))
def test_float32_words_are_read_exactly(values: list[float]) -> None:
    raw = np.array(values, dtype="<f4").tobytes()
    assert float32_vector(raw, "w").fractions() == [Fraction(v) for v in values]


def test_the_extremes_of_float32() -> None:
    words = [0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF]
    values = float32_vector(struct.pack("<7I", *words), "w").fractions()
    tiny, least, largest = (
        Fraction(1, 1 << 149),
        Fraction(1, 1 << 126),
        Fraction(2**24 - 1) * 2**104,
    )
    assert values == [0, 0, tiny, tiny - least, least, largest, -largest]
    assert float32_vector(b"", "w").fractions() == []
    assert float32_vector(struct.pack("<2I", 0, 0x80000000), "w") == Vector((0, 0), 1)
    assert float32_vector(struct.pack("<f", 2.0**100), "w") == Vector((2**100,), 1)


@pytest.mark.parametrize("word", [0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFFFFFFF])
def test_infinities_and_nans_are_rejected(word: int) -> None:
    with pytest.raises(Rejected, match="infinity or a NaN"):
        float32_vector(struct.pack("<2I", 0x3F800000, word), "w")


@given(finite)
def test_float32_numbers_are_recognised(value: float) -> None:
    assert is_float32(Fraction(value))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_other_doubles_are_not_float32(value: float) -> None:
    with np.errstate(over="ignore"):
        assert is_float32(Fraction(value)) == (float(np.float32(value)) == value)


@pytest.mark.parametrize(
    "value", [Fraction(1, 3), Fraction(1, 1 << 150), Fraction(2**24 + 1), Fraction(1 << 128)]
)
def test_what_float32_cannot_hold(value: Fraction) -> None:
    assert not is_float32(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-05", Fraction(1, 100_000)),
        ("-.5", Fraction(-1, 2)),
        ("5.", Fraction(5)),
        ("+0.1E2", Fraction(10)),
        ("-0", Fraction(0)),
        ("007", Fraction(7)),
        ("1e999", Fraction(10**999)),
    ],
)
def test_decimals(text: str, value: Fraction) -> None:
    assert decimal(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "e5", "1/2", "1_0", " 1", "1\n", "0x1", "nan", "inf", "1e1000", "1e9999999999"),
        *("--1", "1.2.3", "１", "٣", "1e٣", "1,5", "9" * 2001),
    ],
)
def test_what_is_no_decimal(text: str) -> None:
    with pytest.raises(Rejected, match="not a decimal"):
        decimal(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1/3", Fraction(1, 3)),
        ("-2/4", Fraction(-1, 2)),
        ("0", Fraction(0)),
        ("1/03", Fraction(1, 3)),
    ],
)
def test_rationals(text: str, value: Fraction) -> None:
    assert rational(text, "the margin") == value


@pytest.mark.parametrize(
    "text",
    [
        *("", "1/0", "1/00", "1/-2", "0.5", "1e5", "1 /2", "+1", "1/2/3", "٣", "1\n", "9" * 4001),
        f"1/{1:05000}",
    ],
)
def test_what_is_no_rational(text: str) -> None:
    with pytest.raises(Rejected, match="the margin is not a rational"):
        rational(text, "the margin")


@given(st.lists(st.fractions(), max_size=8))
def test_vectors_keep_their_values(values: list[Fraction]) -> None:
    vector = Vector.of(values)
    assert vector.fractions() == values
    lifted = Vector(vector.over(6 * vector.denominator), 6 * vector.denominator)
    assert lifted.fractions() == values


@given(st.lists(st.integers(), max_size=8))
def test_columns_and_their_entries(values: list[int]) -> None:
    assert entries(column(values)) == values
