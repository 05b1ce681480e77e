"""Assay's falsifier: it can only say violated, and only with an exact counterexample."""

from assay.judge.own_tool import own_verifier
from assay.question.exact import READABLE_OPERATORS

VERIFIER = own_verifier(
    "attack",
    "falsifier only: gradient search, counterexamples validated",
    READABLE_OPERATORS,
    needs_torch=True,
)
