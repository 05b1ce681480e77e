"""How a profile is taken."""

from __future__ import annotations

from dataclasses import dataclass

from assay.errors import BadInput

SMALLEST_TAU = 1e-6


@dataclass(frozen=True)
class Settings:
    """How a profile is taken; `growth` is how many times its samples A_tau may ask for."""

    samples: int = 1000
    tau: float = 0.01
    seed: int = 0
    growth: int = 4
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.samples < 2:
            raise BadInput(f"--samples {self.samples} is too few; give at least 2")
        if not SMALLEST_TAU <= self.tau < 1:
            raise BadInput(
                f"--tau {self.tau:g} is not between {SMALLEST_TAU:g} and 1; the slope of a ReLU "
                "varies by 1, so give a smaller number such as 0.01"
            )
        if self.growth < 1:
            raise BadInput(f"--growth {self.growth} is too small; give at least 1")
        if self.device not in ("cpu", "cuda"):
            raise BadInput(f"--device {self.device} is not known; give cpu or cuda")
