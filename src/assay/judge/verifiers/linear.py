"""Assay's linear bounds with branch and bound: proves and falsifies."""

from assay.judge.own_tool import own_verifier
from assay.question.exact import READABLE_OPERATORS

VERIFIER = own_verifier(
    "linear",
    "linear bounds (CROWN) with branch and bound, sound rounding, counterexamples validated",
    READABLE_OPERATORS,
    needs_torch=True,
)
