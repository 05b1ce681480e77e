"""VNN-LIB 1.0: exact readings, exact round trips, and one clear sentence for everything else."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import BadInput
from assay.question.property import Case, Inequality, Specification, Violation
from assay.question.region import Box
from assay.question.vnnlib import decimal, read, write

DECLARED = """(declare-const X_0 Real)
(declare-const X_1 Real)
(declare-const Y_0 Real)
(declare-const Y_1 Real)
"""
BOUNDED = (
    DECLARED
    + """(assert (>= X_0 -1))
(assert (<= X_0 1))
(assert (>= X_1 0))
(assert (<= X_1 2))
"""
)


def only_case(text: str) -> Case:
    (case,) = read(text, "f").cases
    return case


def inequality(bound: object, **coefficients: object) -> Inequality:
    terms = ((int(name[1:]), Fraction(str(c))) for name, c in coefficients.items())
    return Inequality(tuple(sorted(terms)), Fraction(str(bound)))


def test_a_plain_file() -> None:
    case = only_case(BOUNDED + "(assert (>= Y_1 Y_0)) ; the other class wins\n")
    assert case.box == Box((Fraction(-1), Fraction(0)), (Fraction(1), Fraction(2)))
    assert case.violation == Violation(2, ((inequality(0, Y0=1, Y1=-1),),))


def test_several_boxes_become_cases_in_order_of_appearance() -> None:
    text = (
        DECLARED
        + """(assert (or
      (and (<= X_0 1) (>= X_0 0) (<= X_1 1) (>= X_1 0) (<= Y_0 5))
      (and (<= X_0 3) (>= X_0 2) (<= X_1 1) (>= X_1 0) (<= Y_0 6))
      (and (>= X_1 0) (<= X_1 1) (>= X_0 0) (<= X_0 1) (<= Y_1 7))))"""
    )
    first, second = read(text, "f").cases
    assert first.box == Box((Fraction(0),) * 2, (Fraction(1),) * 2)
    assert first.violation.disjuncts == ((inequality(5, Y0=1),), (inequality(7, Y1=1),))
    assert second.box.lower[0] == 2
    assert second.violation.disjuncts == ((inequality(6, Y0=1),),)


def test_acas_xu_property_6_splits_one_input() -> None:
    text = BOUNDED + (
        "(assert (or (and (>= X_1 0) (<= X_1 0.5)) (and (>= X_1 1.5) (<= X_1 2))))"
        "(assert (or (<= Y_1 Y_0) (>= Y_1 3)))"
    )
    cases = read(text, "f").cases
    assert [(c.box.lower[1], c.box.upper[1]) for c in cases] == [
        (0, Fraction(1, 2)),
        (Fraction(3, 2), 2),
    ]
    assert all(len(c.violation.disjuncts) == 2 for c in cases)


def test_a_disjunct_whose_bounds_contradict_holds_nowhere() -> None:
    case = only_case(BOUNDED + "(assert (or (and (>= X_0 5) (<= Y_0 0)) (<= Y_1 0)))")
    assert case.violation.disjuncts == ((inequality(0, Y1=1),),)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("(<= (+ (* 2 Y_0) (- Y_1) 3) 1)", inequality(-2, Y0=2, Y1=-1)),
        ("(<= (- Y_0 Y_1 1) (* 2 3))", inequality(7, Y0=1, Y1=-1)),
        ("(>= 4 (* Y_0 -1 .5))", inequality(4, Y0="-0.5")),
        ("(<= (* 2 (+ Y_0 (* 3 (- Y_1 1)))) 0)", inequality(6, Y0=2, Y1=6)),
        ("(<= (+ Y_0 (- Y_1 Y_1)) (* 0 Y_1))", inequality(0, Y0=1)),
        ("(<= Y_0 (- 1e-05))", inequality("-0.00001", Y0=1)),
        ("(and (<= 0 1) (<= Y_0 5.) (or (<= 2 1) (<= 1 1)))", inequality(5, Y0=1)),
        ("(<= Y_0 +3.25E+1)", inequality("32.5", Y0=1)),
    ],
)
def test_linear_terms_and_numbers_are_exact(condition: str, expected: Inequality) -> None:
    assert only_case(BOUNDED + f"(assert {condition})").violation.disjuncts == ((expected,),)


def test_equality_is_two_inequalities_and_bounds_intersect() -> None:
    case = only_case(BOUNDED + "(assert (= Y_0 2))(assert (= (* -4 X_0) 1))(assert (<= X_1 7))")
    assert case.violation.disjuncts == ((inequality(2, Y0=1), inequality(-2, Y0=-1)),)
    assert case.box == Box((Fraction(-1, 4), Fraction(0)), (Fraction(-1, 4), Fraction(2)))


OUT = "(assert (<= Y_0 0))"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "no input"),
        ("; nothing\n", 1, "no input"),
        ("(declare-const X_0 Real)\n(declare-const X_0 Real)", 2, "twice"),
        ("(declare-const X_0 Int)", 1, "declare-const"),
        ("(declare-const x_0 Real)", 1, "declare-const"),
        ("(declare-const X_00 Real)", 1, "declare-const"),
        ("(declare-const X_0[1] Real)", 1, "declare-const"),
        ("(declare-const X_1 Real)(declare-const Y_0 Real)" + OUT, 1, "without gaps"),
        ("(declare-const X_0 Real)(declare-const Y_999999999 Real)", 1, "without gaps"),
        ("(declare-const X_0 Real)", 1, "no output"),
        (DECLARED + OUT, 1, "no lower bound"),
        (DECLARED + "(assert (>= X_0 0))(assert (>= X_1 0))" + OUT, 1, "no upper bound"),
        (DECLARED + "(assert (or (<= X_0 0)\n (<= X_0 1)))" + OUT, 1, "no lower bound"),
        (BOUNDED, 8, "no condition on the outputs"),
        (BOUNDED + "(assert (or (<= X_0 0) (<= Y_0 0)))", 9, "no condition on the outputs"),
        (BOUNDED + "(assert (<= X_0 -2))" + OUT, 9, "above its upper"),
        (BOUNDED + "(assert (or (<= X_0 -2)\n(<= X_1 -2)))" + OUT, 10, "above its upper"),
        (BOUNDED + "(assert (<= X_0 Y_0))", 9, "inputs to outputs"),
        (BOUNDED + "(assert (<= X_0 X_1))", 9, "several inputs"),
        (BOUNDED + "(assert (<= Y_2 0))", 9, "declared variable"),
        (BOUNDED + "(assert (< Y_0 0))", 9, "ties"),
        (BOUNDED + "(assert (> Y_0 0))", 9, "ties"),
        (BOUNDED + "(assert (not (<= Y_0 0)))", 9, "ties"),
        (BOUNDED + "(assert (=> Y_0 0))", 9, "operator"),
        (BOUNDED + "(assert (<= (* Y_0 Y_1) 0))", 9, "linear"),
        (BOUNDED + "(assert (<= Y_0 1 2))", 9, "exactly two"),
        (BOUNDED + "(assert (<= Y_0 (<= Y_0 1)))", 9, "exactly two"),
        (BOUNDED + "(assert (and))", 9, "one or more conditions"),
        (BOUNDED + "(assert (and Y_0))", 9, "one or more conditions"),
        (BOUNDED + "(assert (<= (+) 0))", 9, "one or more terms"),
        (BOUNDED + "(assert (+ Y_0 1))", 9, "condition belongs"),
        (BOUNDED + "(assert true)", 9, "one condition"),
        (BOUNDED + "(assert ((<= Y_0 0)))", 9, "operator"),
        (BOUNDED + "(assert ())", 9, "operator"),
        (BOUNDED + "(assert (<= 1 0))", 9, "never holds"),
        (BOUNDED + "(assert (<= Y_0 0x10))", 9, "decimal"),
        (BOUNDED + "(assert (<= Y_0 1_0))", 9, "decimal"),
        (BOUNDED + "(assert (<= Y_0 \u0663))", 9, "is not plain text"),
        (BOUNDED + "(assert (<= Y_0 nan))", 9, "neither a number"),
        (BOUNDED + "(assert (<= Y_0 1e999999999))", 9, "digits"),
        (BOUNDED + "(assert (<= Y_0 1e-99999))", 9, "digits"),
        (BOUNDED + f"(assert (<= Y_0 {'9' * 100_000}))", 9, "digits"),
        (BOUNDED + "(assert (<= Y_0 (* 1e1000 1e1000)))", 9, "digits"),
        (BOUNDED + "(assert (<= Y_0 0)", 9, "never closed"),
        (BOUNDED + "\n(assert (<= Y_0 0)))", 10, "closes nothing"),
        (BOUNDED + "Y_0", 9, "outside"),
        (BOUNDED + '(assert (<= Y_0 "0))', 9, "closed"),
        (BOUNDED + "(assert (<= Y_0 [0]))", 9, "neither"),
        (BOUNDED + "(assert [0])", 9, "not a command"),
        (BOUNDED + "(check-sat)", 9, "not a command"),
        (BOUNDED + "(" * 5_000, 9, "nested deeper"),
    ],
)
def test_bad_files_name_the_line_and_the_trouble(text: str, line: int, words: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(text, "dir/f.vnnlib")
    message = str(caught.value)
    assert message.startswith(f"dir/f.vnnlib:{line}:")
    assert words in message
    assert "\n" not in message
    assert len(message) < 300


def nested(depth: int, operator: str) -> str:
    leaf = "(<= Y_0 0)"
    return f"({operator} {leaf} " * depth + leaf + ")" * depth


def test_deep_nesting_within_the_limit_is_read() -> None:
    assert len(only_case(BOUNDED + f"(assert {nested(900, 'or')})").violation.disjuncts) == 901
    assert len(only_case(BOUNDED + f"(assert {nested(900, 'and')})").violation.disjuncts[0]) == 901
    chain = "(- Y_1 " * 900 + "Y_0" + ")" * 900
    assert only_case(BOUNDED + f"(assert (<= {chain} 0))").violation.disjuncts == (
        (inequality(0, Y0=1),),
    )


@pytest.mark.parametrize(
    "text",
    [
        "(assert (or (<= Y_0 0) (<= Y_1 0)))" * 30,
        "(assert (and " + "(or (<= Y_0 0) (<= Y_1 0)) " * 50_000 + "))",
        "(assert (<= "
        + "(* 1e99 (* 1e-99 " * 450
        + f"(+ {'Y_0 (* 0.1 Y_1) ' * 50}) "
        + "))" * 450
        + " 0))",
        "(assert (<= Y_0 1e" + "9" * 1_000_000 + "))",
        "(assert (or " + "(<= Y_0 0) " * 100_001 + "))",
        "(" * 1_000_000,
        "(assert (<= Y_0 " + '"' * 1_000_001,
        "(assert (<= Y_0 [" + "0," * 500_000,
        " " * 3_000_000 + "]",
    ],
    ids=["product", "wide", "scaling", "exponent", "or", "open", "quotes", "bracket", "blank"],
)
@pytest.mark.timeout(120)  # a hang
def test_hostile_files_end(text: str) -> None:
    try:
        read(BOUNDED + text, "f")
    except BadInput as error:
        assert str(error).startswith("f:9:")  # noqa: PT017 - a reading would be fine as well


def test_ten_thousand_inputs() -> None:
    inputs = 10_000
    centre = tuple(Fraction(i * 7919 % 2**20, 2**20) for i in range(inputs))
    case = Case(Box.around(centre, Fraction(3, 2**10)), Violation.misclassification(3, 10))
    assert read(write(case.box, case.violation), "f") == Specification((case,))


def test_the_style_that_every_tool_reads() -> None:
    box = Box((Fraction(-1, 4),), (Fraction(3),))
    assert write(box, Violation.misclassification(0, 3), comment="two\nlines") == (
        "; two\n; lines\n"
        "(declare-const X_0 Real)\n"
        "(declare-const Y_0 Real)\n(declare-const Y_1 Real)\n(declare-const Y_2 Real)\n\n"
        "(assert (>= X_0 -0.25))\n(assert (<= X_0 3.0))\n\n"
        "(assert (or\n    (and (>= Y_1 Y_0))\n    (and (>= Y_2 Y_0))\n))\n"
    )
    general = Violation(
        2,
        ((inequality("0.5", Y0=2, Y1=1), inequality(-3, Y0=1), inequality(2, Y1=-1)),),
    )
    assert write(box, general).splitlines()[-3:] == [
        "(assert (<= (+ (* 2.0 Y_0) Y_1) 0.5))",
        "(assert (<= Y_0 -3.0))",
        "(assert (>= Y_1 -2.0))",
    ]


@pytest.mark.parametrize(
    "violation",
    [
        Violation(0, ()),
        Violation(1, ()),
        Violation(1, ((),)),
        Violation(1, ((Inequality((), Fraction(1)),),)),
        Violation(1, ((inequality(0, Y1=1),),)),
        Violation(1, ((inequality(0, Y0=0),),)),
        Violation(2, ((Inequality(((1, Fraction(1)), (0, Fraction(1))), Fraction(0)),),)),
        Violation(1, ((Inequality(((0, Fraction(1)),), Fraction(1, 3)),),)),
    ],
)
def test_what_would_not_read_back_is_not_written(violation: Violation) -> None:
    with pytest.raises(BadInput):
        write(Box((Fraction(0),), (Fraction(1),)), violation)


def test_decimal() -> None:
    assert [decimal(Fraction(x)) for x in ("0", "-3", "1/8", "-1/5", "1e-7", "250")] == [
        "0.0",
        "-3.0",
        "0.125",
        "-0.2",
        "0.0000001",
        "250.0",
    ]
    for bad in (Fraction(1, 3), Fraction(1, 2**1101), Fraction(10**1100), Fraction(1, 7**3000)):
        with pytest.raises(BadInput):
            decimal(bad)


decimals = st.builds(
    lambda n, twos, fives: Fraction(n, 2**twos * 5**fives),
    st.integers(-(10**9), 10**9),
    st.integers(0, 60),
    st.integers(0, 30),
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    sides = draw(st.lists(st.tuples(decimals, decimals).map(sorted), min_size=1, max_size=4))
    outputs = draw(st.integers(1, 4))
    coefficients = st.one_of(st.sampled_from([Fraction(1), Fraction(-1)]), decimals.filter(bool))
    terms = st.dictionaries(st.integers(0, outputs - 1), coefficients, min_size=1)
    bounds = st.one_of(st.just(Fraction(0)), decimals)
    inequalities = st.builds(lambda t, b: Inequality(tuple(sorted(t.items())), b), terms, bounds)
    disjuncts = st.lists(st.lists(inequalities, min_size=1, max_size=3).map(tuple), min_size=1)
    return Case(
        Box(tuple(low for low, _ in sides), tuple(high for _, high in sides)),
        Violation(outputs, tuple(draw(disjuncts))),
    )


@given(cases(), st.text(max_size=30))
@settings(max_examples=150, deadline=None)
def test_round_trip_is_exact(case: Case, comment: str) -> None:
    written = write(case.box, case.violation, comment=comment)
    assert read(written, "f") == Specification((case,))
    assert write(case.box, case.violation, comment=comment) == written


@given(decimals)
def test_decimal_is_exact(value: Fraction) -> None:
    assert Fraction(decimal(value)) == value


@st.composite
def formulas(draw: st.DrawFn, depth: int = 3) -> object:
    """A nested tuple: ("and"|"or", ...) over ("<="|">="|"=", variable, number)."""
    if depth == 0 or draw(st.booleans()):
        operator = draw(st.sampled_from(["<=", ">=", "="]))
        return operator, draw(st.sampled_from(["X_0", "Y_0", "Y_1"])), draw(st.integers(-1, 2))
    parts = draw(st.lists(formulas(depth=depth - 1), min_size=1, max_size=3))
    return (draw(st.sampled_from(["and", "or"])), *parts)


def spelled(formula: object) -> str:
    return f"({' '.join(map(spelled, formula))})" if isinstance(formula, tuple) else str(formula)


def holds(formula: object, point: dict[str, int]) -> bool:
    assert isinstance(formula, tuple)
    operator, *parts = formula
    if operator in ("and", "or"):
        values = [holds(part, point) for part in parts]
        return all(values) if operator == "and" else any(values)
    name, right = parts
    left = point[name]
    return bool(
        left <= right if operator == "<=" else left >= right if operator == ">=" else left == right
    )


@given(st.lists(formulas(), min_size=1, max_size=3))
@settings(max_examples=150, deadline=None)
def test_the_expansion_means_what_the_formula_says(asserted: list[object]) -> None:
    head = BOUNDED + "(assert (<= Y_0 1))"
    try:
        specification = read(head + "".join(f"(assert {spelled(f)})" for f in asserted), "f")
    except BadInput as error:
        assert "above its upper" in str(error)  # noqa: PT017 - the formula may allow no input
        specification = Specification(())
    for x in (-1, 0, 1):
        for y in range(-2, 3):
            for z in range(-2, 3):
                point = {"X_0": x, "X_1": 0, "Y_0": y, "Y_1": z}
                expected = y <= 1 and all(holds(formula, point) for formula in asserted)
                read_so = any(
                    case.box.contains([Fraction(x), Fraction(0)])
                    and case.violation.margin([Fraction(y), Fraction(z)]) <= 0
                    for case in specification.cases
                )
                assert read_so == expected
