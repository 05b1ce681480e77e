"""Which knob makes a family hard: the sweeps that `difficulty.py` measures and draws.

A new family needs one entry here, a page in docs/families/, and the two commands that
`difficulty.py` names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SEEDS = (0, 1, 2)
ASKED = {"robust": ("interval", "linear", "milp"), "violated": ("attack", "linear", "milp")}
"""Who may know an answer: intervals never say violated, an attack never says robust."""


@dataclass(frozen=True)
class Sweep:
    """One knob from its easiest value to its hardest, all others fixed or at their defaults."""

    knob: str
    values: tuple[object, ...]
    fixed: Mapping[str, object] = field(default_factory=dict)

    def knobs(self, value: object) -> dict[str, object]:
        return {**self.fixed, self.knob: value}


SWEEPS: Mapping[str, tuple[Sweep, ...]] = {
    "exact_radius": (
        Sweep("fractions", ((0.2,), (0.4,), (0.6,), (0.8,), (0.99,), (0.99999,))),
        Sweep("hidden", ((5, 5), (10, 10), (15, 15), (20, 20), (30, 30)), {"fractions": (0.9,)}),
    ),
    "constant_box": (
        Sweep("depth", (1, 2, 4, 8, 16, 32), {"collapse": "gates", "inputs": 40, "width": 32}),
        Sweep("depth", (1, 2, 4, 8, 16, 32), {"collapse": "hinges", "inputs": 40, "width": 32}),
    ),
    "meap": (
        Sweep("pairs", (2, 4, 8, 16, 32, 64)),
        Sweep("instability", (1.05, 1.5, 3.0, 10.0, 50.0), {"pairs": 8}),
    ),
    "corners": (
        Sweep("hinges", (4, 8, 16, 32, 64, 256)),
        Sweep("active", (6, 10, 20, 40, 100), {"hinges": 128, "window": 6}),
    ),
    "paired_bias": (
        Sweep("backbone", (0, 1, 2, 3, 4)),
        Sweep("epsilon", (0.005, 0.01, 0.02, 0.05, 0.1), {"backbone": 1}),
    ),
    "contractive_cnn": (
        Sweep("depth", (1, 2, 4, 6, 8, 10), {"mixing": "hadamard"}),
        Sweep("depth", (1, 2, 4, 6, 8, 10), {"mixing": "rows"}),
    ),
    "residual": (
        Sweep("depth", (1, 2, 4, 8, 16, 32)),
        Sweep("width", (1, 2, 4, 8, 16, 32), {"depth": 4}),
    ),
    "smooth_pairs": (
        Sweep("gamma", (20.0, 5.0, 2.0, 1.0, 0.1, 0.001)),
        Sweep("backbone", (0, 1, 2, 3, 4), {"activation": "tanh"}),
    ),
    "planted": (
        Sweep("width", (0.3, 0.2, 0.1, 0.05, 0.02)),
        Sweep("parities", (6, 8, 11, 16, 24), {"kind": "xor_lock", "inputs": 24}),
    ),
    "trained": (Sweep("epochs", (800, 400, 200, 100, 50), {"restarts": 16, "steps": 20}),),
    "softmax_attention": (Sweep("margin_slack", (20.0, 10.0, 5.0, 2.0, 1.05, 1.00001)),),
    "linear_attention": (Sweep("margin_factor", (20.0, 10.0, 5.0, 3.0, 1.5, 1.1, 1.001)),),
    "polynomial": (
        Sweep("delta", (0.015, 0.01, 0.005, 0.001, 1e-4, 1e-6)),
        Sweep("degree", (2, 3, 6, 10, 16, 22), {"delta": 0.005}),
    ),
}
