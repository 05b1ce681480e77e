"""A varied sample of instances, easy and hard, of every family; made once for each process."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from assay.truth.families import family
from assay.truth.instance import Instance

SETTINGS: Mapping[str, tuple[str, Mapping[str, object], int]] = {
    "radius-2x10": (
        "exact_radius",
        {"inputs": 10, "classes": 4, "hidden": (10, 10), "fractions": (0.5, 0.99, 0.99999)},
        1,
    ),
    "radius-2x20": (
        "exact_radius",
        {"inputs": 50, "classes": 5, "hidden": (20, 20), "fractions": (0.9, 0.999, 0.99999)},
        0,
    ),
    "radius-trained": (
        "exact_radius",
        {"inputs": 8, "hidden": (15,), "weights": "trained", "fractions": (0.9, 0.99999)},
        2,
    ),
    "radius-3x8": (
        "exact_radius",
        {"inputs": 6, "classes": 3, "hidden": (8, 8, 8), "fractions": (0.99, 0.99999)},
        3,
    ),
    "box-gates": (
        "constant_box",
        {"inputs": 8, "classes": 3, "depth": 2, "width": 12, "latent": 4},
        0,
    ),
    "box-gates-deep": (
        "constant_box",
        {"inputs": 20, "classes": 10, "depth": 20, "width": 24, "latent": 8},
        1,
    ),
    "box-gates-wide": (
        "constant_box",
        {"inputs": 60, "depth": 1, "width": 64, "latent": 16, "gamma": 1e-6, "eta": 1e-5},
        2,
    ),
    "box-hinges": (
        "constant_box",
        {"inputs": 30, "depth": 3, "width": 32, "collapse": "hinges", "epsilon": 0.5},
        3,
    ),
    "corners-small": (
        "corners",
        {"inputs": 10, "classes": 4, "hinges": 12, "active": 5, "hinge_l1": 1e-4},
        0,
    ),
    "corners-plain": ("corners", {"inputs": 40, "hinges": 128, "hinge_l1": 1.0, "gamma": 1e-4}, 1),
    "corners-steep": ("corners", {"inputs": 40, "hinges": 64, "hinge_l1": 1e6}, 2),
    "corners-knife-edge": (
        "corners",
        {"inputs": 40, "hinges": 256, "hinge_l1": 1e6, "gamma": 0.01},
        4,
    ),
    "corners-window": (
        "corners",
        {"inputs": 100, "classes": 3, "hinges": 200, "active": 100, "window": 6},
        3,
    ),
    "meap-two": ("meap", {"inputs": 3, "classes": 2, "pairs": 2, "gamma": 1.0}, 0),
    "meap-fine": ("meap", {"inputs": 50, "pairs": 32, "epsilon": 0.05, "gamma": 1e-5}, 1),
    "meap-many": ("meap", {"inputs": 20, "pairs": 64, "epsilon": 0.5, "gamma": 100.0}, 2),
    "paired-small": ("paired_bias", {"size": 4, "pairs": 2, "backbone": 1, "classes": 3}, 0),
    "paired-deep": (
        "paired_bias",
        {"size": 6, "pairs": 4, "backbone": 4, "width": 4, "gamma": 1e-3, "delta": 0.1},
        1,
    ),
    "paired-interval": (
        "paired_bias",
        {"size": 4, "pairs": 8, "gamma": 1.0, "delta": 0.005, "placement": "interval"},
        2,
    ),
    "contractive-rows": (
        "contractive_cnn",
        {"size": 4, "channels": 4, "depth": 4, "mixing": "rows", "gamma": 1e-4},
        0,
    ),
    "contractive-front": (
        "contractive_cnn",
        {"size": 6, "colours": 3, "channels": 4, "front": 3.0, "stride": 2, "head": "linear"},
        1,
    ),
    "contractive-deep": (
        "contractive_cnn",
        {"size": 5, "channels": 8, "depth": 10, "contraction": 0.98, "gamma": 1e-3},
        2,
    ),
    "residual-mirrors": ("residual", {"inputs": 16, "width": 4, "depth": 16, "gamma": 1e-3}, 0),
    "residual-stem": (
        "residual",
        {"inputs": 10, "features": 16, "depth": 4, "head": "linear", "instability": 1.0},
        1,
    ),
    "residual-dense": (
        "residual",
        {"inputs": 12, "width": 20, "mixing": "dense", "step": 1.5, "gamma": 1e-6},
        2,
    ),
    "meap-unstable": ("meap", {"inputs": 10, "pairs": 8, "instability": 20.0}, 3),
    "trained-mlp": ("trained", {"epochs": 100, "restarts": 4, "steps": 6, "window": 50}, 0),
    "trained-classes": ("trained", {"classes": 4, "epochs": 150, "restarts": 4, "steps": 6}, 0),
    "planted-soft": ("planted", {"inputs": 20, "placement": "face", "classes": 10}, 0),
    "planted-rotated": ("planted", {"kind": "rotated_box", "background": "cnn", "inputs": 9}, 1),
    "planted-simplex": ("planted", {"kind": "simplex", "polarity": "lower", "height": 2.0}, 2),
    "planted-tent": (
        "planted",
        {"kind": "tent", "folds": 3, "inputs": 4, "placement": "corner"},
        3,
    ),
    "planted-lock": (
        "planted",
        {"kind": "xor_lock", "inputs": 16, "parities": 13, "polarity": "lower", "dilution": 4},
        4,
    ),
    "polynomial-square": ("polynomial", {"inputs": 20, "hidden": 30, "degree": 2}, 0),
    "polynomial-cube": (
        "polynomial",
        {"inputs": 50, "hidden": 50, "degree": 3, "delta": 1e-4, "draw": "plain"},
        1,
    ),
    "polynomial-steep": ("polynomial", {"inputs": 40, "degree": 22, "delta": 1e-4}, 2),
    "polynomial-products": (
        "polynomial",
        {"inputs": 30, "hidden": 60, "degree": 7, "delta": 1e-5, "operator": "mul"},
        3,
    ),
    "polynomial-tree": (
        "polynomial",
        {"inputs": 40, "hidden": 40, "degree": 22, "bias": 1.0, "draw": "plain"},
        5,
    ),
}


@cache
def made(setting: str) -> tuple[Instance, ...]:
    name, values, seed = SETTINGS[setting]
    constructor = family(name)
    return tuple(constructor.make(constructor.knobs.model_validate(values), seed))


def of(setting: str, answer: str) -> list[Instance]:
    return [instance for instance in made(setting) if instance.truth.answer == answer]
