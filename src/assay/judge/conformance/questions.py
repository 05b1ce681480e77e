"""The questions of the exam; every answer is proved by its family or plain from the formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from assay.judge.task import Verdict
from assay.question import vnnlib
from assay.question.graph import INPUT, OUTPUT, mlp
from assay.question.property import Inequality, Violation
from assay.question.region import Box
from assay.suite.verified import require_verified
from assay.truth.families import family

_SECONDS = 30.0
_FEW_SECONDS = 3.0
_BOX = Box((Fraction(-1), Fraction(-1)), (Fraction(1), Fraction(1)))


@dataclass(frozen=True)
class ExamQuestion:
    """`truth` None: the file is not a question, and any verdict about it is wrong."""

    name: str
    onnx: bytes
    vnnlib: bytes
    truth: Verdict | None
    seconds: float = _SECONDS


@cache
def exam() -> tuple[ExamQuestion, ...]:
    return (
        *_of_family("", {"inputs": 4, "classes": 3, "pairs": 3, "gamma": 0.5}),
        *_of_family("10,000 inputs, ", {"inputs": 10_000, "classes": 2, "pairs": 2, "gamma": 1.0}),
        *_disjunctions(),
        ExamQuestion("two boxes, the second violated", _folds(), _two_boxes(), "violated"),
        _timeout(),
        *_not_questions(),
    )


def _of_family(title: str, knobs: dict[str, Any]) -> list[ExamQuestion]:
    constructor = family("meap")
    made = constructor.make(constructor.knobs.model_validate(knobs), 0)
    for instance in made:
        require_verified(instance)
    return [
        ExamQuestion(f"{title}{i.truth.answer}", i.onnx, i.vnnlib, i.truth.answer) for i in made
    ]


def _timeout() -> ExamQuestion:
    """Far more pairs than can be searched through; a tool may still be clever."""
    hard = _of_family("", {"inputs": 40, "classes": 10, "pairs": 48, "gamma": 1e-3})
    robust = next(q for q in hard if q.truth == "robust")
    return ExamQuestion("hard, few seconds", robust.onnx, robust.vnnlib, "robust", _FEW_SECONDS)


def _folds() -> bytes:
    """Y_0 = Y_1 = |X_0|, Y_2 = |X_1|: each output takes exactly [0, 1] on the box [-1, 1]^2."""
    first = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]], np.float32)
    second = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]], np.float32)
    return mlp([(first, np.zeros(4, np.float32)), (second, np.zeros(3, np.float32))])


def _disjunctions() -> list[ExamQuestion]:
    def asked(
        name: str, disjuncts: Sequence[tuple[Inequality, ...]], truth: Verdict
    ) -> ExamQuestion:
        text = vnnlib.write(_BOX, Violation(3, tuple(disjuncts)))
        return ExamQuestion(name, _folds(), text.encode(), truth)

    never = [(_at_least(k, "1.5"),) for k in range(3)]
    holds = (_at_least(2, "0.5"),)
    apart = (_at_least(0, "0.75"), _at_most(1, "0.25"))
    together = (_at_least(0, "0.75"), _at_most(2, "0.25"))
    return [
        asked("disjunction, none holds", never, "robust"),
        asked("disjunction, the first holds", [holds, *never[:2]], "violated"),
        asked("disjunction, the last holds", [*never[:2], holds], "violated"),
        asked("conjunction, never together", [apart], "robust"),
        asked("conjunction, together", [never[0], together], "violated"),
    ]


def _at_least(output: int, bound: str) -> Inequality:
    return Inequality(((output, Fraction(-1)),), -Fraction(bound))


def _at_most(output: int, bound: str) -> Inequality:
    return Inequality(((output, Fraction(1)),), Fraction(bound))


def _two_boxes() -> bytes:
    """On the first box |X_0| stays below a half, on the second above."""
    declared = [f"(declare-const {name} Real)" for name in ("X_0", "X_1", "Y_0", "Y_1", "Y_2")]
    boxes = [
        f"(and (>= X_0 {low}) (<= X_0 {high}) (>= X_1 -1.0) (<= X_1 1.0) (>= Y_0 0.5))"
        for low, high in (("-0.25", "0.25"), ("0.75", "1.0"))
    ]
    return "\n".join([*declared, f"(assert (or {' '.join(boxes)}))", ""]).encode()


def _not_questions() -> list[ExamQuestion]:
    network = _folds()
    text = vnnlib.write(_BOX, Violation(3, ((_at_least(0, "0.5"),),))).encode()
    return [
        ExamQuestion("operator nobody knows", _unknown_operator(), text, None),
        ExamQuestion("network cut short", network[: len(network) // 2], text, None),
        ExamQuestion("property cut short", network, text[: len(text) // 2], None),
    ]


def _unknown_operator() -> bytes:
    """A well-formed file with an operator of a domain of its own."""
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size])
        for name, size in ((INPUT, 2), (OUTPUT, 3))
    ]
    node = helper.make_node("Quux", [INPUT], [OUTPUT], domain="assay.exam")
    graph = helper.make_graph([node], "exam", ends[:1], ends[1:])
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("assay.exam", 1)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())
