"""Random points against the violation probabilities that a benchmark folder claims.

    python benchmarks/planted_sampling.py DIR [--points N] [--allow-untold]

For every violated instance of the family `planted` with a probability: N points from sets a little
larger than its plants, hits against what was expected, and how many standard deviations lie in
between. Where fewer than 20 hits are expected, points cannot tell. Exit code 1 if a claim is
contradicted, or if points cannot tell and that is not allowed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from assay.question.asked import read_question
from assay.suite.folder import BenchmarkFolder
from assay.suite.proved_truths import entry_truth
from assay.truth.planted import FAMILY
from assay.truth.planting.sampling import POINTS, Agreement, sampled


def agreements(folder: Path, points: int) -> Iterator[tuple[str, Agreement]]:
    for number, entry in enumerate(BenchmarkFolder.open(folder).entries):
        truth = None if entry.truth is None else entry_truth(entry)
        if truth is None or truth.family != FAMILY or truth.violation_probability is None:
            continue
        network, specification = read_question(entry.onnx, entry.vnnlib)
        (case,) = specification.cases
        yield entry.name, sampled(network, case, truth, points=points, seed=number)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--allow-untold", action="store_true")
    arguments = parser.parse_args()
    print(f"{'instance':40s} {'share of box':>13s} {'expected':>10s} {'hits':>7s} {'sigmas':>7s}")
    contradicted = told = total = 0
    for name, found in agreements(arguments.folder, arguments.points):
        total += 1
        told += found.telling
        contradicted += not found.agrees
        mark = "" if found.telling else "  too rare to tell"
        mark = mark if found.agrees else "  CONTRADICTED"
        print(
            f"{name:40s} {found.weight:13.3g} {found.expected[0]:10.1f} {found.hits:7d} "
            f"{found.sigmas:7.2f}{mark}",
            flush=True,
        )
    untold = total - told
    print(f"{total} claims, {untold} too rare to tell, {contradicted} contradicted.")
    return 1 if contradicted or (untold and not arguments.allow_untold) else 0


if __name__ == "__main__":
    sys.exit(main())
