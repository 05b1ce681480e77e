"""What interval and linear bounds (no branching) make of smooth pairs, as `cnn_bounds` tells it.

`python benchmarks/smooth_bounds.py` prints rows by backbone depth, activation, gamma and size.
"""

from __future__ import annotations

from cnn_bounds import Settings, print_table

LARGE = {"inputs": 200, "width": 128, "backbone": 3, "pairs": 128, "classes": 10}
SETTINGS: Settings = [
    ("smooth_pairs", values)
    for values in (
        *({"activation": a, "backbone": b} for a in ("sigmoid", "tanh") for b in range(5)),
        *({"gamma": gamma} for gamma in (1e-4, 1.0, 2.0, 5.0, 20.0)),
        *({"delta": delta} for delta in (0.01, 1.0)),
        LARGE,
    )
]

if __name__ == "__main__":
    print_table(SETTINGS)
