"""The same radius by our phase search and by the MILP in HiGHS and SCIP, side by side.

    python benchmarks/radius_solvers.py [--hidden 10,10] [--seeds 3]

Every row ends in the same exact proof; the time is that of the search and the proof together.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from fractions import Fraction

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

from assay.errors import CannotCertify
from assay.truth.families import family

SOLVERS = ("branch", "highs", "scip")


def rows(hidden: tuple[int, ...], seeds: int) -> Iterator[tuple[str, ...]]:
    """A row for every seed: the radius, the leaves, seconds by solver and ratios to ours."""
    constructor = family("exact_radius")
    for seed in range(1, seeds + 1):
        seconds: dict[str, float] = {}
        radius, leaves = "-", "-"
        for solver in SOLVERS:
            knobs = constructor.knobs.model_validate(
                {"hidden": hidden, "fractions": (0.99999,), "centres": 4, "solver": solver}
            )
            begin = time.perf_counter()
            try:
                robust = constructor.make(knobs, seed)[0]
            except CannotCertify:
                continue
            seconds[solver] = time.perf_counter() - begin
            radius = f"{float(Fraction(robust.truth.facts['radius_upper'])):.7f}"
            leaves = robust.truth.facts["leaves"]
        ours = seconds.get("branch")
        cells = [f"{seconds[s]:.2f}" if s in seconds else "refused" for s in SOLVERS]
        ratios = [
            f"{seconds[s] / ours:.0f}x" if ours and s in seconds else "-" for s in SOLVERS[1:]
        ]
        yield (
            "x".join(map(str, hidden)),
            str(seed),
            radius,
            leaves,
            *cells,
            *ratios,
        )


HEADER = (
    "hidden",
    "seed",
    "radius",
    "leaves",
    "branch s",
    "HiGHS s",
    "SCIP s",
    "HiGHS / ours",
    "SCIP / ours",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hidden", default="20,20")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    print(" | ".join(HEADER))
    for row in rows(tuple(map(int, arguments.hidden.split(","))), arguments.seeds):
        print(" | ".join(row), flush=True)


if __name__ == "__main__":
    main()
