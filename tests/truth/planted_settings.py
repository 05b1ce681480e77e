"""Questions of the planted family that several tests ask."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from assay.question import vnnlib
from assay.question.network import load
from assay.question.property import Case
from assay.question.torch_view import torch_view
from assay.truth.instance import Instance
from assay.truth.planted import PlantedKnobs, make

KINDS = ("soft_box", "rotated_box", "simplex", "tent", "xor_lock")
CONVEX = KINDS[:3]
PLACEMENTS = ("inside", "face", "corner", "past_middle")
BACKGROUNDS = ("mlp", "cnn", "sigmoid", "tanh")
Floats = NDArray[np.float64]

SAMPLED: dict[str, dict[str, Any]] = {
    "soft-plane": {"kind": "soft_box", "inputs": 2, "width": 0.3},
    "soft-corner": {"kind": "soft_box", "inputs": 8, "placement": "corner", "background": "cnn"},
    "soft-face": {"kind": "soft_box", "inputs": 12, "placement": "face", "polarity": "lower"},
    "soft-smooth": {"kind": "soft_box", "inputs": 4, "background": "tanh", "height": 2.0},
    "rotated-plane": {"kind": "rotated_box", "inputs": 2, "width": 0.3, "background": "sigmoid"},
    "rotated": {"kind": "rotated_box", "inputs": 5, "placement": "past_middle"},
    "simplex-plane": {"kind": "simplex", "inputs": 2, "width": 0.3, "placement": "corner"},
    "simplex": {"kind": "simplex", "inputs": 4, "polarity": "lower", "height": 2.0},
    "tent-once": {"kind": "tent", "inputs": 3, "folds": 1, "placement": "face"},
    "tent-thrice": {"kind": "tent", "inputs": 2, "folds": 3, "width": 0.1, "background": "cnn"},
    "tent-middle": {"kind": "tent", "inputs": 4, "width": 0.3, "placement": "past_middle"},
    "lock": {"kind": "xor_lock", "inputs": 6, "parities": 6},
    "lock-full": {"kind": "xor_lock", "inputs": 7, "parities": 12, "placement": "past_middle"},
    "lock-face": {"kind": "xor_lock", "inputs": 8, "parities": 7, "placement": "face"},
    "soft-depth": {"kind": "soft_box", "inputs": 3, "placement": "corner", "depth": 0.04},
    "rotated-depth": {"kind": "rotated_box", "inputs": 3, "placement": "face", "depth": 0.02},
    "middle-depth": {"kind": "soft_box", "inputs": 3, "placement": "past_middle", "depth": 0.1},
    "tip": {"kind": "soft_box", "inputs": 2, "tip": True, "height": 0.5, "width": 0.3},
    "shallow": {"kind": "soft_box", "inputs": 4, "height": 0.001},
    "two": {"kind": "soft_box", "inputs": 3, "plants": 2, "width": 0.2, "classes": 2},
    "three": {"kind": "rotated_box", "inputs": 3, "plants": 3, "width": 0.1},
    "three-pooled": {"kind": "simplex", "inputs": 2, "plants": 3, "width": 0.15, "stem": "pool"},
    **{
        f"{kind}-{stem}": {"kind": kind, "inputs": 5 if kind == "xor_lock" else 3, "stem": stem}
        | ({"parities": 6} if kind == "xor_lock" else {"width": 0.3, "folds": 1})
        for kind, stem in product(KINDS, ("pool", "padded_pool", "counted_pool", "matmul", "gemm"))
    },
    "soft-capped": {"kind": "soft_box", "inputs": 3, "charges": "capped", "stem": "pool"},
    "rotated-capped": {"kind": "rotated_box", "inputs": 3, "charges": "capped", "width": 0.3},
    "simplex-capped": {"kind": "simplex", "inputs": 3, "charges": "capped", "width": 0.3},
    "tent-capped": {"kind": "tent", "inputs": 3, "charges": "capped"},
    "two-capped": {"kind": "soft_box", "inputs": 3, "plants": 2, "width": 0.2, "charges": "capped"},
    "soft-sigmoid": {"kind": "soft_box", "inputs": 5, "stem": "sigmoid"},
    "soft-tanh": {"kind": "soft_box", "inputs": 4, "stem": "tanh", "background": "sigmoid"},
    "lock-smooth": {"kind": "xor_lock", "inputs": 5, "parities": 8, "background": "sigmoid"},
}


@cache
def made(name: str, seed: int = 0) -> tuple[Instance, Instance]:
    robust, violated = make(PlantedKnobs(**SAMPLED[name]), seed)
    return robust, violated


def asked(instance: Instance) -> Case:
    (case,) = vnnlib.read(instance.vnnlib.decode(), instance.name).cases
    return case


def violating(instance: Instance, points: Floats) -> NDArray[np.bool_]:
    outputs = torch_view(load(instance.onnx, "planted"), torch.float64)(torch.tensor(points))
    excesses = [
        sum(float(c) * outputs[:, i] for i, c in inequality.terms) - float(inequality.bound)
        for (inequality,) in asked(instance).violation.disjuncts
    ]
    found: NDArray[np.bool_] = (torch.stack(excesses).amin(dim=0) <= 0).numpy()
    return found


def probability(instance: Instance) -> tuple[Fraction, Fraction]:
    stated = instance.truth.violation_probability
    assert stated is not None
    if "exact" in stated:
        return (Fraction(stated["exact"]),) * 2
    return Fraction(stated["lower"]), Fraction(stated["upper"])
