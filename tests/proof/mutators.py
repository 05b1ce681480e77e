"""Ways to spoil a claim. Each takes the claim, a source of randomness and claims of others.

A mutator returns None where it does not apply. It tells whether the proof is broken whatever the
files say (a leaf is missing, a digest is stale); otherwise the independent oracle decides whether
the statement has become false. Digests are made to match again, so that it is the proof and not
the digest that must reject.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from small_claims import Claimed


@dataclass(frozen=True)
class Mutant:
    claim: Claimed
    broken: bool = False


TRIVIAL = {"digest_changed", "stale_digest", "truth_garbled"}
"""Mutants that are rejected before any proof is looked at."""

Mutator = Callable[[Claimed, Random, Sequence[Claimed]], "Mutant | None"]
MUTATORS: dict[str, Mutator] = {}
SHARED = (
    "weight_ulp",
    "weight_jump",
    "bias_ulp",
    "bias_jump",
    "rows_exchanged",
    "graph_changed",
    "bound_digit",
    "question_changed",
    "other_network",
    "other_question",
    "other_truth",
    "answer_swapped",
    "margin_changed",
    "guard_raised",
    "truth_garbled",
    "kind_changed",
    "stale_digest",
    "digest_changed",
    "witness_changed",
)
"""Those that spoil a claim of a family with or without certificate data."""


def mutator(function: Mutator) -> Mutator:
    MUTATORS[function.__name__] = function
    return function


def signed(claim: Claimed) -> Mutant:
    return Mutant(claim.signed())


# Weights and biases.


def _tensor(claim: Claimed, draw: Random, rank: int) -> tuple[onnx.ModelProto, TensorProto]:
    model = onnx.ModelProto.FromString(claim.onnx)
    return model, draw.choice([t for t in model.graph.initializer if len(t.dims) == rank])


def _with_element(
    claim: Claimed, draw: Random, rank: int, change: Callable[[np.float32], object]
) -> Mutant | None:
    model, tensor = _tensor(claim, draw, rank)
    values = numpy_helper.to_array(tensor).copy()
    flat = values.reshape(-1)
    # zeros hold most of the structure, the other numbers most of the meaning
    filled = np.flatnonzero(flat)
    index = (
        draw.choice(filled.tolist())
        if len(filled) and draw.random() < 0.8
        else draw.randrange(flat.size)
    )
    before = flat[index].tobytes()
    flat[index] = change(flat[index])
    if flat[index].tobytes() == before:
        return None
    tensor.raw_data = values.tobytes()
    return signed(replace(claim, onnx=model.SerializeToString()))


def _ulp(draw: Random) -> Callable[[np.float32], object]:
    return lambda v: np.nextafter(v, np.float32(draw.choice([-np.inf, np.inf])))


def _jump(draw: Random) -> Callable[[np.float32], object]:
    return draw.choice(
        [
            lambda v: -v,
            lambda v: v * 2,
            lambda v: v / 2,
            lambda v: v + 1,
            lambda v: v - 1,
            lambda _: 0,
            lambda v: v * np.float32(1 + draw.uniform(-0.1, 0.1)),
            lambda _: np.nan,
            lambda _: np.inf,
            lambda _: 3e38,
        ]
    )


@mutator
def weight_ulp(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    return _with_element(claim, draw, 2, _ulp(draw))


@mutator
def weight_jump(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    return _with_element(claim, draw, 2, _jump(draw))


@mutator
def bias_ulp(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    return _with_element(claim, draw, 1, _ulp(draw))


@mutator
def bias_jump(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    return _with_element(claim, draw, 1, _jump(draw))


@mutator
def rows_exchanged(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    model, tensor = _tensor(claim, draw, 2)
    values = numpy_helper.to_array(tensor)
    axis = draw.choice([0, 1])
    order = list(range(values.shape[axis]))
    draw.shuffle(order)
    moved = np.take(values, order, axis)
    if (moved == values).all():
        return None
    tensor.raw_data = np.ascontiguousarray(moved).tobytes()
    return signed(replace(claim, onnx=model.SerializeToString()))


# The graph.


@mutator
def graph_changed(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    model = onnx.ModelProto.FromString(claim.onnx)
    graph = model.graph
    node = draw.choice(list(graph.node))
    tensor = draw.choice([t for t in graph.initializer if len(t.dims) == 2])
    relus = [i for i, n in enumerate(graph.node) if n.op_type == "Relu"]

    def transposed() -> None:
        flags = [a for a in node.attribute if a.name == "transB"]
        for flag in flags:
            node.attribute.remove(flag)
        if not flags:
            node.attribute.append(helper.make_attribute("transB", 1))

    def without_relu() -> None:
        index = draw.choice(relus)
        graph.node[index + 1].input[0] = graph.node[index].input[0]
        del graph.node[index]

    def shortcut() -> None:
        graph.node[draw.choice(relus) + 1].input[0] = graph.input[0].name

    def extra_relu() -> None:
        last = graph.node[len(graph.node) - 1]
        last.output[0] = "before"
        graph.node.append(helper.make_node("Relu", ["before"], [graph.output[0].name]))

    def dim(info: onnx.ValueInfoProto) -> None:
        chosen = draw.choice(list(info.type.tensor_type.shape.dim))
        chosen.dim_value = draw.choice([0, 1, 2, 3, -1, chosen.dim_value + 1])

    changes: list[Callable[[], object]] = [
        transposed,
        without_relu,
        shortcut,
        extra_relu,
        lambda: dim(graph.input[0]),
        lambda: dim(graph.output[0]),
        lambda: tensor.dims.reverse(),
        lambda: tensor.dims.append(1),
        lambda: setattr(
            node, "op_type", draw.choice(["Gemm", "MatMul", "Relu", "LeakyRelu", "Tanh"])
        ),
        lambda: setattr(
            graph.node[draw.choice(relus)], "op_type", draw.choice(["Abs", "Identity"])
        ),
        lambda: node.attribute.append(
            helper.make_attribute("alpha", draw.choice([0.5, 2.0, -1.0]))
        ),
        lambda: node.attribute.append(helper.make_attribute("beta", 0.0)),
        lambda: node.input.__setitem__(-1, draw.choice([t.name for t in graph.initializer])),
        lambda: node.input.pop(),
        lambda: node.output.__setitem__(0, graph.output[0].name),
        lambda: graph.node.pop(draw.randrange(len(graph.node))),
        lambda: graph.initializer.remove(tensor),
        lambda: setattr(graph.output[0], "name", graph.node[0].output[0]),
        lambda: setattr(model.opset_import[0], "version", draw.choice([1, 6, 99])),
    ]
    draw.choice(changes)()
    data = model.SerializeToString()
    return None if data == claim.onnx else signed(replace(claim, onnx=data))


# The question.


@mutator
def bound_digit(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    text = claim.vnnlib.decode()
    numbers = [m.span(1) for m in re.finditer(r"X_\d+ (-?[0-9.]+)\)", text)]
    start, end = draw.choice(numbers)
    places = [i for i in range(start, end) if text[i].isdigit()]
    # digits at the front move the bound, digits at the end hardly
    at = draw.choice([places[0], places[min(2, len(places) - 1)], draw.choice(places), places[-1]])
    digit = draw.choice([d for d in "0123456789" if d != text[at]])
    return signed(replace(claim, vnnlib=(text[:at] + digit + text[at + 1 :]).encode()))


@mutator
def question_changed(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    text = claim.vnnlib.decode()
    outputs = sorted(set(re.findall(r"Y_\d+", text)))
    conditions = re.findall(r"\([<>]= Y_\d+ Y_\d+\)", text)
    chosen, other = draw.choice(conditions), draw.choice(conditions)
    first, second = draw.sample(outputs, 2)
    exchanged = {first: second, second: first}
    box, property_ = text[: text.rindex("X_")], text[text.rindex("X_") :]
    changed = draw.choice(
        [
            text.replace(chosen, chosen.replace(">=", "<=")),
            box + re.sub(r"Y_\d+", lambda m: exchanged.get(m[0], m[0]), property_),
            text.replace(chosen, f"{chosen} {other}"),
            text.replace(chosen, f"(>= {first} 0)"),
            text.replace(chosen, chosen.replace(">=", ">")),
            text.replace(chosen, ""),
            text.replace("(declare-const X_0 Real)\n", ""),
            text + "(declare-const X_99 Real)\n",
            text + f"(assert (<= {first} 1000))\n",
            text + f"(assert (or (>= {first} -1000) (>= {second} -1000)))\n",
            text[:-3],
        ]
    )
    return None if changed == text else signed(replace(claim, vnnlib=changed.encode()))


@mutator
def other_network(claim: Claimed, draw: Random, others: Sequence[Claimed]) -> Mutant | None:
    other = draw.choice(others)
    return None if other.onnx == claim.onnx else signed(replace(claim, onnx=other.onnx))


@mutator
def other_question(claim: Claimed, draw: Random, others: Sequence[Claimed]) -> Mutant | None:
    other = draw.choice(others)
    return None if other.vnnlib == claim.vnnlib else signed(replace(claim, vnnlib=other.vnnlib))


@mutator
def other_truth(claim: Claimed, draw: Random, others: Sequence[Claimed]) -> Mutant | None:
    """The whole truth of another one, about these files: swapped labels among them."""
    other = draw.choice(others)
    return signed(replace(claim, truth=other.truth, arrays=other.arrays))


# The truth.


@mutator
def answer_swapped(claim: Claimed, draw: Random, others: Sequence[Claimed]) -> Mutant | None:
    robust = claim.truth["answer"] == "robust"
    donor = draw.choice([o for o in others if (o.truth["answer"] == "robust") != robust])
    truth = {k: v for k, v in claim.truth.items() if k != "witness"}
    truth["answer"] = donor.truth["answer"]
    if draw.random() < 0.7:
        truth["certificate"] = donor.truth["certificate"]
        truth["margin"] = donor.truth["margin"]
    if robust and draw.random() < 0.9:
        truth["witness"] = donor.truth["witness"]
    arrays = donor.arrays if draw.random() < 0.7 else claim.arrays
    return signed(replace(claim, truth=truth, arrays=arrays))


@mutator
def margin_changed(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    margin = Fraction(claim.truth["margin"])
    step = abs(margin) / 10 ** draw.randrange(9)
    changed = draw.choice(
        [margin + step, margin - step, margin + step, -margin, margin * 2, margin + 1]
    )
    return signed(claim.stating(margin=str(changed)))


@mutator
def guard_raised(claim: Claimed, _: Random, __: Sequence[Claimed]) -> Mutant | None:
    """A knife-edge claim called safe: the constructor's own bound did not allow it."""
    if claim.truth["guard"] == "float32":
        return None
    return Mutant(claim.stating(guard="float32"), broken=True)


