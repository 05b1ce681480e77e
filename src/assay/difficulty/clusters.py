"""Which instances stand and fall together: those of a family, and in it those of one network.

A verifier that fails on one instance of a family mostly fails on the others too, and their profiles
are alike. So eighty instances of ten families are nearer to ten cases than to eighty, and a shuffle
that ignores this finds causes everywhere.

`shuffles` keeps the clusters together: families trade all their outcomes, then networks inside a
family do, then instances of one network. Only clusters of similar size trade (the larger at most
twice the smaller), and a larger one repeats what it gets: then totals may change a little. Where
all sizes are equal this is an exact permutation test of "outcomes know the family and the network,
not the profile". A family that has no partner keeps its outcomes, and only what the profile tells
inside it counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.difficulty.explanation import Point
from assay.difficulty.ranks import Mask

Numbers = npt.NDArray[np.intp]
_SIMILAR = 2
# Who scores a batch needs some thousand numbers a row, however few cases there are.
_BATCH, _LEAST_ROW = 400_000, 1_600


@dataclass(frozen=True)
class Clusters:
    """The family and the network of each case, as numbers; a network lies in one family.

    `one` and `many` are what the largest clusters are called.
    """

    families: Numbers
    networks: Numbers
    one: str = "family"
    many: str = "families"

    @classmethod
    def of(cls, cases: Sequence[Point]) -> Clusters:
        """An instance that names no network has one of its own.

        Where no answer is known, the family of an instance is its network (`Point`).
        """
        families = _numbered([(case.family,) for case in cases])
        networks = _numbered(
            [(case.family, case.network, "" if case.network else case.instance) for case in cases]
        )
        if len(set(families)) > 1 and any(case.answer is not None for case in cases):
            return cls(families, networks)
        return cls(families, networks, "network", "networks")

    @property
    def independent(self) -> Numbers:
        """The largest clusters of which there are several: families, networks, or single cases."""
        for clusters in (self.families, self.networks):
            if clusters.max() > 0:
                return clusters
        return np.arange(self.families.size)

    @property
    def count(self) -> int:
        return int(self.independent.max()) + 1

    @property
    def matter(self) -> bool:
        """Whether some independent cluster has several cases."""
        return self.count < self.families.size

    def shuffles(
        self, outcomes: Mask, count: int, rng: np.random.Generator, among: Mask | None = None
    ) -> Iterator[Mask]:
        """So many shuffles, one a row, in batches; only `among` these cases, and the others."""
        size = outcomes.size
        apart = np.zeros(size, bool) if among is None else among
        parts = [part for part in (np.flatnonzero(apart), np.flatnonzero(~apart)) if part.size]
        batch = max(1, _BATCH // max(size, _LEAST_ROW))
        for begin in range(0, count, batch):
            rows = min(batch, count - begin)
            found = np.empty((rows, size), bool)
            for part in parts:
                families, networks = self.families[part], self.networks[part]
                found[:, part] = _traded(outcomes[part], families, networks, rows, rng)
            yield found

    @property
    def free(self) -> Clusters:
        """The same cases as if each stood for itself."""
        return Clusters(np.zeros_like(self.families), np.arange(self.families.size))


def _numbered(keys: Sequence[tuple[str, ...]]) -> Numbers:
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], dtype=np.intp)


def _traded(
    outcomes: Mask, families: Numbers, networks: Numbers, rows: int, rng: np.random.Generator
) -> Mask:
    # Clusters lie side by side, so that a place in one means a place in another.
    order = np.lexsort((networks, _sizes(networks), families))
    families, networks = families[order], networks[order]
    size = order.size
    taken = np.argsort(_ranked(networks) + rng.random((rows, size)), axis=1)
    for clusters, inside in ((networks, families), (families, np.zeros(size, np.intp))):
        taken = np.take_along_axis(taken, _sources(clusters, inside, rows, rng), axis=1)
    found = np.empty((rows, size), bool)
    found[:, order] = outcomes[order][taken]
    return found


def _ranked(clusters: Numbers) -> Numbers:
    """Numbers from 0 up in the order in which clusters begin."""
    return np.cumsum(np.diff(clusters, prepend=clusters[0]) != 0)


def _sizes(clusters: Numbers) -> Numbers:
    """The size of each case's cluster."""
    return np.bincount(clusters)[clusters]


def _sources(clusters: Numbers, inside: Numbers, rows: int, rng: np.random.Generator) -> Numbers:
    """Where each case takes its outcome from when similar clusters inside a larger one trade."""
    places = _ranked(clusters)
    begins = np.flatnonzero(np.diff(places, prepend=-1))
    sizes = np.diff(begins, append=places.size)
    slots = np.lexsort((sizes, inside[begins]))
    groups = _similar(sizes[slots], inside[begins][slots])
    drawn = np.argsort(groups + rng.random((rows, slots.size)), axis=1)
    partner = np.empty((rows, slots.size), np.intp)
    partner[:, slots] = slots[drawn]
    sources = partner[:, places]
    return begins[sources] + (np.arange(places.size) - begins[places]) % sizes[sources]


def _similar(sizes: Numbers, inside: Numbers) -> Numbers:
    """Groups of clusters that may trade; they come sorted by where they lie, then by size."""
    groups = np.zeros(sizes.size, np.intp)
    first = 0
    for k in range(1, sizes.size):
        apart = inside[k] != inside[first] or sizes[k] > _SIMILAR * sizes[first]
        first = k if apart else first
        groups[k] = groups[k - 1] + apart
    return groups
