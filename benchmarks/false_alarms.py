"""How often `assay explain` names a cause where there is none: outcomes drawn by lot.

    assay build quick -o /tmp/quick && assay profile /tmp/quick
    python benchmarks/false_alarms.py /tmp/quick [--draws 400] [--shuffles 199]

The profiles are those of the folder. Of its instances as many time out as a lot says (five at
least, and five are solved at least), which ones is another lot; so the profile explains nothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from assay.difficulty.diagnosis import LEVEL, diagnosis
from assay.difficulty.explanation import Point
from assay.difficulty.profile_table import read_profile_table

_FEWEST = 5


def false_alarms(benchmark: Path, draws: int, shuffles: int, seed: int) -> int:
    """How many of so many draws get a cause."""
    rows = read_profile_table(benchmark).values()
    points = [
        Point(row.instance, row.instance.split("-")[0], row.values, {})
        for row in rows
        if row.values is not None
    ]
    rng = np.random.default_rng(seed)
    named = 0
    for _ in range(draws):
        late = int(rng.integers(_FEWEST, len(points) - _FEWEST))
        which = set(rng.permutation(len(points))[:late].tolist())
        outcomes = {
            point.instance: "timeout" if number in which else "solved"
            for number, point in enumerate(points)
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
    named = false_alarms(given.benchmark, given.draws, given.shuffles, given.seed)
    share = named / given.draws
    print(f"{named} of {given.draws} draws get a cause: {share:.1%} (level {LEVEL:.0%})")


if __name__ == "__main__":
    main()
