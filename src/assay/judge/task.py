"""The values that pass between the parts of the judge: a task, its limits, how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Verdict = Literal["robust", "violated", "unknown"]
Ending = Literal[
    "answered", "timeout", "out-of-memory", "crashed", "refused", "unsupported", "garbled"
]
WitnessClass = Literal[
    "exact", "float32 only", "within tolerance only", "outside box", "no violation", "missing"
]


@dataclass(frozen=True)
class Limits:
    """What one task may use; the whole process tree counts together."""

    wall_s: float
    memory_mb: float
    cpu_s: float | None = None
    output_mb: float = 16.0
    processes: int = 256


@dataclass(frozen=True)
class Question:
    """One question as a verifier gets it: two files and the seconds it is granted."""

    name: str
    onnx: Path
    vnnlib: Path
    timeout_s: float


@dataclass(frozen=True)
class Invocation:
    """A command to run in its own folder, and the result file it is to leave there."""

    command: tuple[str, ...]
    result: str = "result.txt"
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What a tool said, read by a strict grammar; `witness` holds one decimal text an input."""

    verdict: Verdict
    witness: tuple[str, ...] | None = None
    witness_outputs: tuple[str, ...] | None = None
