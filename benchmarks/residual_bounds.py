"""What interval and linear bounds (no branching) make of residual networks, as `cnn_bounds` tells.

`python benchmarks/residual_bounds.py` prints rows by depth, mixing, width, step and instability.
"""

from __future__ import annotations

from cnn_bounds import Settings, print_table

SETTINGS: Settings = [
    ("residual", values)
    for values in (
        *({"depth": depth} for depth in (1, 2, 4, 8, 16, 32)),
        *({"mixing": "dense", "depth": depth} for depth in (2, 8, 32)),
        *({"width": width} for width in (2, 4, 32)),
        *({"step": step} for step in (0.5, 1.0)),
        *({"instability": share} for share in (0.0, 0.25, 1.0)),
        {"inputs": 50, "features": 64, "head": "linear"},
        {"inputs": 128, "width": 64, "depth": 50},
    )
]

if __name__ == "__main__":
    print_table(SETTINGS)
