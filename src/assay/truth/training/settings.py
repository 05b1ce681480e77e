"""What a training is told; the defaults are those of SoundnessBench's section 4.1."""

from __future__ import annotations

from dataclasses import dataclass

MOST_WINDOW, MOST_EPOCHS = 1000, 20_000
MOST_RESTARTS, MOST_STEPS = 1000, 1000
"""Of an attack while training; of the one that decides in the end:"""
MOST_FINAL = 100_000


@dataclass(frozen=True)
class Setting:
    """One network to train. What is in `Schedule` is shared by networks trained together."""

    seed: int = 0
    epsilon: float = 0.2
    window: int = 300
    """Perturbations of that many latest epochs are trained on (Eq. 10)."""
    margin: float | None = 0.01
    """The hinge's lambda in Eq. 9; None trains counterexamples with cross-entropy instead."""
    shell: float = 0.98
    """Every coordinate of a counterexample is at least that share of epsilon away."""
    last_step: float = 0.1
    """Of the attack on every second restart, over epsilon; steps begin at `Schedule.step_size`."""
    persist: bool = False
    """Train on the worst point found even where it does not violate, not on a random one."""


@dataclass(frozen=True)
class Schedule:
    architecture: str = "cnn_1_conv"
    channels: int = 1
    classes: int = 2
    examples: int = 10
    """As many are given a counterexample, as many are left regular."""
    span: float = 1.0
    """Centres are drawn from [-span, span]; epsilon counts in the same unit."""
    epochs: int = 5000
    restarts: int = 150
    steps: int = 150
    gentle: float = 0.0
    """Share of the epochs, the first ones, whose attack is smaller: a third of both numbers."""
    step_size: float = 0.1
    """Of an attack's step, over epsilon."""
    peak_rate: float = 0.001
    clip: float = 10.0
    """Largest norm of a gradient."""
    look_every: int = 250
    """Epochs between two looks at how many counterexamples are hidden."""
    look_restarts: int = 300
    look_steps: int = 500
