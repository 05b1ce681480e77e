"""Thousands of damaged files: each is refused in one sentence or read rightly.

What a successful reading should mean is decided here by a second, naive evaluator that shares
nothing with the readers: it evaluates the assertions directly at points in and around the boxes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from fractions import Fraction

import pytest

from assay.errors import BadInput
from assay.question import vnnlib, vnnlib2
from assay.question.property import Case, Inequality, Specification, Violation
from assay.question.region import Box

MUTATIONS = 1_500

FIRST = """; two boxes
(declare-const X_0 Real)
(declare-const X_1 Real)
(declare-const Y_0 Real)
(declare-const Y_1 Real)
(declare-const Y_2 Real)

(assert (>= X_0 -0.25))
(assert (<= X_0 1.5e0))
(assert (or (and (>= X_1 0) (<= X_1 1)) (and (>= X_1 2.) (<= X_1 (* 3 1)))))
(assert (<= (+ (* 2.5 Y_0) (- Y_1) 1) Y_2)) ; linear
(assert (or (<= Y_0 Y_1) (and (>= Y_2 Y_0) (= Y_1 .5) (<= 0 1))))
"""

SECOND = """(vnnlib-version <2.0>)
(declare-network net
    (declare-input X float32 [1,2])
    (declare-output Y float32 [3])
)
(assert (>= X[0,0] -0.25))
(assert (<= X[0,0] 1.5))
(assert (or (and (>= X[0,1] 0.0) (<= X[0,1] 1.0)) (and (>= X[0,1] 2.0) (<= X[0,1] 3.0))))
(assert (<= (+ (* 2.5 Y[0]) (- Y[1]) 1.0) Y[2]))
(assert (or (<= Y[0] Y[1]) (and (>= Y[2] Y[0]) (== Y[1] 0.5))))
"""

PIECE = re.compile(r"\s+|[()\[\],]|;[^\n]*|[^\s()\[\],;]+")
NUMBERS = ["1e999999999", "-1e-999999999", "nan", "1.", ".5", "--1", "+2", "0x1", "1e", "9" * 9999]


def flip_bytes(text: str, rng: random.Random) -> str:
    data = bytearray(text.encode())
    for _ in range(rng.randint(1, 3)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data.decode("utf-8", errors="replace")


def delete_token(text: str, rng: random.Random) -> str:
    pieces = PIECE.findall(text)
    del pieces[rng.randrange(len(pieces))]
    return "".join(pieces)


def duplicate_token(text: str, rng: random.Random) -> str:
    pieces = PIECE.findall(text)
    at = rng.randrange(len(pieces))
    return "".join([*pieces[:at], pieces[at], " ", *pieces[at:]])


def swap_tokens(text: str, rng: random.Random) -> str:
    pieces = PIECE.findall(text)
    kind = rng.choice([r"\w", r"[()]", r"."])
    some = [i for i, piece in enumerate(pieces) if re.match(kind, piece)]
    i, j = rng.choice(some), rng.choice(some)
    pieces[i], pieces[j] = pieces[j], pieces[i]
    return "".join(pieces)


def truncate(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text))]


def garble_number(text: str, rng: random.Random) -> str:
    spans = [m.span() for m in re.finditer(r"(?<![\w<])-?\d+(\.\d*)?", text)]
    start, end = rng.choice(spans)
    fresh = rng.choice([*NUMBERS, str(rng.randint(-3, 3)), f"{rng.uniform(-2, 2):.3f}"])
    return text[:start] + fresh + text[end:]


def move_line(text: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    lines.insert(rng.randrange(len(lines)), lines.pop(rng.randrange(len(lines))))
    return "".join(lines)


def nest(text: str, rng: random.Random) -> str:
    depth = rng.choice([1, 5, 400, 1_100, 20_000])
    operator = rng.choice(["and", "or", "-", "(", ""])
    closing = ")" * (depth if rng.random() < 0.8 else depth - 1)
    target = rng.choice([m.span() for m in re.finditer(r"\([<>=]+ [^()]*\)|Y\S*", text)])
    inner = text[target[0] : target[1]]
    return text[: target[0]] + f"({operator} " * depth + inner + closing + text[target[1] :]


MUTATORS: list[Callable[[str, random.Random], str]] = [
    flip_bytes,
    delete_token,
    duplicate_token,
    swap_tokens,
    truncate,
    garble_number,
    move_line,
    nest,
]


def parsed(text: str) -> list[object]:
    """Nested lists of words; brackets become part of the word before them."""
    text = re.sub(r";[^\r\n]*", " ", text)
    text = re.sub(r"\s*\[([^\]]*)\]", lambda m: "[" + re.sub(r"\s", "", m[1]) + "] ", text)
    stack: list[list[object]] = [[]]
    for word in re.findall(r"[()]|[^ \t\r\n()]+", text):
        if word == "(":
            stack.append([])
        elif word == ")":
            inner = stack.pop()
            stack[-1].append(inner)
        else:
            stack[-1].append(word)
    return stack[0]


def value(node: object, point: dict[str, Fraction]) -> Fraction | bool:
    if isinstance(node, str):
        return point[node] if node in point else Fraction(node)
    assert isinstance(node, list)
    operator, parts = node[0], [value(part, point) for part in node[1:]]
    if operator == "and":
        return all(parts)
    if operator == "or":
        return any(parts)
    if operator == "+":
        return sum(parts, start=Fraction(0))
    if operator == "-":
        return Fraction(parts[0] - sum(parts[1:]) if len(parts) > 1 else -parts[0])
    if operator == "*":
        result = Fraction(1)
        for part in parts:
            result *= part
        return result
    left, right = parts
    return {"<=": left <= right, ">=": left >= right}.get(str(operator), left == right)


def names(inputs: int, outputs: int, text: str) -> tuple[list[str], list[str]]:
    if "vnnlib-version" not in text:
        return [f"X_{i}" for i in range(inputs)], [f"Y_{j}" for j in range(outputs)]
    found = re.findall(r"\(\s*declare-(?:in|out)put\s+(\w+)\s+\w+\s*\[([^\]]*)\]", text)
    (x, x_shape), (y, y_shape) = found
    if "declare-output" in text.partition("declare-input")[0]:
        (x, x_shape), (y, y_shape) = (y, y_shape), (x, x_shape)
    return elements(x, x_shape), elements(y, y_shape)


def elements(name: str, shape: str) -> list[str]:
    found = [""]
    for extent in shape.split(",") if shape.strip() else []:
        found = [f"{before},{i}" for before in found for i in range(int(extent))]
    return [f"{name}[{indices[1:]}]" if indices else name for indices in found]


def assert_means_the_same(text: str, specification: Specification, rng: random.Random) -> None:
    first = specification.cases[0]
    x_names, y_names = names(first.box.dimension, first.violation.outputs, text)
    asserted = [form[1] for form in parsed(text) if isinstance(form, list) and form[0] == "assert"]
    sides = [
        sorted({v for c in specification.cases for v in (c.box.lower[i], c.box.upper[i])})
        for i in range(len(x_names))
    ]
    for _ in range(12):
        xs = [rng.choice(side) + Fraction(rng.choice([0, 0, 0, 1]), 7) for side in sides]
        ys = [Fraction(rng.randint(-8, 8), 4) for _ in y_names]
        point = dict(zip(x_names + y_names, xs + ys, strict=True))
        expected = all(value(condition, point) for condition in asserted)
        read_so = any(
            case.box.contains(xs) and case.violation.margin(ys) <= 0 for case in specification.cases
        )
        assert read_so == expected, text


def assert_written_reads_back(case: Case) -> None:
    try:
        first, second = (w(case.box, case.violation) for w in (vnnlib.write, vnnlib2.write))
    except BadInput as error:
        assert "decimal expansion" in str(error)  # noqa: PT017 - such as a bound of 1/3
        return
    assert vnnlib2.read_any(first, "f") == vnnlib2.read_any(second, "f") == Specification((case,))


@pytest.mark.parametrize("original", [FIRST, SECOND], ids=["1.0", "2.0"])
def test_damaged_files_are_refused_or_read_rightly(original: str) -> None:
    rng = random.Random(20240607)
    refused = 0
    for number in range(MUTATIONS):
        text = MUTATORS[number % len(MUTATORS)](original, rng)
        if rng.random() < 0.2:
            text = rng.choice(MUTATORS)(text, rng) if "Y" in text and len(text) > 200 else text
        try:
            specification = vnnlib2.read_any(text, "f")
        except BadInput as error:
            message = str(error)
            assert re.match(r"f:\d+:", message)
            assert "\n" not in message
            refused += 1
            continue
        for case in specification.cases:
            assert_written_reads_back(case)
        if "\ufffd" not in text:
            assert_means_the_same(text, specification, rng)
    assert MUTATIONS // 10 < refused < MUTATIONS * 9 // 10


@pytest.mark.parametrize("original", [FIRST, SECOND], ids=["1.0", "2.0"])
def test_the_undamaged_files_are_the_same_question(original: str) -> None:
    half = Fraction(1, 2)
    linear = Inequality(((0, Fraction(5, 2)), (1, Fraction(-1)), (2, Fraction(-1))), Fraction(-1))
    violation = Violation(
        3,
        (
            (linear, Inequality(((0, Fraction(1)), (1, Fraction(-1))), Fraction(0))),
            (
                linear,
                Inequality(((0, Fraction(1)), (2, Fraction(-1))), Fraction(0)),
                Inequality(((1, Fraction(1)),), half),
                Inequality(((1, Fraction(-1)),), -half),
            ),
        ),
    )
    low, high = Fraction(-1, 4), Fraction(3, 2)
    boxes = [Box((low, Fraction(a)), (high, Fraction(b))) for a, b in [(0, 1), (2, 3)]]
    assert vnnlib2.read_any(original, "f") == Specification(
        tuple(Case(box, violation) for box in boxes)
    )
