"""The time of a count covers its samples, and its memory is bounded."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from counted_questions import asked, at_most, random_relu, size_of_two, square

from assay.analyse.count.counting import Search, count
from assay.analyse.count.settings import LEAST_MEMORY_MB, Settings
from assay.analyse.count.undecided import sample_undecided
from assay.errors import BadInput
from assay.question.graph import GraphBuilder
from assay.question.network import load


class Clock:
    """Each look at it takes one second."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def test_the_time_ends_halving_and_then_sampling() -> None:
    clock = Clock()
    settings = Settings(gap=0, seconds=80, samples=10**7, seed=1)
    network, case = random_relu(7, 5), asked(square(5), [at_most(0, 0)])
    search = Search(network, case, settings, clock=clock)
    found = search.run()
    assert found.ending == "time"
    assert 60 <= found.seconds < 80
    sampled = sample_undecided(search)
    assert sampled is not None
    assert clock.now <= search.deadline + 2
    assert 4096 <= sampled.samples < 22 * 4096 < sampled.asked == 10**7
    assert found.lower <= sampled.lower <= sampled.upper <= found.upper
    assert sampled.upper - sampled.lower < found.gap / 4


def test_without_samples_all_of_the_time_is_for_halving() -> None:
    clock = Clock()
    network, case = random_relu(7, 5), asked(square(5), [at_most(0, 0)])
    found = Search(network, case, Settings(gap=0, seconds=40), clock=clock).run()
    assert 40 <= found.seconds < 60


def test_the_memory_bounds_the_cells() -> None:
    network, case = random_relu(7, 6), asked(square(6), [at_most(0, 0)])
    settings = Settings(gap=0, seconds=10, memory_mb=LEAST_MEMORY_MB)
    search = Search(network, case, settings, clock=Clock())
    search.run()
    assert search.cells is not None
    each = search.cells.bytes_each
    # All tensors of a cell count; held twice, the cells stay within three quarters of the memory.
    tensors = [getattr(search.cells, name) for name in search.cells.__dataclass_fields__]
    assert each == sum(t[0].numel() * t.element_size() for t in tensors)
    most = settings.cells_in_memory(each)
    assert 0.5 * LEAST_MEMORY_MB * 2**20 < 2 * most * each < 0.75 * LEAST_MEMORY_MB * 2**20
    assert search._most_cells == most


def widest_functional(monkeypatch: pytest.MonkeyPatch, memory_mb: int) -> int:
    """The most coefficients that a backward pass was given in a count of a wide network."""
    from assay.bounds.relaxed_network import RelaxedNetwork

    most = 0
    lower = RelaxedNetwork.lower

    def watched(self: RelaxedNetwork, functionals: dict, *rest: object) -> object:
        nonlocal most
        most = max(most, *(f.shape[0] * f.shape[1] * f[0, 0].numel() for f in functionals.values()))
        return lower(self, functionals, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(RelaxedNetwork, "lower", watched)
    draw = np.random.default_rng(0)
    graph = GraphBuilder((1, 2))
    x = graph.input
    for a, b in ((2, 96), (96, 96), (96, 96), (96, 96)):
        weight = (draw.normal(size=(b, a)) / np.sqrt(a)).astype(np.float32)
        x = graph.abs(graph.gemm(x, weight))
    network = load(graph.build(graph.gemm(x, np.ones((1, 96), np.float32))), "wide")
    case = asked(square(2), [at_most(0, 20)])
    count(network, case, Settings(gap=0, seconds=0.2, memory_mb=memory_mb))
    return most


def test_the_memory_bounds_what_is_computed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(memory_mb=LEAST_MEMORY_MB)
    assert widest_functional(monkeypatch, LEAST_MEMORY_MB) <= settings.numbers_at_once
    assert settings.numbers_at_once * 8 < LEAST_MEMORY_MB * 2**20 / 50


def test_two_gib_are_that_many_bytes() -> None:
    """Three quarters hold the cells, two and a half times over."""
    room = 2 * 1024**3 * 3 // 4
    for settings in (Settings(), Settings(memory_mb=2048)):
        assert settings.cells_in_memory(10**4) == room * 2 // (5 * 10**4)


def test_too_little_memory_is_refused() -> None:
    with pytest.raises(BadInput, match=r"10 MiB are too little memory; .* \(0.0625 GiB\)"):
        Settings(memory_mb=10)


def test_bounds_that_meet_leave_nothing_undecided() -> None:
    network = size_of_two()
    for bound, rate in ((3, 1), (-3, 0)):
        found = count(network, asked(square(2), [at_most(0, bound)]), Settings(gap=0, seconds=5))
        assert (found.lower, found.upper) == (rate, rate)
        assert found.undecided == found.undecided_share == 0


def test_batches_do_not_depend_on_threads() -> None:
    assert isinstance(Settings().numbers_at_once, int)
    before = torch.get_num_threads()
    network, case = random_relu(6, 3), asked(square(3), [at_most(0, 0)])
    one, two = (count(network, case, Settings(gap=2e-3, seconds=60), jobs=j) for j in (1, 2))
    assert (one.lower, one.upper, one.boxes) == (two.lower, two.upper, two.boxes)
    assert torch.get_num_threads() == before
