"""The grammar of result files: exact words, exact witnesses, and nothing found in a log."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.judge import answers
from assay.judge.answers import read_vnncomp, read_witness, says_timeout
from assay.judge.task import Answer
from assay.judge.verifier import Garbled, Refused

WITNESS = "((X_0 0.5)\n (X_1  -1e-05)\n(Y_0 1.25)(Y_1 .5))\n"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("unsat", "robust"),
        ("unsat\n", "robust"),
        ("holds\r\n", "robust"),
        ("UNSAT\n\n", "robust"),
        ("sat", "violated"),
        ("violated\n", "violated"),
        ("unknown\n", "unknown"),
        ("timeout\n", "unknown"),
        ("timed-out", "unknown"),
        ("run_instance_timeout", "unknown"),
    ],
)
def test_a_word_is_a_verdict(text: str, verdict: str) -> None:
    assert read_vnncomp(text) == Answer(verdict)  # type: ignore[arg-type]


def test_a_witness_keeps_its_digits() -> None:
    answer = read_vnncomp("sat\n" + WITNESS)
    assert answer == Answer("violated", ("0.5", "-1e-05"), ("1.25", ".5"))


@pytest.mark.parametrize("value", ["nan", "-NaN", "inf", "+Infinity", "1e999999999", "1."])
def test_odd_values_are_left_to_the_judge(value: str) -> None:
    assert read_vnncomp(f"sat\n((X_0 {value}))").witness == (value,)


def test_a_witness_may_be_empty() -> None:
    assert read_vnncomp("sat\n()").witness == ()


@pytest.mark.parametrize(
    "text",
    ["error", "error_exit_code_1", "error_exit_code_-9", "no_result_in_file", "ERROR\ntraceback"],
)
def test_the_tool_declined(text: str) -> None:
    with pytest.raises(Refused, match="the tool says"):
        read_vnncomp(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "\nunsat",
        "unsat sat",
        "unsatisfiable",
        "sat?",
        "result: unsat",
        "INFO unsat\nsat",
        "unsafe",
        "safe",
        "SAFE\nsat",
        "\ufeffunsat",
        "un\u212anown",
        "timeout(X_0 1)",
        "unsat\n((X_0 1))",
        "unsat\nsat",
        "unknown\nunsat",
        "sat\nunsat",
        "sat\nTraceback (most recent call last)",
        "sat\n((X_0 1)",
        "sat\n(X_0 1)",
        "sat\n((X_1 1))",
        "sat\n((X_0 1)(X_0 2))",
        "sat\n((X_0 1)(X_2 2))",
        "sat\n((X_00 1))",
        "sat\n((X_0 1 2))",
        "sat\n((X_0))",
        "sat\n((Z_0 1))",
        "sat\n((X_0 one))",
        "sat\n((X_0 1/3))",
        "sat\n((X_0 0x1))",
        "sat\n((X_0 1))garbage",
        "sat\n((X_0 1)))",
        "sat\n((X_0 1))((X_0 1))",
        "sat\n((X_0 \u0661))",
        "sat\x00",
        "error: unsat",
        "error_exit_code_99999999999999999999",
        f"sat\n((X_0 {'1' * 5000}))",
    ],
    ids=lambda text: ascii(text)[:40],
)
def test_garbage_is_garbled(text: str) -> None:
    with pytest.raises(Garbled):
        read_vnncomp(text)


def test_the_place_is_named() -> None:
    with pytest.raises(Garbled, match="line 4: X_3 where X_2 is due"):
        read_vnncomp("sat\n((X_0 1)\n(X_1 2)\n(X_3 3))")
    with pytest.raises(Garbled, match="line 1: "):
        read_witness("((X_0 ?))")


def test_only_a_timeout_says_timeout() -> None:
    assert says_timeout("timeout\n")
    assert says_timeout("timed-out")
    assert not any(map(says_timeout, ("unknown", "unsat", "", "a timeout", "sat\ntimeout")))


def test_sizes_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "LARGEST_RESULT", 100)
    monkeypatch.setattr(answers, "MOST_VALUES", 2)
    with pytest.raises(Garbled, match="more than 100 characters"):
        read_vnncomp("sat\n" + " " * 100)
    with pytest.raises(Garbled, match="more than 2 values"):
        read_vnncomp("sat\n((X_0 1)(X_1 1)(X_2 1))")


@pytest.mark.parametrize(
    "text",
    [
        "sat\n" + "(" * 1_000_000,
        "sat\n(" + " " * 1_000_000 + "x",
        "sat\n((X_0" + " " * 1_000_000 + "(",
        "sat\n((X_0 " + "1" * 1_000_000 + "))",
        "sat\n(" + "(X_0 1)" * 100_000,
        "u" * 1_000_000,
        "sat" + " " * 1_000_000 + "\n" * 1_000_000,
    ],
    ids=range(7),
)
def test_reading_takes_linear_time(text: str) -> None:
    start = time.perf_counter()
    allowed(text)
    assert time.perf_counter() - start < 1


def test_a_long_witness_is_read() -> None:
    pairs = "\n".join(f"(X_{i} {i}.125)" for i in range(150_000))
    witness = read_vnncomp(f"sat\n({pairs}\n(Y_0 1))").witness
    assert witness is not None
    assert (len(witness), witness[-1]) == (150_000, "149999.125")


def allowed(text: str) -> str:
    """How the text is read; anything but an answer or the two exceptions is an error."""
    try:
        return read_vnncomp(text).verdict
    except Garbled:
        return "garbled"
    except Refused:
        return "refused"


def test_two_thousand_mutations() -> None:
    rng = random.Random(0)
    seeds = ["sat\n" + WITNESS, "unsat\n", "holds", "timeout\n", "error_exit_code_1", "unknown"]
    pieces = ["(", ")", "sat", "un", "\n", " ", "X_", "1", "nan", "\x00", "\u2028", "e9", "_", "-"]
    for _ in range(2_000):
        text = rng.choice(seeds)
        for _ in range(rng.randint(1, 6)):
            at, length = rng.randint(0, len(text)), rng.randint(0, 3)
            text = text[:at] + rng.choice(["", *pieces]) + text[at + length :]
        read = allowed(text)
        first = text.split("\n")[0].strip(" \t\r").lower()
        if read == "violated":
            assert first in ("sat", "violated")
        if read == "robust":
            assert first in ("unsat", "holds")


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80), st.sampled_from(["", "sat\n", "unsat\n", "sat\n(", "sat\n((X_0 "]))
def test_any_text_is_answer_garbled_or_refused(text: str, prefix: str) -> None:
    allowed(prefix + text)


@given(st.lists(st.floats(allow_nan=False, width=32), max_size=20))
def test_what_a_tool_writes_is_read_back(values: list[float]) -> None:
    pairs = "".join(f"(X_{i} {value!r})" for i, value in enumerate(values))
    witness = read_vnncomp(f"sat\n({pairs})\n").witness
    assert witness is not None
    assert [float(text) for text in witness] == values
