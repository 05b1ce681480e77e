"""Exact bounds of factor z^degree - slope z over an interval of integers."""

from __future__ import annotations

from flint import fmpz

from assay.proof.work import charge, limbs


def least(factor: int, slope: int, degree: int, low: int, high: int) -> int:
    """A lower bound of f(z) = factor z^degree - slope z for real z from low to high.

    On each side of 0 the function is convex or concave. A concave one is least at an end, a
    convex one at an end or next to the integer below its flat spot.
    """
    longest = max(abs(low), abs(high)).bit_length()
    charge(100 + limbs(degree * longest) * limbs(factor.bit_length() + longest))
    if low < 0 < high:
        sides = (low, 0), (0, high)
        return min(least(factor, slope, degree, *side) for side in sides)
    if low < 0:
        return least(-factor if degree % 2 else factor, -slope, degree, -high, -low)
    at_ends: int = min(factor * z**degree - slope * z for z in (low, high))
    if factor <= 0 or slope <= 0 or degree == 1:
        return at_ends
    # f is convex, and flat somewhere from flat to flat + 1
    flat = int(fmpz(slope // (degree * factor)).root(degree - 1))
    if not low <= flat < high:
        return at_ends
    # f lies above its tangent at flat, which falls, up to flat + 1, from where f rises
    inside: int = factor * flat**degree - slope * flat
    tilt: int = degree * factor * flat ** (degree - 1) - slope
    return min(at_ends, inside + tilt)


def greatest(factor: int, slope: int, degree: int, low: int, high: int) -> int:
    """An upper bound of the same function."""
    return -least(-factor, -slope, degree, low, high)
