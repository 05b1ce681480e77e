"""Every rule against the exact minimum, on networks that were not made for it.

With one input the box is a segment and `exact_minimum` knows the truth. A rule may refuse any of
these networks; what it proves must hold.
"""

from __future__ import annotations

import struct
from fractions import Fraction
from itertools import pairwise

import pytest
from exact_minimum import least_on_segment
from hypothesis import event, given, settings
from hypothesis import strategies as st
from small_claims import Layers, network, question

from assay.proof.arithmetic import Rejected, Unsupported
from assay.proof.checker import proven_margin

F = Fraction
BOTH = "(assert (or (<= Y_0 Y_1) (<= (+ Y_0 Y_1) -3)))"


def proved(
    layers: Layers,
    kind: str,
    arrays: bytes | None = None,
    *,
    box: tuple[object, object] = (-1, 1),
    condition: str = "(assert (<= Y_0 Y_1))",
) -> Fraction | None:
    """The margin that a rule proves, None if it refuses."""
    text = question([box] * len(layers[0][0][0]), len(layers[-1][1]), condition)
    try:
        return proven_margin(network(layers).SerializeToString(), text.encode(), kind, arrays)
    except (Rejected, Unsupported):
        return None


def truth(layers: Layers, low: object = -1, high: object = 1, *, both: bool = False) -> Fraction:
    def margin(y: object) -> Fraction:
        first = y[0] - y[1]  # type: ignore[index]
        return min(first, y[0] + y[1] + 3) if both else first  # type: ignore[index]

    exact = [
        ([[F(w) for w in row] for row in weight], [F(b) for b in bias]) for weight, bias in layers
    ]
    return least_on_segment(exact, margin, [F(low)], [F(high)])[0]  # type: ignore[arg-type]


signs = st.sampled_from([-1, 0, 0, 1])
small = st.integers(-8, 8).map(lambda n: n / 4)
ends = st.tuples(st.integers(-4, 4), st.integers(-4, 4)).map(sorted)


def matrix(draw: st.DrawFn, entry: st.SearchStrategy[float], units: int, fan_in: int) -> list:  # type: ignore[type-arg]
    return [[draw(entry) for _ in range(fan_in)] for _ in range(units)]


@st.composite
def sign_networks(draw: st.DrawFn) -> Layers:
    """Arbitrary first layers under layers of signs: max and min gadgets, and what looks so."""
    sizes = [1, *draw(st.lists(st.integers(1, 4), min_size=2, max_size=4))]
    layers = [(matrix(draw, small, sizes[1], 1), [draw(small) for _ in range(sizes[1])])]
    for fan_in, units in pairwise(sizes[1:]):
        # rows with few terms are read more often
        rows = [[0] * fan_in for _ in range(units)]
        for row in rows:
            for _ in range(draw(st.integers(1, 3))):
                row[draw(st.integers(0, fan_in - 1))] += draw(st.sampled_from([1, 1, -1]))
        layers.append((rows, [0] * units))
    scale = draw(st.sampled_from([1, 3, 0.5, -1, 0]))
    readout = [[scale * draw(signs) for _ in range(sizes[-1])], [0] * sizes[-1]]
    layers.append((readout, [draw(small), draw(small)]))
    return layers


@settings(max_examples=600, deadline=None)
@given(sign_networks(), ends)
def test_meap_proves_only_what_holds(layers: Layers, box: list[int]) -> None:
    found = proved(layers, "meap", box=tuple(box))  # type: ignore[arg-type]
    event(f"proved: {found is not None}")
    assert found is None or found <= truth(layers, *box)


MAXIMUM: Layers = [
    ([[2], [-2]], [0.75, 0.25]),
    ([[1, -1], [0, 1]], [0, 0]),
    ([[1, 1], [0, 0]], [0, 0.25]),
]
"""max(relu(2x + 3/4), relu(1/4 - 2x)) - 1/4, at least 1/2 - 1/4."""


def test_meap_reads_a_maximum() -> None:
    assert proved(MAXIMUM, "meap") == truth(MAXIMUM) == F(1, 4)


@pytest.mark.parametrize(
    "layers",
    [
        [MAXIMUM[0], ([[1, -1], [0, 1]], [0, 0.125]), MAXIMUM[2]],
        [MAXIMUM[0], ([[1, -1], [0, 2]], [0, 0]), MAXIMUM[2]],
        [MAXIMUM[0], ([[1, -1], [0, 0.5]], [0, 0]), MAXIMUM[2]],
        [MAXIMUM[0], ([[-1, -1], [0, 1]], [0, 0]), MAXIMUM[2]],
        [MAXIMUM[0], ([[1, 1], [0, 1]], [0, 0]), MAXIMUM[2]],
        [MAXIMUM[0], ([[0, 0], [0, 1]], [0, 0]), MAXIMUM[2]],
        [*MAXIMUM[:2], ([[1, 2], [0, 0]], [0, 0])],
        [*MAXIMUM[:2], ([[-1, -1], [0, 0]], [9, 0])],
        [MAXIMUM[0], MAXIMUM[2]],
        [([[1], [0]], [0, 0])],
    ],
)
def test_meap_refuses_other_units(layers: Layers) -> None:
    assert proved(layers, "meap") is None


