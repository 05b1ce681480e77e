"""A VNN-LIB question in the other version: the same assertions about the same variables.

Only declarations and the names of variables differ between the versions, and `=` is written `==`
in 2.0. Numbers are copied as they stand, so nothing is rounded; comments are left behind. The
caller reads the new text back and compares: nothing here is trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path

from assay.errors import BadInput
from assay.question.sexpr import MAX_CHARACTERS, Atom, Form, Source
from assay.question.vnnlib2 import read_any

_Rename = Callable[[Atom], str]


def question_text(path: Path) -> str:
    """The text of a VNN-LIB file on disk."""
    try:
        with path.open("rb") as stream:
            data = stream.read(4 * MAX_CHARACTERS + 1)
        text = data.decode("utf-8")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); check the file") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: not UTF-8 text; write VNN-LIB as plain text") from None
    if len(text) > MAX_CHARACTERS:
        raise BadInput(f"{path}: larger than {MAX_CHARACTERS} characters; split the file")
    return text


def version_of(text: str, place: str) -> str:
    """Which version of VNN-LIB the first command belongs to."""
    first = next(Source(text, place).forms(), None)
    is_second = first is not None and first.head in ("vnnlib-version", "declare-network")
    return "2.0" if is_second else "1.0"


def rewritten(
    text: str, place: str, version: str, input_shape: Sequence[int], output_shape: Sequence[int]
) -> str:
    """The question of `text` in the version asked for; the shapes are those of the network."""
    case = read_any(text, place).cases[0]
    sizes = case.box.dimension, case.violation.outputs
    if sizes != (prod(input_shape), prod(output_shape)):
        raise BadInput(
            f"{place}: has {sizes[0]} inputs and {sizes[1]} outputs, its network "
            f"{prod(input_shape)} and {prod(output_shape)}; correct one of them"
        )
    forms = list(Source(text, place).forms())
    number = _numbers_of(forms)
    if version == "2.0":
        shapes = {"X": input_shape, "Y": output_shape}
        head = _declarations_2(input_shape, output_shape)

        def name(letter: str, index: int) -> str:
            return _element(letter, shapes[letter], index)
    else:
        head = [f"(declare-const X_{i} Real)" for i in range(sizes[0])]
        head += [f"(declare-const Y_{j} Real)" for j in range(sizes[1])]

        def name(letter: str, index: int) -> str:
            return f"{letter}_{index}"

    def rename(atom: Atom) -> str:
        variable = number(atom)
        return atom.text if variable is None else name(*variable)

    equal = "==" if version == "2.0" else "="
    body = [_written(form, rename, equal) for form in forms if form.head == "assert"]
    return "\n".join([*head, "", *body]) + "\n"


def _declarations_2(input_shape: Sequence[int], output_shape: Sequence[int]) -> list[str]:
    x, y = (",".join(map(str, shape)) for shape in (input_shape, output_shape))
    return [
        "(vnnlib-version <2.0>)",
        "",
        "(declare-network N",
        f"    (declare-input X float32 [{x}])",
        f"    (declare-output Y float32 [{y}])",
        ")",
    ]


def _element(letter: str, shape: Sequence[int], index: int) -> str:
    indices: list[str] = []
    for extent in reversed(shape):
        index, place = divmod(index, extent)
        indices.append(str(place))
    return f"{letter}[{','.join(reversed(indices))}]" if indices else letter


def _numbers_of(forms: Sequence[Form]) -> Callable[[Atom], tuple[str, int] | None]:
    """How an atom of these forms becomes X or Y and its number in C order, if it is a variable.

    The text has been read before, so its declarations are known to be well formed.
    """
    if forms[0].head != "vnnlib-version":

        def first(atom: Atom) -> tuple[str, int] | None:
            return (atom.text[0], int(atom.text[2:])) if atom.text[0] in "XY" else None

        return first
    shapes: dict[str, tuple[str, list[int]]] = {}
    for part in forms[1].items[2:]:
        assert isinstance(part, Form)
        tensor, kind = part.items[1], part.items[2]
        assert isinstance(tensor, Atom)
        assert isinstance(kind, Atom)
        letter = "X" if part.head == "declare-input" else "Y"
        shapes[tensor.text] = letter, _whole_numbers(kind.suffix)

    def second(atom: Atom) -> tuple[str, int] | None:
        if atom.text not in shapes:
            return None
        letter, shape = shapes[atom.text]
        flat = 0
        for extent, index in zip(shape, _whole_numbers(atom.suffix), strict=True):
            flat = flat * extent + index
        return letter, flat

    return second


def _whole_numbers(suffix: str) -> list[int]:
    return [int(word) for word in suffix.strip("[]").split(",") if word.strip()]


def _written(assertion: Form, rename: _Rename, equal: str) -> str:
    """One assertion, with the alternatives of a disjunction on lines of their own."""
    condition = assertion.items[1]
    if isinstance(condition, Form) and condition.head == "or":
        parts = [_flat(part, rename, equal) for part in condition.items[1:]]
        return "\n    ".join(["(assert (or", *parts]) + "\n))"
    return f"(assert {_flat(condition, rename, equal)})"


def _flat(root: Atom | Form, rename: _Rename, equal: str) -> str:
    """The text of a tree on one line; it may be deep, so nothing recurses."""
    words: list[str] = []
    pending: list[Atom | Form | str] = [root]
    while pending:
        item = pending.pop()
        if isinstance(item, Form):
            operator = equal if item.head in ("=", "==") else item.head
            pending += [")", *reversed(item.items[1:]), f"({operator}"]
        else:
            words.append(item if isinstance(item, str) else rename(item))
    return " ".join(words).replace(" )", ")")
