"""The result file of a VNN-COMP tool, read by a strict grammar: nothing is searched for in it.

    file    = word [ witness ]               the word alone on the first line
    word    = sat | violated | unsat | holds | unknown | timeout | timed-out
            | run_instance_timeout | error words
    witness = "(" pair pair ... ")"          after `sat` or `violated` only, over any lines
    pair    = "(" name value ")"             X_0, X_1, ... and Y_0, Y_1, ..., each in order
    value   = a decimal number, or NaN or an infinity: text here, judged by `judge.witness`

A whole word must match, so `unsat` cannot be read as `sat`; a log that happens to hold one of the
words is not a result file.
"""

from __future__ import annotations

import re

from assay.judge.task import Answer, Verdict
from assay.judge.verifier import Garbled, Refused

LARGEST_RESULT = 64 * 1024 * 1024
"""Characters; a million inputs with 17 digits each take 30 million."""
MOST_VALUES = 2_000_000
LONGEST_VALUE = 3_400

ROBUST_WORDS = frozenset({"unsat", "holds"})
VIOLATED_WORDS = frozenset({"sat", "violated"})
TIMEOUT_WORDS = frozenset(
    {"timeout", "timed-out", "run_instance_timeout", "prepare_instance_timeout"}
)
UNKNOWN_WORDS = frozenset({"unknown"})
_ERROR = re.compile(
    r"error|error_exit_code_-?[0-9]{1,6}|error_nonmaximal|no_result_in_file"
    r"|prepare_instance_error_-?[0-9]{0,6}"
)
_LONGEST_WORD = 64

# Possessive quantifiers (++, *+) keep matching linear: there is never anything to backtrack into.
_SPACE = r"[ \t\r\n]"
_OPEN = re.compile(rf"{_SPACE}*+\(")
_PAIR = re.compile(
    rf"{_SPACE}*+\({_SPACE}*+([XY])_(0|[1-9][0-9]{{0,8}}){_SPACE}++"
    rf"([^ \t\r\n()]{{1,{LONGEST_VALUE}}}+){_SPACE}*+\)"
)
_CLOSE = re.compile(rf"{_SPACE}*+\){_SPACE}*+\Z")
_VALUE = re.compile(
    r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
    r"|[+-]?(?:[nN][aA][nN]|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)"
)


def read_vnncomp(text: str) -> Answer:
    """The answer in a result file; raises Garbled or Refused and nothing else.

    A tool's own `timeout` is the answer `unknown`; `says_timeout` tells the two apart.
    """
    word, rest = _first_line(text)
    if word in VIOLATED_WORDS:
        return _violated(rest)
    if is_error(word):
        raise Refused(f"the tool says {word}")
    verdict = _verdict(word)
    if rest.strip(" \t\r\n"):
        raise Garbled(f"line 2: something follows {word}, which has no witness")
    return Answer(verdict)


def says_timeout(text: str) -> bool:
    """Whether the file says that the tool ran out of its time."""
    try:
        word, _ = _first_line(text)
    except Garbled:
        return False
    return word in TIMEOUT_WORDS


def read_witness(text: str, first_line: int = 1) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The inputs and outputs of a witness ((X_0 v) ... (Y_0 v)), as texts; raises Garbled.

    `first_line` is the number of its first line in the file, for the message.
    """

    def garbled(position: int, sentence: str) -> Garbled:
        return Garbled(f"line {first_line + text.count(chr(10), 0, position)}: {sentence}")

    if len(text) > LARGEST_RESULT:
        raise Garbled(f"more than {LARGEST_RESULT} characters")
    opened = _OPEN.match(text)
    if opened is None:
        raise garbled(0, "a witness begins with '('")
    values: dict[str, list[str]] = {"X": [], "Y": []}
    position = opened.end()
    while pair := _PAIR.match(text, position):
        letter, index, value = pair.groups()
        if int(index) != len(values[letter]):
            expected = f"{letter}_{len(values[letter])}"
            raise garbled(pair.start(1), f"{letter}_{index} where {expected} is due")
        if len(values["X"]) + len(values["Y"]) >= MOST_VALUES:
            raise garbled(pair.start(1), f"more than {MOST_VALUES} values")
        if not _VALUE.fullmatch(value):
            raise garbled(pair.start(3), f"{value[:40]!a} is not a number")
        values[letter].append(value)
        position = pair.end()
    if not _CLOSE.match(text, position):
        raise garbled(position, "neither (X_i value), (Y_i value) nor the last ')'")
    return tuple(values["X"]), tuple(values["Y"])


def is_error(word: str) -> bool:
    """Whether this is one of the words for a tool that failed."""
    return _ERROR.fullmatch(word) is not None


def _violated(rest: str) -> Answer:
    if not rest.strip(" \t\r\n"):
        return Answer("violated")
    inputs, outputs = read_witness(rest, first_line=2)
    return Answer("violated", inputs, outputs)


def _verdict(word: str) -> Verdict:
    if word in ROBUST_WORDS:
        return "robust"
    if word in UNKNOWN_WORDS or word in TIMEOUT_WORDS:
        return "unknown"
    raise Garbled(f"line 1: {word[:40]!a} is not a verdict")


def _first_line(text: str) -> tuple[str, str]:
    """The word on the first line in lower case, and what follows the line."""
    if len(text) > LARGEST_RESULT:
        raise Garbled(f"more than {LARGEST_RESULT} characters")
    line, _, rest = text.partition("\n")
    word = line.strip(" \t\r")
    if not word:
        raise Garbled("line 1: no verdict")
    # Some letters beyond ASCII have an ASCII lower case.
    if len(word) > _LONGEST_WORD or not word.isascii():
        raise Garbled(f"line 1: {word[:40]!a} is not a verdict")
    return word.lower(), rest
