"""Softmax attention: heads softmax(X W_Q W_K^T X^T) X W_V under a linear read-out.

Theorem. Let f be a margin f_y - f_k and g_i an enclosure of its i-th partial derivative over the
box with centre c and radius eps. By the mean value theorem f(x) >= f(c) - eps * sum_i max |g_i|.
The enclosures are Arb balls on the float32 weights, taken over nested boxes, with the scores'
matrix W_Q W_K^T multiplied out and constants taken from every row of scores (a softmax does not
feel them). The biases of the read-out set f(c) to `margin_slack` times that drop for every class,
so that little is left between the certified margin and the drop that a corner attains; the twin
gives one class less than that.

The factor 1 / sqrt(d_k) is part of W_Q. W_Q is W_K with noise, so that tokens attend to
themselves and their likes; `alpha` is the largest |score| at the centre.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field, model_validator

from assay.errors import CannotCertify
from assay.proof.rules.softmax_attention import least_excesses
from assay.question.graph import GraphBuilder
from assay.truth.attention_bound import papers_margin, score_gap
from assay.truth.constructor import Constructor, Knobs
from assay.truth.dyadic import as_written, float32_over, power, radius
from assay.truth.instance import Instance
from assay.truth.planted_head import Plan, planted
from assay.truth.randomness import centre, generator, signed

FAMILY = "softmax_attention"
_LARGEST = 127
_MOST_SCORES = 1 << 14
_MOST_SUMS = 1 << 22
Floats = NDArray[np.float32]


class SoftmaxAttentionKnobs(Knobs):
    tokens: int = Field(4, ge=2, le=64, description="sequence length n")
    width: int = Field(4, ge=1, le=64, description="token dimension d")
    key: int | None = Field(None, ge=1, le=64, description="key dimension d_k; null: as the tokens")
    value: int = Field(4, ge=1, le=64, description="value dimension d_v")
    heads: int = Field(1, ge=1, le=8, description="number of attention heads")
    block: Literal["attention", "transformer"] = Field(
        "attention", description="attention alone, or with residual sums and a feed-forward layer"
    )
    hidden: int = Field(8, ge=1, le=128, description="ReLU units of the feed-forward layer")
    classes: int = Field(5, ge=2, le=100, description="number of classes")
    alpha: float = Field(2.0, ge=0.01, le=30, description="largest |score| at the centre")
    epsilon: float = Field(1e-3, ge=1e-5, le=0.1, description="l_inf radius of the box")
    margin_slack: float = Field(
        1.05, ge=1.000001, le=100, description="nominal margin over the certified drop"
    )

    @property
    def key_width(self) -> int:
        return self.width if self.key is None else self.key

    @model_validator(mode="after")
    def _can_be_certified(self) -> SoftmaxAttentionKnobs:
        if self.heads * self.tokens**2 > _MOST_SCORES:
            raise ValueError(
                f"{self.heads} heads on {self.tokens} tokens make more than {_MOST_SCORES} scores; "
                "use fewer of either"
            )
        sums = self.classes * self.heads * self.tokens**2 * (self.width + self.value)
        if sums > _MOST_SUMS:
            raise ValueError(
                f"{self.classes} classes on {self.tokens} tokens of width {self.width} and "
                f"{self.value} values would take minutes to prove; lower one of them"
            )
        return self


@dataclass(frozen=True)
class Head:
    query: Floats
    key: Floats
    value: Floats
    output: Floats | None
    """What the head's rows are multiplied by before the heads are added up."""

    def add_to(self, graph: GraphBuilder) -> str:
        rows = graph.matmul(
            graph.softmax(
                graph.matmul(
                    graph.matmul(graph.input, self.query),
                    graph.transpose(graph.matmul(graph.input, self.key), (0, 2, 1)),
                )
            ),
            graph.matmul(graph.input, self.value),
        )
        return rows if self.output is None else graph.matmul(rows, self.output)


@dataclass(frozen=True)
class FeedForward:
    """y -> y + relu(y first + bias) second."""

    first: Floats
    bias: Floats
    second: Floats

    def add_to(self, graph: GraphBuilder, rows: str) -> str:
        hidden = graph.relu(graph.add(graph.matmul(rows, self.first), self.bias))
        return graph.add(rows, graph.matmul(hidden, self.second))


