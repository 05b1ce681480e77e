"""Output biases that leave a wanted slack, and the twin's, of which one is just too small.

With all biases zero, a rule of the checker bounds every rival's excess f_y - f_k on the box from
below. Biases raise each bound to gamma, rounded up to float32. The twin moves one bias until a
rival wins at a corner where its excess is known exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from assay.errors import BadInput
from assay.truth.dyadic import float32_at_least, float32_at_most

Head = Literal["centred", "linear"]
"""Rivals are zero, so only the label's bias is moved; or every class has weights of its own."""


@dataclass(frozen=True)
class Rivalry:
    """One rival's excess without biases: at a bad corner, and at the middle of the box."""

    rival: int
    at_corner: Fraction
    at_middle: Fraction


@dataclass(frozen=True)
class OutputBiases:
    """The robust network's biases with the margin that they leave, and its twin's."""

    kept: tuple[Fraction, ...]
    spoiled: tuple[Fraction, ...]
    margin: Fraction


def planted_biases(
    family: str, head: Head, label: int, gamma: Fraction, bounds: Sequence[Fraction], seen: Rivalry
) -> OutputBiases:
    """`bounds` has one lower bound of the excess for each rival, in the order of the classes."""
    rivals = [k for k in range(len(bounds) + 1) if k != label]
    gaps = {k: gamma - bound for k, bound in zip(rivals, bounds, strict=True)}
    try:
        kept = _kept(head, label, gaps)
    except OverflowError:
        raise BadInput(f"{family}: gamma does not fit float32; lower it") from None
    # The twin keeps the centre right wherever float32 is fine enough for it.
    drop = seen.at_middle - seen.at_corner
    lead = seen.at_corner + (min(gamma, drop / 2) if drop > 0 else gamma)
    spoiled = list(kept)
    if head == "linear":
        spoiled[seen.rival] = float32_at_least(lead)
    else:
        spoiled[label] = float32_at_most(-lead)
    margin = min(gamma - gaps[k] + kept[label] - kept[k] for k in rivals)
    return OutputBiases(tuple(kept), tuple(spoiled), margin)


def _kept(head: Head, label: int, gaps: dict[int, Fraction]) -> list[Fraction]:
    """Biases that put the label by at least its gap above each rival."""
    biases = [Fraction(0)] * (len(gaps) + 1)
    if head == "centred":
        biases[label] = float32_at_least(max(gaps.values()))
    else:
        for rival, gap in gaps.items():
            biases[rival] = float32_at_most(-gap)
    return biases
