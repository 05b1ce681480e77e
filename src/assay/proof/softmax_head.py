"""One head of softmax attention as a single operation: Y = softmax(X M X^T) X W, row by row.

M = W_Q W_K^T and W = W_V, or W_V W_O, are multiplied out exactly, and two identities keep the
balls small:
a softmax does not change when one number is taken from a whole row of scores, and its shares sum
to 1. So with any constants c_i (here about sum_j a_ij x_j at the middle of the balls),

  a_i = softmax_j(x_i M (x_j - c_i)),       y_i = c_i W + sum_j a_ij (x_j - c_i) W,

and with g_ij the gain of the objective by a_ij, its gain by the score is
s_ij = a_ij (g_ij - sum_l a_il g_il), which sums to 0 over j.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flint import arb, arb_mat, fmpz_mat

from assay.proof.arithmetic import Unsupported
from assay.proof.balls import Ball, Balls, hull, quotient
from assay.proof.reader import Graph, Node, Tensor
from assay.proof.work import CURVE, ENTRY, PRODUCT, charge, keep

_MOST_PRODUCTS = 1 << 24


@dataclass(frozen=True)
class Attended(Balls):
    """The rows y_i, and what the derivatives need again."""

    shares: arb_mat
    tokens: arb_mat
    apart: list[arb_mat]
    """For each row i the vectors x_j - c_i, one a column."""
    keys_apart: list[arb_mat]
    """For each row i the vectors M (x_j - c_i), one a row."""


@dataclass(frozen=True)
class Head:
    """Takes the tensor `source` of shape (1, tokens, width) to `output`."""

    source: str
    output: str
    scores: arb_mat
    value: arb_mat

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.source,)

    def forward(self, operands: list[Balls]) -> Attended:
        (x,) = operands
        if len(x.shape) != 3 or x.shape[0] != 1 or x.shape[2] != self.scores.nrows():
            raise Unsupported("a head of attention takes something else than one row of tokens")
        _, rows, width = x.shape
        if rows * rows * width + rows * width * max(width, self.value.ncols()) > _MOST_PRODUCTS:
            raise Unsupported("a head of attention is too large for balls")
        columns = int(self.value.ncols())
        charge(PRODUCT * rows * (rows + 1) * width * (width + columns))
        charge((ENTRY * (2 * width + columns) + 4 * CURVE) * rows * rows)
        keep(2 * rows * rows * width, 0)
        tokens = x.matrix()
        middle = _each(tokens, lambda v: arb(v.mid()))
        shares, centres = self._shares(tokens, middle)
        apart = [tokens - _repeated(row, rows) for row in centres.tolist()]
        values = (centres * self.value).tolist()
        for i, row in enumerate(shares.tolist()):
            moved = arb_mat([row]) * (apart[i] * self.value)
            values[i] = [a + b for a, b in zip(values[i], moved.entries(), strict=True)]
        shape = (*x.shape[:-1], columns)
        return Attended(
            shape,
            [v for row in values for v in row],
            shares,
            tokens,
            [vectors.transpose() for vectors in apart],
            [vectors * self.scores.transpose() for vectors in apart],
        )

    def backward(self, operands: list[Balls], result: Balls, adjoint: Balls) -> list[Balls]:
        if not isinstance(result, Attended):
            raise TypeError("a head goes back over what it made itself")
        gains = adjoint.matrix() * self.value.transpose()
        scores, queries = [], []
        rows = zip(gains.tolist(), result.shares.tolist(), strict=True)
        for i, (gain, shares) in enumerate(rows):
            by_share = (arb_mat([gain]) * result.apart[i]).entries()
            scores.append(softmax_gains(shares, by_share))
            queries.append((arb_mat([scores[-1]]) * result.keys_apart[i]).entries())
        by_key = arb_mat(scores).transpose() * (result.tokens * self.scores)
        total = arb_mat(queries) + by_key + result.shares.transpose() * gains
        return [Balls(operands[0].shape, total.entries())]

    def work(self, operands: list[Balls], result: Balls) -> int:
        """Units of work of `forward` besides what it charges itself, before it begins."""
        return ENTRY * (len(operands[0].entries) + len(result.entries))

    def work_back(self, operands: list[Balls], result: Balls) -> int:
        rows, width = operands[0].shape[-2:]
        products = rows * (rows + width) * (3 * width + result.shape[-1])
        return PRODUCT * products + CURVE * rows * rows + self.work(operands, result)

    def _shares(self, tokens: arb_mat, middle: arb_mat) -> tuple[arb_mat, arb_mat]:
        """The enclosed shares, and the constants c_i."""
        reach = _each(tokens - middle, lambda v: arb(v.abs_upper()))
        asked = middle * self.scores
        plain = (asked * middle.transpose()).tolist()
        typical = arb_mat([softmax_row(row) for row in plain])
        centres = _each(typical * middle, lambda v: arb(v.mid()))
        keys = middle * self.scores.transpose()
        key_centres = (centres * self.scores.transpose()).tolist()
        asked_rows, centre_rows, reaches = (m.tolist() for m in (asked, centres, reach))
        absolute = _each(asked, abs) * reach.transpose()
        both = reach * _each(self.scores, abs) * reach.transpose()
        shares = []
        for i, row in enumerate(plain):
            lean = _each(keys - _repeated(key_centres[i], len(row)), abs)
            moved = (lean * arb_mat([[v] for v in reaches[i]])).entries()
            shift = (arb_mat([asked_rows[i]]) * arb_mat([[v] for v in centre_rows[i]]))[0, 0]
            widths = [m + absolute[i, j] + both[i, j] for j, m in enumerate(moved)]
            scores = [s - shift for s in row]
            spread = [hull(s - w, s + w) for s, w in zip(scores, widths, strict=True)]
            shares.append(softmax_row(spread))
        return arb_mat(shares), centres


def softmax_row(scores: list[Ball]) -> list[Ball]:
    """exp(s_i) / (exp(s_i) + sum of the others): rising in s_i, falling in the others."""
    middle = quotient(sum((v.mid() for v in scores), start=arb(0)), arb(len(scores))).mid()
    low = [(v.lower() - middle).exp() for v in scores]
    high = [(v.upper() - middle).exp() for v in scores]
    all_low, all_high = sum(low, start=arb(0)), sum(high, start=arb(0))
    shares = []
    for least, most in zip(low, high, strict=True):
        smallest = quotient(least, least + (all_high - most))
        largest = quotient(most, most + (all_low - least))
        shares.append(hull(smallest, largest))
    return shares


def softmax_gains(shares: list[Ball], gains: list[Ball]) -> list[Ball]:
    """a_i (g_i - sum_j a_j g_j); the a_j sum to 1, so any constant may be taken from the g_j."""
    pairs = zip(shares, gains, strict=True)
    typical = sum((a.mid() * g.mid() for a, g in pairs), start=arb(0)).mid()
    apart = [g - typical for g in gains]
    mean = sum((a * g for a, g in zip(shares, apart, strict=True)), start=arb(0))
    return [a * (g - mean) for a, g in zip(shares, apart, strict=True)]


@dataclass(frozen=True)
class HeadPattern:
    """Heads of a graph: MatMul(Softmax(MatMul(x W_Q, Transpose(x W_K))), x W_V).

    A constant matrix that a head is multiplied by belongs to another head that ends there.
    """

    graph: Graph
    makers: dict[str, Node]

    @classmethod
    def of(cls, graph: Graph) -> HeadPattern:
        return cls(graph, {node.output: node for node in graph.nodes})

    def ending_in(self, node: Node) -> Head | None:
        if node.operator != "MatMul":
            return None
        return self.head(node.output) or self.projected_head(node.output)

    def projected_head(self, output: str) -> Head | None:
        """A head times a constant matrix."""
        name, matrix = self.projection(output)
        return None if matrix is None else self.head(name, output, matrix)

    def head(self, name: str, output: str | None = None, last: Tensor | None = None) -> Head | None:
        """The head that ends in this tensor; None where some node is another one."""
        shares, value = self.inputs(name, "MatMul", 2)
        (scores,) = self.inputs(shares, "Softmax", 1, ("axis",))
        query, turned = self.inputs(scores, "MatMul", 2)
        (key,) = self.inputs(turned, "Transpose", 1)
        if not key or self.makers[turned].permutation != (0, 2, 1):
            return None
        if self.makers[shares].attributes["axis"] not in (-1, 2):
            return None
        sources, weights = zip(
            *(self.projection(name) for name in (query, key, value)), strict=True
        )
        if None in weights or len(set(sources)) != 1:
            return None
        (queries, a), (keys, b), (values, c) = map(_integers, weights)
        if queries.ncols() != keys.ncols() or not queries.nrows() == keys.nrows() == values.nrows():
            return None
        if last is not None and values.ncols() == last.shape[0]:
            factor, d = _integers(last)
            values, c = values * factor, c * d
        elif last is not None:
            return None
        charge(queries.nrows() ** 2 * (20 + 16 * queries.ncols()))
        charge(values.nrows() * values.ncols() * (20 + 16 * values.nrows()))
        product = arb_mat(queries * keys.transpose()) * quotient(arb(1), arb(a * b))
        value_map = arb_mat(values) * quotient(arb(1), arb(c))
        return Head(sources[0], output or name, product, value_map)

    def inputs(
        self, name: str, operator: str, count: int, attributes: tuple[str, ...] = ()
    ) -> tuple[str, ...]:
        """What the node that makes a tensor takes; empty names if it is not such a node."""
        node = self.makers.get(name)
        if node is None or (node.operator, len(node.inputs)) != (operator, count):
            return ("",) * count
        return node.inputs if tuple(node.attributes) == attributes else ("",) * count

    def projection(self, name: str) -> tuple[str, Tensor | None]:
        """The source and the matrix of MatMul(source, constant matrix)."""
        source, weight = self.inputs(name, "MatMul", 2)
        matrix = self.graph.constants.get(weight)
        # an input may be left out: its name is empty
        no_data = source in ("", *self.graph.constants, *self.graph.integers)
        fits = matrix is not None and len(matrix.shape) == 2 and not no_data
        return source, matrix if fits else None


def _integers(tensor: Tensor) -> tuple[fmpz_mat, int]:
    """A matrix as integers over one denominator."""
    values = tensor.values()
    return fmpz_mat(*tensor.shape, list(values.numerators)), values.denominator


def _each(matrix: arb_mat, function: Callable[[Ball], Ball]) -> arb_mat:
    return arb_mat(matrix.nrows(), matrix.ncols(), [function(v) for v in matrix.entries()])


def _repeated(row: list[Ball], count: int) -> arb_mat:
    return arb_mat([row] * count)
