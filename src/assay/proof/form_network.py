"""From a graph to the forms of its outputs.

The graph is a chain of affine maps with ReLU, Sigmoid or Tanh between them, or the sum of two such
branches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from flint import fmpq

from assay.proof.arithmetic import Rejected, Unsupported, from_flint, to_flint
from assay.proof.chain import Affine, Chain, Layer, follow
from assay.proof.claim import Claim
from assay.proof.curves import CURVES
from assay.proof.forms import Form, Space, combined
from assay.proof.interval import Interval
from assay.proof.parity_lock import read_lock
from assay.proof.reader import Graph, Node
from assay.proof.work import keep

_MOST_WORK = 1 << 22
_MOST_LAYERS = 64


@dataclass(frozen=True)
class FormNetwork:
    """Outputs as forms over the box; `bounds` are those of the chain's hidden layers."""

    space: Space
    outputs: list[Form]
    bounds: dict[int, Interval]

    def excesses(self, claim: Claim) -> list[Form]:
        """For each disjunct, its excess; the disjunct holds where that is not positive."""
        found = []
        for disjunct in claim.question.disjuncts:
            if len(disjunct) != 1:
                raise Unsupported("a disjunct has several inequalities")
            parts = [(to_flint(factor), self.outputs[i]) for i, factor in disjunct[0].coefficients]
            found.append(combined(to_flint(-disjunct[0].bound), parts))
        return found


def read_forms(claim: Claim) -> FormNetwork:
    space, graph = Space(claim.question.lower, claim.question.upper), claim.graph
    if not any(node.operator in CURVES for node in graph.nodes):
        return _along(claim.chain, space)
    branches = [_along_branch(graph, nodes, space) for nodes in _summands(graph)]
    outputs = [
        combined(fmpq(0), [(fmpq(1), form) for form in forms])
        for forms in zip(*branches, strict=True)
    ]
    return FormNetwork(space, outputs, {})


def _along(chain: Chain, space: Space, inputs: list[Form] | None = None) -> FormNetwork:
    if len(chain.below) > _MOST_LAYERS:
        raise Unsupported("the network has more layers than the checker follows as functions")
    forms = inputs or [space.input(i) for i in range(len(space.ends))]
    proved: dict[int, Interval] = {}
    for index, layer in enumerate(chain.below):
        forms = _affine(layer, forms)
        bounds = [_bounds(space, form) for form in forms]
        sides = (list(map(from_flint, side)) for side in zip(*bounds, strict=True))
        proved[index] = Interval.of(*sides)
        keep(2 * layer.units, proved[index].denominator.bit_length())
        forms = [space.relu(form, ends) for form, ends in zip(forms, bounds, strict=True)]
    return FormNetwork(space, _affine(chain.last, forms), proved)


def _bounds(space: Space, form: Form) -> tuple[fmpq, fmpq]:
    low, high = space.range(form)
    lock = read_lock(space, form) if low < 0 < high else None
    return (low, high) if lock is None else (low, min(high, max(low, lock.highest)))


def _affine(layer: Layer, forms: list[Form]) -> list[Form]:
    work, made = 0, []
    for row, bias in zip(_rows(layer), layer.bias, strict=True):
        used = [(fmpq(w, layer.denominator), forms[i]) for i, w in row if w]
        work += sum(len(form.terms) for _, form in used)
        if work > _MOST_WORK:
            raise Unsupported("a layer is larger than the checker follows as functions")
        made.append(combined(fmpq(bias, layer.denominator), used))
    return made


def _rows(layer: Layer) -> Iterator[list[tuple[int, int]]]:
    """The inputs that each unit reads, with their weights."""
    if isinstance(layer, Affine):
        yield from (list(enumerate(row)) for row in layer.rows)
        return
    places = prod(layer.geometry.positions)
    windows = [layer.geometry.windows[place::places] for place in range(places)]
    for taps in layer.weight.tolist():
        for window in windows:
            yield [(i, int(w)) for i, w in zip(window, taps, strict=True) if i >= 0]


def _summands(graph: Graph) -> list[list[Node]]:
    """The nodes of both branches of a network that ends in their sum, or all nodes."""
    makers = {node.output: node for node in graph.nodes}
    constants = {*graph.constants, *graph.integers}
    last = makers.get(graph.output)
    ends = [] if last is None else [name for name in last.inputs if name not in constants]
    if last is None or last is not graph.nodes[-1]:
        raise Unsupported("the network does not end in the node that makes its output")
    if last.operator != "Add" or len(ends) != 2 or last.attributes:
        return [list(graph.nodes)]
    branches = []
    for name in ends:
        nodes: list[Node] = []
        while name != graph.input:
            if name not in makers:
                raise Unsupported("a branch of the network does not begin at its input")
            nodes.insert(0, makers[name])
            data = [i for i in nodes[0].inputs if i not in constants]
            if len(data) != 1:
                raise Unsupported(f"{nodes[0].place()} does not continue a branch")
            (name,) = data
        branches.append(nodes)
    if sum(map(len, branches)) + 1 != len(graph.nodes):
        raise Unsupported("the network has nodes outside of its two branches, or shared by them")
    return branches


def _along_branch(graph: Graph, nodes: list[Node], space: Space) -> list[Form]:
    """Chains of ReLUs with smooth curves between them."""
    curves = [i for i, node in enumerate(nodes) if node.operator in CURVES]
    name, shape, forms = graph.input, graph.input_shape, None
    for start, end in pairwise([-1, *curves, len(nodes)]):
        chain, name, shape = follow(graph, tuple(nodes[start + 1 : end]), name, shape)
        forms = _along(chain, space, forms).outputs
        if end < len(nodes):
            if nodes[end].inputs != (name,) or nodes[end].attributes or nodes[end].lists:
                raise Unsupported(f"{nodes[end].place()} is not a plain curve")
            name = nodes[end].output
            graph.check_shape(name, shape)
            forms = [space.bent(nodes[end].operator, form) for form in forms]
    if shape != graph.output_shape or forms is None:
        raise Rejected(f"a branch makes shape {shape} and the network {graph.output_shape}")
    return forms