@dataclass(frozen=True)
class Block:
    heads: tuple[Head, ...]
    feed_forward: FeedForward | None

    def add_to(self, graph: GraphBuilder) -> str:
        rows = self.heads[0].add_to(graph)
        for head in self.heads[1:]:
            rows = graph.add(rows, head.add_to(graph))
        if self.feed_forward is None:
            return rows
        return self.feed_forward.add_to(graph, graph.add(graph.input, rows))


def make(knobs: SoftmaxAttentionKnobs, seed: int) -> list[Instance]:
    draw = generator(FAMILY, knobs, seed)
    middle = centre(draw, knobs.tokens * knobs.width)
    label = int(draw.integers(knobs.classes))
    epsilon = radius(knobs.epsilon)
    block = _block(draw, knobs, middle)
    size = knobs.value if knobs.block == "attention" else knobs.width
    readout = float32_over(signed(draw, _LARGEST, (knobs.classes, knobs.tokens * size)), -10)
    facts: dict[str, str] = {}
    if knobs.block == "attention" and knobs.heads == 1:
        head, tokens = block.heads[0], (knobs.tokens, knobs.width)
        bound = papers_margin(middle, tokens, epsilon, head.query, head.key, head.value, readout)
        facts["margin_of_the_papers_bound"] = str(bound)
        facts["score_gap"] = str(score_gap(middle, tokens, epsilon, head.query, head.key))
    return planted(
        Plan(
            FAMILY,
            knobs.model_dump(mode="json"),
            seed,
            (knobs.tokens, knobs.width),
            block.add_to,
            readout,
            middle,
            epsilon,
            label,
            as_written(knobs.margin_slack),
            "margin_slack",
            rule=FAMILY,
            least_excesses=least_excesses,
            remedy="lower epsilon or alpha",
            facts=facts,
        )
    )


def _block(draw: Generator, knobs: SoftmaxAttentionKnobs, middle: tuple[Fraction, ...]) -> Block:
    heads = tuple(_head(draw, knobs, middle) for _ in range(knobs.heads))
    if knobs.block == "attention":
        return Block(heads, None)
    first = float32_over(signed(draw, _LARGEST, (knobs.width, knobs.hidden)), -8)
    second = float32_over(signed(draw, _LARGEST, (knobs.hidden, knobs.width)), -9)
    bias = float32_over(signed(draw, _LARGEST, (knobs.hidden,)), -9)
    return Block(heads, FeedForward(first, bias, second))


def _head(draw: Generator, knobs: SoftmaxAttentionKnobs, middle: tuple[Fraction, ...]) -> Head:
    shape = (knobs.width, knobs.key_width)
    key = signed(draw, _LARGEST, shape)
    query = 4 * key + signed(draw, _LARGEST, shape)
    numerators = np.array([int(v * 256) for v in middle]).reshape(knobs.tokens, knobs.width)
    scores = (numerators @ query) @ (numerators @ key).T
    if not scores.any():
        raise CannotCertify(
            f"{FAMILY}: all scores are zero at the centre; raise width or try another seed"
        )
    # keys are below 1; the queries take the rest of the scale, rounded to float32
    scale = as_written(knobs.alpha) / (int(np.abs(scores).max()) * power(-16 - 7))
    turned = [float(int(q) * scale) for q in query.ravel()]
    value = float32_over(signed(draw, _LARGEST, (knobs.width, knobs.value)), -7)
    output = None
    if knobs.heads > 1 or knobs.block == "transformer":
        size = knobs.value if knobs.block == "attention" else knobs.width
        output = float32_over(signed(draw, _LARGEST, (knobs.value, size)), -8)
    return Head(
        np.array(turned).reshape(shape).astype(np.float32), float32_over(key, -7), value, output
    )


CONSTRUCTOR = Constructor(
    name=FAMILY,
    summary="softmax attention, one head or a transformer block, with every class near its bound",
    theorem="a margin drops by at most eps times the sum of its largest partial derivatives",
    knobs=SoftmaxAttentionKnobs,
    make=make,
)
