"""The pieces of the residual proof against plain evaluation, and the graphs that are read."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
import pytest
from flint import fmpz_mat
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from onnx import NodeProto, helper
from small_claims import claimed, model, question

from assay.proof.arithmetic import Rejected, Unsupported, Vector
from assay.proof.claim import Proof
from assay.proof.guard import output_errors
from assay.proof.interval import Interval
from assay.proof.network import read_network
from assay.proof.nonexpansive import check_nonexpansive, has_root_above
from assay.proof.reader import read
from assay.proof.residual import ResidualNetwork

F = Fraction
UNIT = 1 << 180
Matrix = list[list[float]]
BLOCK = ("Gemm x W b z", "Relu z h", "Gemm h V d v", "Add x v s", "Gemm s A c y")
MIRROR: dict[str, Any] = {  # orthogonal rows, c = 1, both eigenvalues 2
    "W": [[1, 1], [1, -1]],
    "b": [0.5, -0.25],
    "V": [[-1, -1], [-1, 1]],
    "d": [0, 0],
    "A": [[1, 2], [0, 0]],
    "c": [9, 0],
}


def graph(lines: Sequence[str] = BLOCK, inputs: int = 2, **changes: Any) -> bytes:
    """Nodes as lines of operator, inputs and output, over the constants of `MIRROR`."""
    nodes: list[NodeProto] = []
    for line in lines:
        operator, *names = line.split()
        attributes = {"transB": 1} if operator == "Gemm" else {}
        nodes.append(helper.make_node(operator, names[:-1], names[-1:], **attributes))
    constants = {**MIRROR, **changes}
    used = {k: v for k, v in constants.items() if any(k in line.split() for line in lines)}
    return model(nodes, used, (1, inputs), (1, 2)).SerializeToString()


def residual(data: bytes) -> ResidualNetwork:
    found = read_network(read(data))
    assert isinstance(found, ResidualNetwork)
    return found


def test_a_block_is_evaluated_exactly() -> None:
    network = residual(graph())
    # z = (1.5, 0.25) and x - (1.5 + 0.25, 1.5 - 0.25)
    assert network.outputs(Vector.of([F(3, 4), F(1, 4)])).fractions() == [F(9) - 1 - 2, 0]


TWICE = (
    *BLOCK[:4],
    "Gemm s W b z2",
    "Relu z2 h2",
    "Gemm h2 V d v2",
    "Add v2 s t",
    "Gemm t A c y",
)


@pytest.mark.parametrize(
    ("lines", "blocks", "stem"),
    [
        (BLOCK, 1, False),
        (TWICE, 2, False),
        (("Gemm x S e w", *(line.replace("x ", "w ") for line in BLOCK)), 1, True),
        (("MatMul x W m", "Add m b z", "Relu z h", "Gemm h V v", *BLOCK[3:]), 1, False),
        ((*BLOCK[:2], "Gemm h V v", "Add v x s", "Identity s i", "Gemm i A c y"), 1, False),
    ],
)
def test_spellings_that_are_read(lines: Sequence[str], blocks: int, stem: bool) -> None:
    network = residual(graph(lines, S=[[1, 0], [0, 1]], e=[0, 0]))
    assert len(network.blocks) == blocks
    assert (network.stem is not None) == stem


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ((*BLOCK[:3], "Add x x s", BLOCK[4]), "what entered it"),
        ((*BLOCK[:3], "Add v v s", BLOCK[4]), "ReLU before its first block"),
        ((*BLOCK[:3], "Add v x s", "Gemm x A c y"), "continue"),
        ((*BLOCK[:3], "Add h v s", BLOCK[4]), "does not end"),
        ((*BLOCK[:3], "Sub x v s", BLOCK[4]), "continue"),
        ((BLOCK[0], "Identity z h", *BLOCK[2:]), "fit"),
        (("Gemm x W b v", *BLOCK[3:]), "not one ReLU"),
        ((*BLOCK[:2], "Gemm h W b z2", "Relu z2 h2", "Gemm h2 V d v", *BLOCK[3:]), "not one ReLU"),
        ((*BLOCK[:4], "Gemm s W b u", "Relu u r", "Gemm r A c y"), "one affine map after"),
        ((*BLOCK[:3], "Add x v y"), "does not end"),
        ((*BLOCK[:4], "Add s x t", "Gemm t A c y"), "end"),
        ((*BLOCK[:3], "Add x v d s", BLOCK[4]), "other inputs"),
        ((*TWICE[:7], "Add v2 x t", TWICE[8]), "what entered it"),
    ],
)
def test_other_wiring_is_unsupported(lines: Sequence[str], reason: str) -> None:
    with pytest.raises((Rejected, Unsupported), match=reason):
        read_network(read(graph(lines)))


def test_a_sum_must_not_broadcast() -> None:
    data = graph(V=[[-1, -1]], d=[0], A=[[1], [0]])
    with pytest.raises(Unsupported, match="what entered it"):
        read_network(read(data))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"V": [[1, -1], [1, 1]]}, "C >= 0"),
        ({"V": [[-1, -1], [-1 - 2**-20, 1]]}, "C >= 0"),
        ({"W": [[1, 1], [1, -1 + 2**-20]]}, "C >= 0"),
        ({"V": [[-1 - 2**-20, -1], [-1 - 2**-20, 1]]}, "above 2"),
        ({"W": [[1, 1], [-1, -1]], "V": [[-0.5, 0.5], [-0.5, 0.5]]}, None),
        ({"W": [[1, 1], [-1, -1]], "V": [[-0.5, 0.75], [-0.5, 0.75]]}, "above 2"),
        ({"W": [[0, 0], [1, -1]], "V": [[5, -1], [3, 1]]}, None),
        ({"V": [[0, -1], [0, 1]]}, None),
        ({"V": [[-0.125, -0.75], [-0.125, 0.75]]}, None),
    ],
)
def test_which_blocks_are_proved(changes: dict[str, Matrix], reason: str | None) -> None:
    network = residual(graph(**changes))
    if reason is None:
        check_nonexpansive(network)
    else:
        with pytest.raises(Rejected, match=reason):
            check_nonexpansive(network)


def test_the_work_of_one_look_is_limited() -> None:
    size = 400
    identity = np.eye(size, dtype=np.float32)
    changes = {"W": identity, "V": -identity, "A": np.ones((2, size), np.float32)}
    flat = np.zeros(size, np.float32)
    with pytest.raises(Unsupported, match="too wide"):
        check_nonexpansive(residual(graph(inputs=size, b=flat, d=flat, **changes)))
    tiny = 2.0**-140
    with pytest.raises(Unsupported, match="differ too much"):
        check_nonexpansive(residual(graph(W=[[tiny, 1], [0, 1]], V=[[-tiny, 0], [-1, -1]])))


@given(st.integers(1, 4), st.integers(1, 4), st.data())
def test_eigenvalues_are_compared_exactly(rows: int, columns: int, data: st.DataObject) -> None:
    numbers = [data.draw(st.integers(-9, 9)) for _ in range(rows * columns)]
    matrix = fmpz_mat(rows, columns, numbers)
    gram = matrix * matrix.transpose()
    largest = np.linalg.eigvalsh(np.array(gram.tolist(), dtype=float)).max()
    for bound in {0, 1, round(largest) - 1, round(largest), round(largest) + 1}:
        if abs(bound - largest) > 1e-6:
            assert has_root_above(gram.charpoly(), bound) == (largest > bound)
    whole = fmpz_mat([[49 * (i == j) for j in range(rows)] for i in range(rows)])
    assert not has_root_above(whole.charpoly(), 49)
    assert has_root_above(whole.charpoly(), 48)


small = st.integers(-4, 4)


@st.composite
def networks(draw: st.DrawFn) -> bytes:
    """One block of potential form with its own c for every unit; it may expand."""
    features, units = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    weight = [[draw(small) / 4 for _ in range(features)] for _ in range(units)]
    scales = [draw(st.sampled_from([0.0, 0.25, 0.75, 1.0, 2.0])) for _ in range(units)]
    outer = [[-c * row[i] for row, c in zip(weight, scales, strict=True)] for i in range(features)]
    return graph(
        inputs=features,
        W=weight,
        b=[draw(small) / 4 for _ in range(units)],
        V=outer,
        d=[draw(small) / 4 for _ in range(features)],
        A=[[draw(small) / 2 for _ in range(features)] for _ in range(2)],
        c=[0.0, 0.0],
    )


def proved(network: ResidualNetwork) -> bool:
    try:
        check_nonexpansive(network)
    except Rejected:
        return False
    return True


@settings(max_examples=300, deadline=None)
@given(networks(), st.lists(st.integers(-40, 40), min_size=6, max_size=6))
def test_proved_blocks_move_no_two_points_apart(data: bytes, numbers: list[int]) -> None:
    network = residual(data)
    features = network.last.fan_in
    one, other = (Vector(tuple(numbers[i : i + features]), 16) for i in (0, 3))
    before, after = (
        sum((a - b) ** 2 for a, b in zip(p.fractions(), q.fractions(), strict=True))
        for p, q in ((one, other), (network.states(one)[-1], network.states(other)[-1]))
    )
    holds = proved(network)
    event(f"proved: {holds}")
    assert not holds or after <= before


def test_an_unproved_block_can_move_points_apart() -> None:
    network = residual(graph(W=[[2, 0]], b=[0], V=[[-2], [0]]))
    assert not proved(network)
    ends = [network.states(Vector((x, 0), 1))[-1].fractions() for x in (0, 1)]
    assert ends == [[0, 0], [-3, 0]]


@settings(max_examples=200, deadline=None)
@given(networks(), st.lists(st.integers(-40, 40), min_size=6, max_size=6), st.integers(0, 999))
def test_no_float32_evaluation_strays_further(data: bytes, numbers: list[int], seed: int) -> None:
    network = residual(data)
    assume(proved(network))
    features = network.last.fan_in
    ends = [[F(n, 7) for n in numbers[i : i + features]] for i in (0, 3)]
    low, high = (
        [float(np.float32(float(v))) for v in map(side, zip(*ends, strict=True))]
        for side in (min, max)
    )
    box = Interval.of([F(v) for v in low], [F(v) for v in high])
    bounds = [F(e, UNIT) for e in output_errors(network, box, Proof(Fraction(0)))]
    draw = np.random.default_rng(seed)
    point = np.clip(
        np.array(low) + draw.random(features) * (np.array(high) - low), low, high
    ).astype(np.float32)
    point = np.clip(point, np.array(low, np.float32), np.array(high, np.float32))
    right = network.outputs(Vector.of([F(float(v)) for v in point])).fractions()
    for fused in (False, True):
        found = float32_outputs(network, point, draw, fused=fused)
        errors = [abs(F(float(a)) - b) for a, b in zip(found, right, strict=True)]
        assert all(error <= bound for error, bound in zip(errors, bounds, strict=True))


def float32_outputs(
    network: ResidualNetwork, point: np.ndarray, draw: np.random.Generator, *, fused: bool
) -> np.ndarray:
    """Terms added in random order, every operation rounded; the skip inside the sum or after it."""
    state = point
    for block in network.blocks:
        hidden = np.maximum(summed(block.inner, state, draw), np.float32(0))
        if fused:
            state = summed(block.outer, hidden, draw, state)
        else:
            state = state + summed(block.outer, hidden, draw)
    return summed(network.last, state, draw)


def summed(layer: Any, values: np.ndarray, draw: np.random.Generator, *more: Any) -> np.ndarray:
    results = []
    for unit, row in enumerate(layer.rows):
        weights = np.array([w / layer.denominator for w in row], np.float32)
        bias = np.float32(layer.bias[unit] / layer.denominator)
        terms = [*(weights * values), bias, *(extra[unit] for extra in more)]
        draw.shuffle(terms)
        total = np.float32(0)
        for term in terms:
            total = np.float32(total + term)
        results.append(total)
    return np.array(results, np.float32)


def test_the_margin_is_the_value_at_the_centre_less_the_l2_drop() -> None:
    # at the centre z = (0.5, -0.25), so the state is (-0.5, -0.5) and the excess 9 - 1.5
    exact, drop = F(15, 2), F(isqrt(5 * 2 * 10**12), 10**6) / 4
    box = [("-0.25", "0.25")] * 2
    for shortage, status in ((F(1, 10**5), "verified"), (-F(1, 10**5), "rejected")):
        margin = str(exact - drop - shortage)
        claim = claimed(graph(), question(box), kind="residual", margin=margin, guard="float32")
        assert claim.verdict().status == status


def test_a_stem_counts_with_its_norm() -> None:
    lines = ("Gemm x S e w", *(line.replace("x ", "w ") for line in BLOCK))
    for scale, status in ((1, "verified"), (4, "rejected")):
        data = graph(lines, S=[[scale, 0], [0, scale]], e=[0, 0], c=[6, 0])
        claim = claimed(data, question([("-1", "1")] * 2), kind="residual", margin="1/10")
        verdict = claim.verdict()
        assert (verdict.status, "margin" in verdict.reason) == (status, status == "rejected")


def test_other_networks_are_unsupported() -> None:
    plain = graph(("Gemm x W b z", "Relu z h", "Gemm h A c y"))
    claim = claimed(plain, question([(0, 1)] * 2), kind="residual")
    assert claim.verdict().status == "unsupported"
    claim = claimed(graph(), question([(0, 1)] * 2), kind="corners")
    assert claim.verdict().status == "unsupported"


def test_a_guard_needs_blocks_that_are_proved() -> None:
    data = graph(W=[[2, 0]], b=[0], V=[[-2], [0]], c=[0, 9])
    claim = claimed(data, question([(0, 1)] * 2), witness=["0", "0"], margin="-9")
    assert claim.verdict().status == "verified"
    assert claim.stating(guard="float32").verdict().status == "rejected"
    shallow = claimed(graph(c=[0, 9]), question([(0, 1)] * 2), witness=["0", "0"], margin="-9")
    assert shallow.stating(guard="float32").verdict().status == "verified"