@mutator
def truth_garbled(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    key = draw.choice(sorted(set(claim.truth) - {"facts", "witness", "violation_probability"}))
    if draw.random() < 0.3:
        truth = {k: v for k, v in claim.truth.items() if k != key}
        return Mutant(replace(claim, truth=truth), broken=True)
    value = draw.choice([[], {"a": 1}, True, 1.5, ["robust"]])
    if key == "parameters" and isinstance(value, dict):
        return None
    return Mutant(claim.stating(**{key: value}), broken=True)


@mutator
def kind_changed(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    kinds = ["constant_box", "corners", "meap", "relu_tree", "witness", "", "CORNERS"]
    kinds += ["contractive_cnn", "paired_bias", "residual"]
    kind = draw.choice([k for k in kinds if k != claim.truth["certificate"]["kind"]])
    certificate = {**claim.truth["certificate"], "kind": kind}
    return signed(claim.stating(certificate=certificate))


@mutator
def stale_digest(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    which = draw.choice(["onnx", "vnnlib", "arrays"])
    data = getattr(claim, which)
    if data is None:
        return Mutant(replace(claim, arrays=b"\0\0\0\0"), broken=True)
    at = draw.randrange(len(data))
    changed = data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :]
    return Mutant(replace(claim, **{which: changed}), broken=True)


@mutator
def digest_changed(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    key = draw.choice(["onnx_sha256", "vnnlib_sha256"])
    text = claim.truth[key]
    at = draw.randrange(64)
    digit = draw.choice([d for d in "0123456789abcdef" if d != text[at]])
    return Mutant(claim.stating(**{key: text[:at] + digit + text[at + 1 :]}), broken=True)


# The witness.


@mutator
def witness_changed(claim: Claimed, draw: Random, _: Sequence[Claimed]) -> Mutant | None:
    if claim.truth["answer"] == "robust":
        return None
    texts = list(claim.truth["witness"])
    at = draw.randrange(len(texts))
    digits = [i for i, c in enumerate(texts[at]) if c.isdigit()]
    place = draw.choice([digits[0], draw.choice(digits), digits[-1]])
    digit = draw.choice([d for d in "0123456789" if d != texts[at][place]])
    value = Fraction(texts[at])
    changed: list[object] = [
        [*texts[:at], texts[at][:place] + digit + texts[at][place + 1 :], *texts[at + 1 :]],
        [*texts[:at], texts[at][:place] + digit + texts[at][place + 1 :], *texts[at + 1 :]],
        [*texts[:at], str(float(value) + draw.choice([-1, 1])), *texts[at + 1 :]],
        [*texts[:at], texts[at].removeprefix("-"), *texts[at + 1 :]],
        texts[1:] + texts[:1],
        texts[:-1],
        [*texts, "0.0"],
        [float(text) for text in texts],
    ]
    chosen = draw.choice(changed)
    return None if chosen == texts else signed(claim.stating(witness=chosen))
