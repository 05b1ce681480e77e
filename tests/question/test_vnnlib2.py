"""VNN-LIB 2.0: the same questions as 1.0 under other names, and refusals by name."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import BadInput
from assay.question import vnnlib
from assay.question.property import Case, Inequality, Specification, Violation
from assay.question.region import Box
from assay.question.vnnlib2 import read, read_any, write

HEAD = """(vnnlib-version <2.0>)
(declare-network N
  (declare-input X float32 [1,2])
  (declare-output Y float32 [2]))
"""
BOUNDS = """(assert (and (>= X[0,0] -1.0) (<= X[0,0] 1.0)))
(assert (and (>= X[0,1] 0.0) (<= X[0,1] 2.0)))
"""
OUT = "(assert (<= Y[0] 0.0))"


def test_a_plain_file() -> None:
    (case,) = read(HEAD + BOUNDS + "(assert (>= Y[1] Y[0]))", "f").cases
    assert case.box == Box((Fraction(-1), Fraction(0)), (Fraction(1), Fraction(2)))
    assert case.violation == Violation.misclassification(0, 2)


def test_elements_are_numbered_in_c_order() -> None:
    head = """(vnnlib-version <2.1>) (declare-network net
      (declare-input image real [2, 1 ,3]) (declare-output score real []))"""
    bounds = "".join(
        f"(assert (== image[{i},0,{k}] {10 * i + k}))" for i in range(2) for k in range(3)
    )
    (case,) = read(head + bounds + "(assert (<= score 1))", "f").cases
    assert case.box.lower == case.box.upper
    assert list(map(int, case.box.lower)) == [0, 1, 2, 10, 11, 12]
    assert case.violation == Violation(1, ((Inequality(((0, Fraction(1)),), Fraction(1)),),))


def test_a_space_before_a_bracket_changes_nothing() -> None:
    spaced = (HEAD + BOUNDS + OUT).replace("[", " [ ").replace(",", "\n,\t")
    assert read(spaced, "f") == read(HEAD + BOUNDS + OUT, "f")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "begins with (vnnlib-version"),
        ("(assert (<= 0 1))", 1, "begins with (vnnlib-version"),
        ("(vnnlib-version 2.0)", 1, "begins with (vnnlib-version"),
        ("(vnnlib-version <2.0> <2.0>)", 1, "begins with (vnnlib-version"),
        ("(vnnlib-version (<2.0>))", 1, "begins with (vnnlib-version"),
        ("(vnnlib-version <3.0>)", 1, "version 3.0"),
        ("(vnnlib-version <2.0>)\n", 2, "declare-network"),
        ("(vnnlib-version <2.0>)\n(assert (<= 0 1))", 2, "declare-network"),
        (HEAD.replace("network N", "network"), 2, "name"),
        (HEAD.replace("network N", "network N-1"), 2, "name"),
        (HEAD.replace("(declare-input", "(equal-to M) (declare-input"), 3, "equal to"),
        (HEAD.replace("(declare-input", "(isomorphic-to M) (declare-input"), 3, "isomorphic"),
        (
            HEAD.replace("(declare-output", '(declare-hidden H real [1] "h") (declare-output'),
            4,
            "hidden node",
        ),
        (HEAD.replace("(declare-output Y", "(declare-input Y"), 4, "second declare-input"),
        (HEAD.replace("[2]))", "[2]) extra)"), 4, "only declare-input and declare-output"),
        (HEAD.replace("(declare-output Y float32 [2])", ""), 2, "one declare-output"),
        (HEAD.replace("output Y", "output X"), 2, "different names"),
        (HEAD.replace("network N", "network Y"), 2, "different names"),
        (HEAD.replace("[1,2]", "[1,2] initialized"), 3, "initialized"),
        (HEAD.replace("[1,2]", '[1,2] "node"'), 3, "NAME TYPE [shape]"),
        (HEAD.replace(" [1,2]", ""), 3, "NAME TYPE [shape]"),
        (HEAD.replace("X float32", "X[0] float32"), 3, "NAME TYPE [shape]"),
        (HEAD.replace("X float32", "X int8"), 3, "'int8'"),
        (HEAD.replace("[1,2]", "[1,0]"), 3, "shape has at most"),
        (HEAD.replace("[1,2]", "[99999,99999]"), 3, "shape has at most"),
        (HEAD.replace("[1,2]", "[9999999999]"), 3, "whole numbers"),
        (HEAD.replace("[1,2]", "[1,-2]"), 3, "whole numbers"),
        (HEAD.replace("[1,2]", "[1,,2]"), 3, "whole numbers"),
        (HEAD.replace("[1,2]", f"[{'1,' * 20}1]"), 3, "whole numbers"),
        (HEAD.replace("[1,2]", "[1,2"), 3, "closed"),
        (HEAD + BOUNDS + HEAD.partition("\n")[2], 7, "second network"),
        (HEAD + BOUNDS + "(check-sat)", 7, "only assertions"),
        (HEAD + BOUNDS + "(assert (<= Y[2] 0.0))", 7, "not an element"),
        (HEAD + BOUNDS + "(assert (<= Y[0,0] 0.0))", 7, "not an element"),
        (HEAD + BOUNDS + "(assert (<= Y 0.0))", 7, "not an element"),
        (HEAD + BOUNDS + "(assert (<= Y[] 0.0))", 7, "not an element"),
        (HEAD + BOUNDS + "(assert (<= Y[01] 0.0))", 7, "whole numbers"),
        (HEAD + BOUNDS + "(assert (<= Z[0] 0.0))", 7, "declared variable"),
        (HEAD + BOUNDS + "(assert (<= N 0.0))", 7, "declared variable"),
        (HEAD + BOUNDS + "(assert (<= Y[0] 0.0[1]))", 7, "decimal"),
        (HEAD + BOUNDS + "(assert (< Y[0] 0.0))", 7, "ties"),
        (HEAD + BOUNDS + "(assert (!= Y[0] 0.0))", 7, "ties"),
        (HEAD + OUT, 3, "no lower bound"),
        (HEAD + BOUNDS, 6, "no condition on the outputs"),
    ],
)
def test_bad_files_name_the_line_and_the_trouble(text: str, line: int, words: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(text, "f.vnnlib")
    message = str(caught.value)
    assert message.startswith(f"f.vnnlib:{line}:")
    assert words in message
    assert "\n" not in message


@pytest.mark.parametrize("character", ["\r", "\x0c", "\u2028", "\0"], ids=ascii)
def test_a_line_ends_where_every_reader_ends_it(character: str) -> None:
    text = HEAD + BOUNDS + f"; a remark{character}(assert (<= X[0,0] 0.5))\n" + OUT
    for reader in (read, read_any):
        with pytest.raises(BadInput, match=r"f:7:11: .* is not plain text"):
            reader(text, "f")
    assert read(text.replace(character, "\r\n"), "f").cases[0].box.upper[0] == Fraction(1, 2)


def test_read_any_tells_the_versions_apart() -> None:
    box, violation = Box((Fraction(0),), (Fraction(1),)), Violation.misclassification(1, 3)
    expected = Specification((Case(box, violation),))
    assert read_any(vnnlib.write(box, violation, comment="one"), "f") == expected
    assert read_any(write(box, violation, comment="two"), "f") == expected
    with pytest.raises(BadInput, match="begins with"):
        read_any(HEAD.partition("\n")[2], "f")
    with pytest.raises(BadInput, match="no input"):
        read_any("", "f")


def test_written_text() -> None:
    box = Box((Fraction(-1, 4), Fraction(0)), (Fraction(3), Fraction(0)))
    text = write(box, Violation.misclassification(1, 2), input_shape=(2, 1), output_shape=(1, 2))
    assert text == (
        "(vnnlib-version <2.0>)\n\n"
        "(declare-network N\n"
        "    (declare-input X float32 [2,1])\n"
        "    (declare-output Y float32 [1,2])\n)\n\n"
        "(assert (>= X[0,0] -0.25))\n(assert (<= X[0,0] 3.0))\n"
        "(assert (>= X[1,0] 0.0))\n(assert (<= X[1,0] 0.0))\n\n"
        "(assert (>= Y[0,0] Y[0,1]))\n"
    )
    with pytest.raises(BadInput, match="shape"):
        write(box, Violation.misclassification(1, 2), input_shape=(3,))
    with pytest.raises(BadInput, match="element type"):
        write(box, Violation.misclassification(1, 2), element_type="int8")


numbers = st.builds(lambda n, twos: Fraction(n, 2**twos), st.integers(-99, 99), st.integers(0, 9))


@given(
    st.lists(st.integers(1, 3), max_size=3),
    st.lists(st.integers(1, 3), max_size=2),
    st.sampled_from(["float32", "float64", "real"]),
    st.data(),
)
@settings(max_examples=100, deadline=None)
def test_round_trip_is_exact(
    input_shape: list[int], output_shape: list[int], element_type: str, data: st.DataObject
) -> None:
    inputs, outputs = prod(input_shape), prod(output_shape)
    sides = [sorted((data.draw(numbers), data.draw(numbers))) for _ in range(inputs)]
    terms = st.dictionaries(st.integers(0, outputs - 1), numbers.filter(bool), min_size=1)
    inequalities = st.builds(lambda t, b: Inequality(tuple(sorted(t.items())), b), terms, numbers)
    conjunctions = st.lists(inequalities, min_size=1, max_size=3).map(tuple)
    disjuncts = data.draw(st.lists(conjunctions, min_size=1, max_size=3))
    box = Box(tuple(low for low, _ in sides), tuple(high for _, high in sides))
    case = Case(box, Violation(outputs, tuple(disjuncts)))
    text = write(
        case.box,
        case.violation,
        input_shape=input_shape,
        output_shape=output_shape,
        element_type=element_type,
    )
    assert read_any(text, "f") == Specification((case,))
