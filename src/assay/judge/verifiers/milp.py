"""Assay's MILP verifier: complete for MLPs of small size."""

from assay.judge.own_tool import own_verifier

VERIFIER = own_verifier(
    "milp",
    "complete for small ReLU MLPs: HiGHS, counterexamples validated exactly",
    frozenset(
        {"Gemm", "MatMul", "Add", "Relu", "Flatten", "Reshape", "Identity", "Squeeze", "Unsqueeze"}
    ),
)