def test_meap_terms_that_cancel_or_repeat() -> None:
    first = MAXIMUM[0]
    # relu(a - b) + b + relu(a - b) is no maximum; a - a is nothing; a + b - b is a
    twice = [first, ([[1, -1], [0, 1], [1, -1]], [0, 0, 0]), ([[1, 1, 1], [0, 0, 0]], [0, 0])]
    assert proved(twice, "meap") is None
    nothing = [first, ([[1, 0], [1, 0]], [0, 0]), ([[1, -1], [0, 0]], [1, 0])]
    assert proved(nothing, "meap") == truth(nothing) == 1
    kept = [first, ([[1, 0], [0, 1], [0, 1]], [0, 0, 0]), ([[1, 1, -1], [0, 0, 0]], [1, 0])]
    assert proved(kept, "meap") == truth(kept) == 1


def test_meap_with_equal_sides() -> None:
    same = [
        ([[1], [1]], [0.5, 0.5]),
        ([[1, 0], [0, 1]], [0, 0]),
        ([[1, -1], [0, 1]], [0, 0]),
        ([[1, 1], [0, 0]], [1, 0]),
    ]
    found = proved(same, "meap")
    assert found is not None
    assert found <= truth(same) == 1


@st.composite
def hinge_networks(draw: st.DrawFn) -> Layers:
    units = draw(st.integers(1, 4))
    hidden = (matrix(draw, small, units, 1), [draw(small) for _ in range(units)])
    readout = [[-abs(draw(small)) for _ in range(units)], [draw(small) for _ in range(units)]]
    return [hidden, (readout, [draw(small), draw(small)])]


@settings(max_examples=300, deadline=None)
@given(hinge_networks(), ends)
def test_corners_proves_the_exact_minimum(layers: Layers, box: list[int]) -> None:
    found = proved(layers, "corners", box=tuple(box), condition=BOTH)  # type: ignore[arg-type]
    event(f"proved: {found is not None}")
    assert found is None or found == truth(layers, *box, both=True)


@st.composite
def gated_networks(draw: st.DrawFn) -> Layers:
    """A layer of gates that may open, then anything."""
    sizes = [1, *draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))]
    layers = [(matrix(draw, small, sizes[1], 1), [draw(small) for _ in range(sizes[1])])]
    for depth, (fan_in, units) in enumerate(pairwise(sizes[1:])):
        entry = small.map(abs) if depth == 0 and draw(st.booleans()) else small
        bias = [draw(small) - (4 if depth == 0 else 0) for _ in range(units)]
        layers.append((matrix(draw, entry, units, fan_in), bias))
    layers.append((matrix(draw, small, 2, sizes[-1]), [draw(small), draw(small)]))
    return layers


@settings(max_examples=500, deadline=None)
@given(gated_networks(), ends)
def test_constant_box_proves_the_exact_margin(layers: Layers, box: list[int]) -> None:
    found = proved(layers, "constant_box", box=tuple(box), condition=BOTH)  # type: ignore[arg-type]
    event(f"proved: {found is not None}")
    assert found is None or found == truth(layers, *box, both=True)


def test_constant_box_edges() -> None:
    tail: tuple[list[list[float]], list[float]] = ([[5], [0]], [1, 0])
    shut = [([[1]], [-1]), tail]
    assert proved(shut, "constant_box") == 1
    assert proved([([[1]], [-0.75]), tail], "constant_box") is None
    # gates without hinges are constants
    empty = [([[1]], [0]), ([[0]], [0]), tail]
    assert proved(empty, "constant_box") == 1
    assert proved([([[1]], [0]), ([[0]], [0.25]), tail], "constant_box") is None
    # two hinges peak at different ends: 1 + 0, not 1 + 1
    gate = [([[1], [-1]], [0, 0]), ([[1, 1]], [-1]), tail]
    assert proved(gate, "constant_box") == 1
    assert proved([gate[0], ([[1, -1]], [-1]), tail], "constant_box") is None
    assert proved([([[1], [0]], [0, 0])], "constant_box") is None


def words(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}i", *numbers)


TENT: Layers = [([[1]], [0]), ([[-1], [0]], [2, 0])]
"""2 - relu(x): at least 1."""
LEAF = (0, -1)
"""Shift and multiplier that prove 2 - relu(x) >= 1 for x >= 0."""


