"""How often `assay explain` names a cause where there is none: outcomes drawn by lot.

    assay build quick -o /tmp/quick && assay profile /tmp/quick
    python benchmarks/false_alarms.py /tmp/quick [--draws 400] [--shuffles 199]

The profiles are those of the folder. Of its instances as many time out as a lot says (five at
least, and five are solved at least), which ones is another lot; so the profile explains nothing.
Then once more with families that are slow or not, by lot: one outcome in twenty is another.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from assay.difficulty.diagnosis import LEVEL, diagnosis
from assay.difficulty.explanation import Point
from assay.difficulty.profile_table import read_profile_table
from assay.difficulty.ranks import Mask

_FEWEST = 5
_ODD = 0.05
Lot = Callable[[Sequence[Point], np.random.Generator], Mask]


def profiled(benchmark: Path) -> list[Point]:
    return [
        Point(row.instance, row.instance.split("-")[0], row.values, {}, "robust")
        for row in read_profile_table(benchmark).values()
        if row.values is not None
    ]


def by_instance(points: Sequence[Point], rng: np.random.Generator) -> Mask:
    late = int(rng.integers(_FEWEST, len(points) - _FEWEST))
    return np.asarray(rng.permutation(len(points)) < late)


def by_family(points: Sequence[Point], rng: np.random.Generator) -> Mask:
    names = sorted({point.family for point in points})
    slow = dict(zip(names, rng.random(len(names)) < 0.5, strict=True))
    odd = rng.random(len(points)) < _ODD
    return np.array([slow[point.family] for point in points]) != odd


def false_alarms(points: Sequence[Point], lot: Lot, draws: int, shuffles: int, seed: int) -> int:
    """How many of so many draws get a cause."""
    rng = np.random.default_rng(seed)
    named = 0
    for _ in range(draws):
        outcomes = {
            point.instance: "unsolved" if late else "solved"
            for point, late in zip(points, lot(points, rng), strict=True)
        }
        found = diagnosis(points, outcomes, permutations=shuffles, rng=rng)
        named += bool(found.components)
    return named


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--shuffles", type=int, default=199)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    points = profiled(given.benchmark)
    for lot, words in ((by_instance, "instance by instance"), (by_family, "family by family")):
        named = false_alarms(points, lot, given.draws, given.shuffles, given.seed)
        share = named / given.draws
        print(f"{words}: {named} of {given.draws} get a cause: {share:.1%} (level {LEVEL:.0%})")


if __name__ == "__main__":
    main()
