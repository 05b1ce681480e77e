"""About how much memory a training takes, so that what cannot fit is refused or cut to parts."""

from __future__ import annotations

from collections.abc import Sequence

from assay.truth.training.architectures import (
    ARCHITECTURES,
    SIDE,
    Chain,
    Conv,
    Dense,
    Transformer,
    input_shape,
    size,
)
from assay.truth.training.settings import Schedule, Setting

_BYTES = 4
_ROOM = {"cpu": 2**30, "cuda": 2**34}
"""Bytes that one attack may take: networks and restarts are attacked in parts that fit."""


def needed_bytes(schedule: Schedule, settings: Sequence[Setting]) -> int:
    """For an epoch of all networks together: its attack, or the step on what the window holds."""
    examples = 2 * schedule.examples
    longest = max(setting.window for setting in settings)
    points = max(examples * schedule.restarts, examples * longest + schedule.examples)
    return len(settings) * points * _bytes_a_point(schedule)


def restarts_at_once(schedule: Schedule, networks: int, device: str) -> int:
    """An even number, since every second restart takes shrinking steps."""
    each = networks * 2 * schedule.examples * _bytes_a_point(schedule)
    return max(2, _ROOM[device] // each // 2 * 2)


def networks_at_once(schedule: Schedule, restarts: int, device: str) -> int:
    each = 2 * schedule.examples * restarts * _bytes_a_point(schedule)
    return max(1, _ROOM[device] // each)


def _bytes_a_point(schedule: Schedule) -> int:
    """What a forward and a backward pass keep: each unit before and behind its activation."""
    architecture = ARCHITECTURES[schedule.architecture]
    inputs = size(input_shape(architecture, schedule.channels))
    if isinstance(architecture, Chain):
        units = _units(architecture, inputs)
    else:
        units = _transformer_units(architecture)
    return _BYTES * (4 * inputs + 2 * (units + schedule.classes))


def _units(chain: Chain, inputs: int) -> int:
    total, width = 0, inputs
    for layer in chain.layers:
        if isinstance(layer, Conv):
            width = layer.filters * SIDE * SIDE
        elif isinstance(layer, Dense):
            width = layer.width
        total += width
    return total


def _transformer_units(architecture: Transformer) -> int:
    tokens = SIDE * SIDE + 1
    each = (8 + 2 * architecture.expansion) * architecture.width + architecture.heads * tokens
    return architecture.depth * tokens * each
