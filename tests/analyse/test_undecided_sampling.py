"""Sampling what a count leaves: inside the proved bounds, right as often as promised."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from counted_questions import asked, at_least, at_most, linear, random_relu, size_of_two, square

from assay.analyse.count.counting import Search
from assay.analyse.count.settings import Settings
from assay.analyse.count.undecided import Sampled, sample_undecided
from assay.question.network import Network
from assay.question.property import Case

DIAMOND = asked(square(2, -1, "1.4"), [at_most(0, "0.7")])


def counted(network: Network, case: Case, settings: Settings) -> Search:
    search = Search(network, case, settings)
    search.run()
    return search


def test_the_rate_is_missed_as_rarely_as_promised() -> None:
    """|x_0| + |x_1| <= .7 has an area of .98; stop early, then sample 400 times."""
    rate = Fraction("0.98") / Fraction("2.4") ** 2
    search = counted(size_of_two(), DIAMOND, Settings(gap=0.2))
    assert search.so_far.gap > 0.01
    missed = 0
    for seed in range(400):
        search.settings = Settings(gap=0.2, samples=300, confidence=0.9, seed=seed)
        found = sample_undecided(search)
        assert found is not None
        assert search.so_far.lower <= found.lower <= found.upper <= search.so_far.upper
        missed += not found.lower <= rate <= found.upper
    # with a tenth missed, more than 65 of 400 has probability 1e-4
    assert missed <= 65


@pytest.mark.parametrize(
    "disjuncts",
    [
        ([at_most(0, "-0.1")],),
        ([at_most(0, "-0.1")], [at_least(1, "0.3")]),
        ([at_most(0, "0.2"), at_least(1, "-0.2")],),
    ],
)
def test_it_agrees_with_a_longer_count(disjuncts: tuple) -> None:
    network = random_relu(11, 2, outputs=2)
    case = asked(square(2), *disjuncts, outputs=2)
    rough = counted(network, case, Settings(gap=0.05, samples=20_000))
    close = counted(network, case, Settings(gap=2e-4, seconds=60)).so_far
    found = sample_undecided(rough)
    assert found is not None
    assert found.lower <= close.upper
    assert close.lower <= found.upper
    assert found.upper - found.lower < rough.so_far.gap


def test_a_seed_and_a_number_make_the_same_interval() -> None:
    search = counted(size_of_two(), DIAMOND, Settings(gap=0.1, samples=5000, seed=3))
    first, again = sample_undecided(search), sample_undecided(search)
    assert first == again
    assert first is not None
    search.settings = replace(search.settings, seed=4)
    other = sample_undecided(search)
    assert isinstance(other, Sampled)
    assert other.violations != first.violations


def test_nothing_is_sampled_where_nothing_is_left_or_asked() -> None:
    case = asked(square(2), [at_most(0, 0)])
    assert sample_undecided(counted(linear([[1, 2]], [0]), case, Settings(samples=10))) is None
    assert sample_undecided(counted(size_of_two(), case, Settings(gap=0.5))) is None


class LateClock:
    """Each look takes a second, and long `after` so many looks: a block that dawdles."""

    def __init__(self, after: int) -> None:
        self.looks, self.after = 0, after

    def __call__(self) -> float:
        self.looks += 1
        return self.looks + (1e6 if self.looks > self.after else 0)


def test_the_number_of_points_is_fixed_before_any_is_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """How long a block takes depends on its points: then it must not decide how many there are."""
    from assay.analyse.count import undecided

    found, looks_at_blocks = [], []
    violating = undecided._violating
    for _ in range(2):
        # The pilot is over by the looks at which the first run ended; what comes later is slow.
        clock = LateClock(looks_at_blocks[-1] if looks_at_blocks else 10**9)
        search = Search(size_of_two(), DIAMOND, Settings(gap=0.2, samples=10**7), clock=clock)
        search.settings = replace(search.settings, seconds=60.0)
        search.run()
        begun = clock.looks

        def watched(*rest: object, seen: LateClock = clock) -> object:
            looks_at_blocks.append(seen.looks)
            return violating(*rest)  # type: ignore[arg-type]

        monkeypatch.setattr(undecided, "_violating", watched)
        found.append(sample_undecided(search))
        # The last block is drawn after the last look, as the first one that counts was.
        assert looks_at_blocks[-1] == clock.looks < begun + 6
    assert found[0] is not None
    assert found[0] == found[1]
    assert 8 * 4096 <= found[0].samples < 10**7


def test_a_pilot_is_no_part_of_the_sample() -> None:
    """As many points as the pilot allows are the same as when they were asked for."""
    clock = LateClock(10**9)
    search = Search(
        size_of_two(), DIAMOND, Settings(gap=0.2, seconds=60, samples=10**7, seed=2), clock=clock
    )
    search.run()
    planned = sample_undecided(search)
    assert planned is not None
    search.settings = replace(search.settings, seconds=1e9, samples=planned.samples)
    again = sample_undecided(search)
    assert again == replace(planned, asked=planned.samples)
