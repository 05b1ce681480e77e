"""One proof a file; `RULES` maps a certificate's kind to the function that checks it.

A rule takes a `Claim` and returns a `Proof`: a lower bound of the margin over the whole box. It
raises Rejected (the proof fails, with the place) or Unsupported (not the structure it knows).
"""

from __future__ import annotations

from collections.abc import Callable

from assay.proof.claim import Claim, Proof
from assay.proof.rules import (
    constant_box,
    contractive_cnn,
    corners,
    linear_attention,
    meap,
    paired_bias,
    planted,
    polynomial,
    relu_tree,
    residual,
    smooth_pairs,
    softmax_attention,
)

RULES: dict[str, Callable[[Claim], Proof]] = {
    "constant_box": constant_box.prove,
    "contractive_cnn": contractive_cnn.prove,
    "corners": corners.prove,
    "linear_attention": linear_attention.prove,
    "meap": meap.prove,
    "paired_bias": paired_bias.prove,
    "planted": planted.prove,
    "polynomial": polynomial.prove,
    "relu_tree": relu_tree.prove,
    "residual": residual.prove,
    "smooth_pairs": smooth_pairs.prove,
    "softmax_attention": softmax_attention.prove,
}
WITH_ARRAYS = ("polynomial", "relu_tree")
"""Kinds whose certificates may carry arrays."""
