"""Assay's interval bounds: fast, incomplete, never wrong."""

from assay.judge.own_tool import own_verifier
from assay.question.exact import READABLE_OPERATORS

VERIFIER = own_verifier(
    "interval",
    "proves only: interval bounds (IBP) with outward rounding",
    READABLE_OPERATORS,
    needs_torch=True,
)