@pytest.mark.parametrize(
    ("arrays", "margin"),
    [
        (words(0, 3, 0, -1, -1, *LEAF, 0, 0), 1),
        (words(0, 1, -1, 1, -1), 1),
        (words(0, 1, -1, 0, 0), 1),
        (words(0, 1, -1, -120, 0), 1),
        (words(0, 1, -1, 0, 7), None),
        (words(0, 1, -1, 121, 0), None),
        (words(0, 1, -1, 0), None),
        (words(0, 1, -1, 0, 0, 0), None),
        (words(0, 2, 0, -1, *LEAF), None),
        (words(0, 3, 0, -1, -1, *LEAF), None),
        (words(0, 5, 0, 0, -1, -1, -1, *LEAF, *LEAF, *LEAF), None),
        (words(0, 3, 1, -1, -1, *LEAF, *LEAF), None),
        (words(0, 3, -2, -1, -1, *LEAF, *LEAF), None),
        (words(0, 3, -1, -1, -1, *LEAF, *LEAF), None),
        (words(0, 0), None),
        (words(0, -1), None),
        (words(0, 2**31 - 1), None),
        (words(-1, 1, -1, 0, 0), None),
        (words(1, 1, -1, 0, 0), None),
        (words(1, 0, 0, 0, 0, 1, -1, 0, 0), None),
        (words(2**31 - 1, 1, -1, 0, 0), None),
        (words(0, 1, -1, 0, 0)[:-1], None),
        (b"", None),
        (None, None),
    ],
)
def test_relu_tree_reads_its_arrays_to_the_last_word(arrays: bytes | None, margin: object) -> None:
    assert proved(TENT, "relu_tree", arrays) == margin


def test_relu_tree_tightens_a_later_layer() -> None:
    # relu(x) - relu(x): intervals say at most 1, multipliers that see both say 1/2
    layers: Layers = [
        ([[1], [1]], [0, 0]),
        ([[1, -1]], [0]),
        ([[-1], [0]], [0.75, 0]),
    ]
    loose = words(0, 1, -1, 0, 0, 0, 0)
    assert proved(layers, "relu_tree", loose) is None
    tight = words(1, 1, 0, 1, 1, -1, 1, 1, -1, 0, 0, 0, 0)
    assert proved(layers, "relu_tree", tight) == F(1, 4)
    assert truth(layers) == F(3, 4)
    for at, word in ((1, 0), (1, 2), (2, 1), (2, -1), (3, 2), (3, -1)):
        changed = list(struct.unpack("<13i", tight))
        changed[at] = word
        assert proved(layers, "relu_tree", words(*changed)) is None
    lower = words(1, 1, 0, 0, 1, 1, -1, 1, -1, 0, 0, 0, 0)
    assert proved(layers, "relu_tree", lower) is None


@st.composite
def tree_words(draw: st.DrawFn, units: int, disjuncts: int) -> list[int]:
    """Arrays with complete random trees and any multipliers."""
    near = st.one_of(st.integers(-3, 3), st.integers(-(2**31), 2**31 - 1))
    found = [0]
    for _ in range(disjuncts):
        tree: list[int] = []
        leaves = 0
        pending: list[frozenset[int]] = [frozenset()]
        while pending:
            used = pending.pop()
            free = sorted(set(range(units)) - used)
            if free and len(used) < 3 and draw(st.booleans()):
                tree.append(draw(st.sampled_from(free)))
                pending += [used | {tree[-1]}] * 2
            else:
                tree.append(-1)
                leaves += 1
        found += [len(tree), *tree]
        for _ in range(leaves):
            found += [draw(st.integers(0, 3)), *(draw(near) for _ in range(units))]
    return found


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_relu_tree_proves_only_what_holds(data: st.DataObject) -> None:
    layers = data.draw(gated_networks())
    # outputs far apart are within reach of poor multipliers
    weight, bias = layers[-1]
    layers = [*layers[:-1], (weight, [bias[0] + data.draw(st.integers(0, 60)), bias[1]])]
    units = sum(len(bias) for _, bias in layers[:-1])
    arrays = words(*data.draw(tree_words(units, 2)))
    found = proved(layers, "relu_tree", arrays, condition=BOTH)
    event(f"proved: {found is not None}")
    assert found is None or found <= truth(layers, both=True)


def test_relu_tree_of_hostile_depth_ends_soon() -> None:
    units = 1500
    layers: Layers = [([[1]] * units, [0] * units), ([[0] * units, [0] * units], [1, 0])]
    comb = [*range(units), *[-1] * (units + 1)]
    arrays = words(0, len(comb), *comb)
    assert proved(layers, "relu_tree", arrays) is None
    assert proved(layers, "relu_tree", words(0, 1_000_000, *([0] * 1_000_000))) is None


@pytest.mark.parametrize("kind", ["corners", "meap", "relu_tree"])
def test_rules_for_single_inequalities_refuse_conjunctions(kind: str) -> None:
    condition = "(assert (and (<= Y_0 Y_1) (<= Y_0 0)))"
    layers = TENT if kind != "meap" else MAXIMUM
    assert proved(layers, kind, words(0, 1, -1, 0, 0), condition=condition) is None


def test_constant_box_takes_conjunctions() -> None:
    shut: Layers = [([[1]], [-1]), ([[5], [0]], [1, 3])]
    condition = "(assert (and (<= Y_0 Y_1) (<= Y_0 0)))"
    assert proved(shut, "constant_box", condition=condition) == 1
