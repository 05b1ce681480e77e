"""What each class of witness is good for (the classes are told apart in `judge.witness`)."""

from __future__ import annotations

from assay.judge.task import WitnessClass

BEST_FIRST: tuple[WitnessClass, ...] = (
    "exact",
    "float32 only",
    "within tolerance only",
    "no violation",
    "outside box",
    "missing",
)
ESTABLISHING: frozenset[WitnessClass] = frozenset({"exact", "float32 only"})
"""They show a violation with no tolerance at all."""
CREDITED: frozenset[WitnessClass] = ESTABLISHING | {"within tolerance only"}
"""VNN-COMP pays a `sat` that comes with one of them."""
