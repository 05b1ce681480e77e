"""Where mutants take hold of the verifier, for those places that several of them share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.bounds.branch import Search
from assay.bounds.domains import Domains, Units
from assay.bounds.leaves import Programme, programmes
from assay.bounds.relaxed_network import RelaxedNetwork
from assay.judge.power.mutant import Setting, Swap
from assay.question.network import Network, Node

_SEARCH = "assay.bounds.branch:Search"


def misread(rewrite: Callable[[Network], Network]) -> Swap:
    """The bounds are about another network; counterexamples are still replayed on the right one."""

    def make(original: Any, _: Setting) -> Any:
        return lambda network: original(rewrite(network))

    def touches(network: Network) -> bool:
        other = rewrite(network)
        return other.nodes != network.nodes or any(
            not np.array_equal(array, network.initializers[name])
            for name, array in other.initializers.items()
        )

    return Swap("assay.bounds.branch", "LinearNetwork", make, touches)


def misread_nodes(rewrite: Callable[[Network, Node], Node]) -> Swap:
    def rewritten(network: Network) -> Network:
        return replace(network, nodes=tuple(rewrite(network, node) for node in network.nodes))

    return misread(rewritten)


def at_root(change: Callable[[Domains, Setting], Domains]) -> Swap:
    """What the search starts from: the whole box once for each disjunct."""

    def make(original: Any, setting: Setting) -> Any:
        return lambda search: change(original(search), setting)

    return Swap(_SEARCH, "_root", make)


def when_bounded(change: Callable[[Search, Domains, Setting], Domains], *, root: bool) -> Swap:
    """Domains that have just got their bounds: those of the root, or all later ones."""

    def make(original: Any, setting: Setting) -> Any:
        def evaluated(search: Search, domains: Domains, steps: int) -> tuple[Domains, Tensor]:
            first = search.boxes == 0
            bounded, points = original(search, domains, steps)
            return (change(search, bounded, setting) if first == root else bounded), points

        return evaluated

    return Swap(_SEARCH, "_evaluated", make)


def before_bounds(change: Callable[[Search, Domains, Setting], Domains]) -> Swap:
    """Domains that were split off and are about to be bounded."""

    def make(original: Any, setting: Setting) -> Any:
        def evaluated(search: Search, domains: Domains, steps: int) -> tuple[Domains, Tensor]:
            changed = domains if search.boxes == 0 else change(search, domains, setting)
            found: tuple[Domains, Tensor] = original(search, changed, steps)
            return found

        return evaluated

    return Swap(_SEARCH, "_evaluated", make)


def at_leaves(believed: Callable[[Programme, float, Setting], float]) -> Swap:
    """Leaves of the search, solved exactly: a higher bound that is believed replaces the right one.

    `believed` is told the programme, the bound without it, and the setting.
    """

    def make(original: Any, setting: Setting) -> Any:
        def solved(
            relaxed: RelaxedNetwork, units: Units, functional: Tensor, until: float = math.inf
        ) -> tuple[Tensor, Tensor]:
            bounds, points = original(relaxed, units, functional, until)
            with torch.no_grad():
                own = relaxed.lower(relaxed.on_outputs(functional))
                for (i, k), programme in programmes(relaxed, units, own):
                    if programme.finite:
                        bound = believed(programme, float(own.bound[i, k]), setting)
                        bounds[i, k] = max(float(bounds[i, k]), bound)
            return bounds, points

        return solved

    return Swap("assay.bounds.branch", "solved", make)


def with_ranges(
    domains: Domains, change: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
) -> Domains:
    """The ranges of all units before kinks, changed."""
    changed = {name: change(low, domains.highs[name]) for name, low in domains.lows.items()}

    def end(which: int) -> Mapping[str, Tensor]:
        return {name: ends[which] for name, ends in changed.items()}

    return replace(domains, lows=end(0), highs=end(1))
