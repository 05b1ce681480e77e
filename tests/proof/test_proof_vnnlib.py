"""The checker's own reading of VNN-LIB, against the literal meaning and the other reader."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_claims import question

from assay.errors import BadInput
from assay.proof.arithmetic import Rejected, Unsupported
from assay.proof.vnnlib import Inequality, Question, read
from assay.question import vnnlib as other_reader

F = Fraction
ONE = [(0, 1)]


def reading(condition: str, box: list[tuple[object, object]] | None = None) -> Question:
    return read(question(ONE if box is None else box, 3, condition).encode())


def inequality(bound: object = 0, **coefficients: object) -> Inequality:
    terms = sorted((int(name[1:]), F(c)) for name, c in coefficients.items())  # type: ignore[arg-type]
    return Inequality(tuple(terms), F(bound))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("condition", "disjuncts"),
    [
        ("(assert (<= Y_0 Y_1))", [[inequality(y0=1, y1=-1)]]),
        ("(assert (>= Y_0 Y_1))", [[inequality(y0=-1, y1=1)]]),
        ("(assert (<= 1e-05 Y_2))", [[inequality(F(-1, 100_000), y2=-1)]]),
        ("(assert (<= (- Y_0) -.5))", [[inequality(F(-1, 2), y0=-1)]]),
        ("(assert (<= (- Y_0 Y_1 Y_2 1) 2))", [[inequality(3, y0=1, y1=-1, y2=-1)]]),
        (
            "(assert (<= (+ Y_0 (* 2 Y_1) (* Y_2 -3)) (* 2 3)))",
            [[inequality(6, y0=1, y1=2, y2=-3)]],
        ),
        ("(assert (<= (* 2 (+ Y_0 1)) 0))", [[inequality(-2, y0=2)]]),
        (
            "(assert (<= Y_0 1)) (assert (<= Y_1 1))",
            [[inequality(1, y0=1), inequality(1, y1=1)]],
        ),
        (
            "(assert (or (<= Y_0 1) (and (<= Y_1 1) (<= Y_2 1))))",
            [[inequality(1, y0=1)], [inequality(1, y1=1), inequality(1, y2=1)]],
        ),
        (
            "(assert (or (<= Y_0 1) (<= Y_1 1))) (assert (or (<= Y_2 1) (<= Y_2 2)))",
            [[inequality(1, **{a: 1}), inequality(b, y2=1)] for a in ("y0", "y1") for b in (1, 2)],
        ),
        (
            "(assert (and (or (<= Y_0 1) (or (<= Y_1 1))) (<= Y_2 1)))",
            [[inequality(1, **{a: 1}), inequality(1, y2=1)] for a in ("y0", "y1")],
        ),
    ],
)
def test_the_meaning_of_output_conditions(
    condition: str, disjuncts: list[list[Inequality]]
) -> None:
    assert reading(condition).disjuncts == tuple(map(tuple, disjuncts))


@pytest.mark.parametrize(
    ("more", "low", "high"),
    [
        ("", 0, 1),
        ("(assert (<= X_0 0.5)) (assert (<= X_0 0.75))", 0, F(1, 2)),
        ("(assert (>= 0.5 X_0))", 0, F(1, 2)),
        ("(assert (<= (* -2 X_0) -1))", F(1, 2), 1),
        ("(assert (<= (+ X_0 X_0 0.5) (- 2 0.5)))", 0, F(1, 2)),
        ("(assert (<= 1 X_0))", 1, 1),
    ],
)
def test_input_bounds_intersect(more: str, low: object, high: object) -> None:
    found = reading(f"{more}\n(assert (<= Y_0 0))")
    assert (found.lower, found.upper) == ((low,), (high,))


def test_ties_violate_and_disjuncts_are_alternatives() -> None:
    found = reading("(assert (or (and (<= Y_0 1) (<= Y_1 2)) (<= Y_2 -5)))")
    assert found.margin([F(1), F(2), F(0)]) == 0
    assert found.margin([F(0), F(3), F(0)]) == 1
    assert found.margin([F(0), F(9), F(-6)]) == -1


@pytest.mark.parametrize(
    "condition",
    [
        "(assert (< Y_0 Y_1))",
        "(assert (= Y_0 Y_1))",
        "(assert (not (<= Y_0 Y_1)))",
        "(assert (<= Y_0 Y_1 Y_2))",
        "(assert (<= Y_0))",
        "(assert (or))",
        "(assert (and))",
        "(assert ())",
        "(assert Y_0)",
        "(assert)",
        "(assert (<= Y_0 0) (<= Y_1 0))",
        "(assert (<= (* Y_0 Y_1) 0))",
        "(assert (<= (/ Y_0 2) 0))",
        "(assert (<= (+) Y_0))",
        "(assert (<= (*) Y_0))",
        "(assert (<= (* 2 3 Y_0) 0))",
        "(assert (<= ((+ Y_0)) 0))",
        "(assert (<= X_0 Y_0))",
        "(assert (<= 1 0))",
        "(assert (or (<= 0 1) (<= Y_0 0)))",
        "(assert (<= (+ Y_0 Y_0 (* -2 Y_0)) 1))",
        "(assert (<= (* 0 X_0) 5)) (assert (<= Y_0 0))",
        "(assert (and (<= X_0 0.5) (<= Y_0 0)))",
        "(assert (or (and (<= X_0 0.5) (<= Y_0 0)) (<= Y_1 0)))",
        "(assert (<= Y_0 0)) (check-sat)",
        "(assert (<= Y_0 0)) ()",
        "(assert (<= Y_0 0)) stray",
        "",
        "(assert (<= " + "(+ " * 60 + "Y_0" + ")" * 60 + " 0))",
        "(assert (<= Y_0 " + "(* 1e999 " * 20 + "1" + ")" * 20 + "))",
    ],
)
def test_other_shapes_are_unsupported(condition: str) -> None:
    with pytest.raises(Unsupported):
        reading(condition)


@pytest.mark.parametrize(
    "text",
    [
        "(assert (<= Y_0 0)",
        "(assert (<= Y_0 0)))",
        "(declare-const X_0 Real)",
        "(declare-const Y_3 Int) (declare-const Y_3 Real) (assert (<= Y_0 0)",
        "(declare-const Y_4 Real) (assert (<= Y_0 0))",
        "(declare-const Y_03 Real) (assert (<= Y_0 0))",
        "(declare-const Z_0 Real) (assert (<= Y_0 0))",
        "(declare-const Y_٣ Real) (assert (<= Y_0 0))",
        "(assert (<= Y_7 0))",
        "(assert (<= Y_00 0))",
        "(assert (<= y_0 0))",
        "(assert (<= Y_0 ٣))",
        "(assert (<= Y_0 1_0))",
        "(assert (<= Y_0 0x1))",
        "(assert (<= Y_0 nan))",
        "(assert (>= X_0 2)) (assert (<= Y_0 0))",
        "(assert (<= Y_0\x000))",
        "(assert (<= Y_0\x0b0))",
    ],
)
def test_malformed_text_is_refused(text: str) -> None:
    with pytest.raises((Rejected, Unsupported)):
        reading(text)


@pytest.mark.parametrize(
    "text",
    [
        "(declare-const X_0 Real) (declare-const Y_0 Real) (assert (<= X_0 1)) (assert (<= Y_0 0))",
        "(declare-const X_1 Real) (declare-const Y_0 Real) (assert (<= Y_0 0))",
        "(declare-const Y_0 Real) (assert (<= Y_0 0))",
        "(declare-const X_0 Real) (assert (>= X_0 0)) (assert (<= X_0 1))",
    ],
)
def test_boxes_must_be_complete(text: str) -> None:
    with pytest.raises((Rejected, Unsupported)):
        read(text.encode())


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_line_ends_end_a_comment(end: str) -> None:
    text = f"; only a comment{end}(assert (<= X_0 0.25)){end}(assert (<= Y_0 0))"
    assert reading(text).upper == (F(1, 4),)
    (case,) = other_reader.read(question(ONE, 3, text), "text").cases
    assert case.box.upper == (F(1, 4),)


LINE_ENDS_FOR_SOME = ["\r", "\r\r\n", "\n\r", *"\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\0"]


@pytest.mark.parametrize("character", LINE_ENDS_FOR_SOME, ids=ascii)
@pytest.mark.parametrize(
    "text",
    ["; comment{}(assert (<= X_0 0.25))\n(assert (<= Y_0 0))", "(assert{}(<= Y_0 0))"],
    ids=["in a comment", "in a command"],
)
def test_no_comment_hides_what_another_reader_would_see(text: str, character: str) -> None:
    """Marabou ends a comment at LF only: `; a remark\\r(assert ...)` asserted nothing there."""
    with pytest.raises((Rejected, Unsupported)):
        reading(text.format(character))
    with pytest.raises(BadInput, match=r"text:[0-9]+:[0-9]+: .* is not plain text"):
        other_reader.read(question(ONE, 3, text.format(character)), "text")


def test_comments_of_the_other_reader_may_be_in_any_language() -> None:
    text = question(ONE, 3, "; größer als 0 — ≥\t!\n(assert (<= Y_0 0))")
    assert len(other_reader.read(text, "text").cases) == 1


@pytest.mark.parametrize(
    "condition",
    [
        "(assert (or" + " (<= Y_0 0)" * 100_000 + "))" + "(assert (<= Y_1 0))" * 10_000,
        "(assert (and" + " (or (<= Y_0 0) (<= Y_1 0))" * 40 + "))",
        "(assert (<= Y_0 0))" * 20_000,
        "(" * 100_000,
        "(assert (<= Y_0 " + "(* 1e-999 " * 45 + "Y_1" + ")" * 45 + "))",
        "(assert (or " + "(and " * 48 + "(<= Y_0 0)" + ")" * 48 + "))",
    ],
)
@pytest.mark.timeout(120)  # a hang
def test_hostile_sizes_end_soon(condition: str) -> None:
    with suppress(Rejected, Unsupported):
        assert len(reading(condition).disjuncts) <= 2


# A grammar of conditions over X_0 and Y_0 to Y_2, right and wrong, for both readers.
numbers = st.sampled_from(["0", "1", "-1", "0.5", "1e-05", "-.25", "2.", "1E1", "+3"])
atoms = st.one_of(numbers, st.sampled_from(["X_0", "Y_0", "Y_1", "Y_2", "Y_3"]))
terms = st.recursive(
    atoms,
    lambda t: st.builds(
        lambda head, parts: f"({head} {' '.join(parts)})",
        st.sampled_from(["+", "-", "*"]),
        st.lists(t, min_size=1, max_size=3),
    ),
    max_leaves=4,
)
comparisons = st.builds(
    lambda head, left, right: f"({head} {left} {right})",
    st.sampled_from(["<=", ">="]),
    terms,
    terms,
)
conditions = st.recursive(
    comparisons,
    lambda c: st.builds(
        lambda head, parts: f"({head} {' '.join(parts)})",
        st.sampled_from(["and", "or"]),
        st.lists(c, min_size=1, max_size=3),
    ),
    max_leaves=5,
)


@settings(max_examples=400)
@given(
    st.lists(conditions, min_size=1, max_size=3),
    st.lists(st.integers(-3, 3), min_size=3, max_size=3),
)
def test_both_readers_agree_on_what_both_read(texts: list[str], values: list[int]) -> None:
    text = question(ONE, 3, "\n".join(f"(assert {c})" for c in texts))
    try:
        ours = read(text.encode())
    except (Rejected, Unsupported):
        return
    (case,) = other_reader.read(text, "generated").cases
    assert (case.box.lower, case.box.upper) == (ours.lower, ours.upper)
    point = [F(v) for v in values]
    assert case.violation.margin(point) == ours.margin(point)


def test_what_is_said_twice_is_read_once() -> None:
    """Margins stay: a disjunct that is repeated changes no minimum, an inequality no maximum."""
    once = "(or (<= Y_0 0) (and (<= Y_1 0) (<= Y_2 0)))"
    for condition in (
        f"(assert {once})",
        f"(assert {once})(assert {once})",
        "(assert (or" + " (<= Y_0 0) (and (<= Y_1 0) (<= Y_2 0) (<= Y_1 0))" * 1000 + "))",
    ):
        found = reading(condition)
        for point in ([3, 1, 2], [1, 2, 3], [-1, 5, 5], [0, -2, -3]):
            assert found.margin(list(map(F, point))) == min(point[0], max(point[1], point[2]))
    assert len(found.disjuncts) == 2
    assert sum(map(len, found.disjuncts)) == 3


@pytest.mark.parametrize("form", ["(assert (or {0}))", "(assert (and {0}))", "(assert {1}){2}"])
def test_parts_that_are_too_much_together(form: str) -> None:
    """Each part is expanded; all of them together would fill the memory."""
    parts = [
        f"(and {' '.join(f'(or (<= Y_0 {i}) (<= Y_1 {i + shift}))' for i in range(14))})"
        for shift in range(3)
    ]
    condition = form.format(" ".join(parts), parts[0], f"(assert {parts[1]})(assert {parts[2]})")
    with pytest.raises(Unsupported, match="more disjuncts"):
        reading(condition)
