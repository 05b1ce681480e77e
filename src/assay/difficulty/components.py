"""The five numbers of a difficulty profile, by the names that files, tables and charts use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Component:
    """One number of the profile: its name, what it measures, and what a large value asks for.

    `harder_when` says which end is the difficult one; `logarithmic` how charts draw it.
    """

    name: str
    title: str
    meaning: str
    remedy: str
    harder_when: str = "large"
    logarithmic: bool = False


COMPONENTS = (
    Component(
        "M_min",
        "minimum margin",
        "the smallest margin among the samples",
        "an answer close to a tie: exact bounds near the boundary",
        harder_when="small",
        logarithmic=True,
    ),
    Component(
        "G_IBP",
        "interval gap",
        "how much of the margin plain interval bounds lose, in units of the margin",
        "loose bounds: a tighter relaxation",
        logarithmic=True,
    ),
    Component(
        "U",
        "unstable fraction",
        "the share of nonlinear units that no interval bound makes linear",
        "many ambiguous units: branching on activations",
    ),
    Component(
        "A_tau",
        "local regions",
        "the logarithm of the number of different gradients seen",
        "many local behaviours: bounds that hold across regions, or splitting of the input",
    ),
    Component(
        "d_eff",
        "effective dimension",
        "how many input coordinates share the sensitivity of the margin",
        "sensitivity spread over many inputs: branching on activations, not on inputs",
        logarithmic=True,
    ),
)

NAMES = tuple(component.name for component in COMPONENTS)
