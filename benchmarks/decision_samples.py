"""Exact errors and expected samples of the decision rules, beside a common confidence sequence.

    python benchmarks/decision_samples.py [--markdown]

For the five settings of the weakened robustness paper, by dynamic programming over each stopping
rule (nothing is simulated): the two errors at eps' and eps, and the expected samples at eps', eps,
0 and 1/2. The peer is the usual confidence sequence from a Beta(1/2, 1/2) mixture, restricted to
the rates of the alternative, with the same errors and the same looks. A second table compares at
rates in between. Exit code 1 if a rule that promises its errors breaks them, or if the usual rule
takes more samples than the peer in one of the settings.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaln

from assay.analyse.boundaries import NEVER, Between, Boundaries, looks
from assay.analyse.promise import Promise
from assay.analyse.rules import rule_for
from assay.analyse.stopping import Operation, operation

SETTINGS = tuple(
    Promise(eps, inner)
    for eps, inner in ((0.001, 1e-6), (0.01, 0.005), (0.05, 0.045), (0.1, 0.095), (0.2, 0.195))
)
USUAL = "confidence-sequence"
RULES = (USUAL, "sprt", "binomial", "paper")
PEER = "beta mixture (peer)"
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """One rule in one setting: the four rates in the order eps', eps, 0, 1/2."""

    promise: Promise
    name: str
    holds: bool
    most: int
    found: tuple[Operation, Operation, Operation, Operation]

    @property
    def errors(self) -> tuple[float, float]:
        return self.found[0].not_robust, self.found[1].robust

    @property
    def broken(self) -> bool:
        return self.holds and (
            self.errors[0] > self.promise.alpha or self.errors[1] > self.promise.beta
        )


def peer(promise: Promise) -> tuple[Between, int]:
    """The boundaries of the Beta(1/2, 1/2) mixture and the look at which they have met."""
    last = 4096
    while (bounds := peer_boundaries(promise, np.array([last]))).accept_at + 1 < bounds.reject_at:
        last *= 2
    whole = peer_boundaries(promise, looks(0, last))
    last = int(whole.at[np.argmax(whole.accept_at + 1 >= whole.reject_at)])
    return whole.part, last


def peer_boundaries(promise: Promise, at: NDArray[np.int64]) -> Boundaries:
    samples = at.astype(np.float64)

    def too_many(failures: Floats) -> NDArray[np.bool_]:
        return _mixed(promise.eps, samples, failures) < -math.log(promise.beta)

    def enough(failures: Floats) -> NDArray[np.bool_]:
        evidence = _mixed(1 - promise.eps_inner, samples, samples - failures)
        return evidence >= -math.log(promise.alpha)

    # Only on its own side of the rate has a mixture evidence, and there it is monotone.
    accept_at = _first(too_many, np.zeros_like(samples), np.ceil(samples * promise.eps)) - 1
    reject_at = _first(enough, np.floor(samples * promise.eps_inner), samples + 1)
    return Boundaries(
        at,
        accept_at.astype(np.int64),
        np.where(reject_at > samples, NEVER, reject_at.astype(np.int64)),
    )


def _mixed(rate: float, samples: Floats, hits: Floats) -> Floats:
    """The logarithm of the mixed likelihood of rates below `rate` over that of `rate`."""
    a, b = hits + 0.5, samples - hits + 0.5
    with np.errstate(divide="ignore"):
        mixed = betaln(a, b) + np.log(betainc(a, b, rate))
    mixed -= betaln(0.5, 0.5) + math.log(betainc(0.5, 0.5, rate))
    return np.asarray(mixed - hits * math.log(rate) - (samples - hits) * math.log1p(-rate))


def _first(holds: Callable[[Floats], NDArray[np.bool_]], low: Floats, high: Floats) -> Floats:
    """The smallest count from `low` on where `holds`, by bisection; `high` if there is none."""
    while np.any(low < high):
        middle = np.floor((low + high) / 2)
        found = holds(middle) | (middle >= high)
        low, high = np.where(found, low, middle + 1), np.where(found, middle, high)
        low = np.minimum(low, high)
    return high


def lines(promise: Promise) -> Iterator[Line]:
    rates = (promise.eps_inner, promise.eps, 0.0, 0.5)
    for name in RULES:
        rule = rule_for(name, promise)
        found = [operation(rule.between, rate, rule.last) for rate in rates]
        yield Line(promise, name, rule.holds, rule.last, (found[0], found[1], found[2], found[3]))
    between, last = peer(promise)
    found = [operation(between, rate, last) for rate in rates]
    yield Line(promise, PEER, True, last, (found[0], found[1], found[2], found[3]))


def cells(line: Line) -> list[str]:
    return [
        f"{line.promise.eps:g} / {line.promise.eps_inner:g}",
        line.name,
        *(f"{error:.3g}" for error in line.errors),
        *(f"{one.samples:,.{0 if one.samples >= 100 else 1}f}" for one in line.found),
        f"{line.most:,}",
    ]


HEADINGS = ["eps / eps'", "rule", "type I", "type II", "at eps'", "at eps", "at 0", "at .5", "most"]
FACTORS = (("eps'", 0.25), ("eps'", 0.6), ("eps'", 0.9), ("eps", 1.1), ("eps", 1.5), ("eps", 3.0))


def ratios(promise: Promise) -> list[str]:
    """Expected samples of the usual rule over those of the peer, at rates in between."""
    rule = rule_for(USUAL, promise)
    other, last = peer(promise)
    row = [f"{promise.eps:g} / {promise.eps_inner:g}"]
    for end, factor in FACTORS:
        rate = factor * (promise.eps if end == "eps" else promise.eps_inner)
        own = operation(rule.between, rate, rule.last).samples
        row.append(f"{own / operation(other, rate, last).samples:.2f}")
    return row


def print_table(headings: list[str], rows: list[list[str]], markdown: bool) -> None:
    if markdown:
        for row in (headings, ["---"] * len(headings), *rows):
            print("| " + " | ".join(row) + " |")
        return
    widths = [max(len(row[column]) for row in (headings, *rows)) for column in range(len(headings))]
    for row in (headings, *rows):
        print("  ".join(f"{cell:>{width}s}" for cell, width in zip(row, widths, strict=True)))


def worse_than_peer(setting: list[Line]) -> bool:
    by_name = {line.name: line for line in setting}
    pairs = zip(by_name[USUAL].found, by_name[PEER].found, strict=True)
    return any(own.samples > other.samples * (1 + 1e-9) for own, other in pairs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markdown", action="store_true", help="print the tables as markdown")
    markdown = parser.parse_args().markdown
    settings = [list(lines(promise)) for promise in SETTINGS]
    print_table(HEADINGS, [cells(line) for setting in settings for line in setting], markdown)
    print()
    headings = [HEADINGS[0], *(f"{factor:g} {end}" for end, factor in FACTORS)]
    print_table(headings, [ratios(promise) for promise in SETTINGS], markdown)
    broken = [line for setting in settings for line in setting if line.broken]
    worse = [setting[0].promise for setting in settings if worse_than_peer(setting)]
    for line in broken:
        print(f"{line.name} breaks its errors at eps {line.promise.eps:g}")
    for promise in worse:
        print(f"{USUAL} takes more samples than the peer at eps {promise.eps:g}")
    return 1 if broken or worse else 0


if __name__ == "__main__":
    sys.exit(main())
