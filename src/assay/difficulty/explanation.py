"""What `assay explain` finds out, as values: computed in one place, printed and drawn in others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    """One instance of the benchmark with its profile.

    `values` holds the five components (infinite ones too); an instance without a profile is no
    point. `knobs` are the parameters it was made with and `answer` is the proven one (`robust` or
    `violated`), where these are known. `network` is the same for instances of one network and for
    twins; where it is empty, the instance has a network of its own. `blind` names components whose
    value says nothing here, as A_tau on too coarse a grid.
    """

    instance: str
    family: str
    values: Mapping[str, float]
    knobs: Mapping[str, float | str]
    answer: str | None = None
    network: str = ""
    blind: tuple[str, ...] = ()


@dataclass(frozen=True)
class Separation:
    """How well one component tells what a verifier left unsolved from what it solved.

    `auc` is the chance that an unsolved instance has the larger value, ties counted half; above one
    half, larger values go unsolved. `low` and `high` bound it at the explanation's confidence.
    """

    component: str
    auc: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether one half lies outside the interval: only then it says anything."""
        return self.high < 0.5 or self.low > 0.5


@dataclass(frozen=True)
class InteractionMap:
    """Counts over bins of two components: rows go along `y`, columns along `x`.

    Bin i of an axis reaches from edge i to edge i + 1, the last one included.
    """

    x: str
    y: str
    x_edges: tuple[float, ...]
    y_edges: tuple[float, ...]
    unsolved: tuple[tuple[int, ...], ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Diagnosis:
    """One sentence about a verifier that its author can act on, and the numbers behind it."""

    sentence: str
    details: tuple[str, ...]
    components: tuple[str, ...]


@dataclass(frozen=True)
class VerifierExplanation:
    """One verifier: its outcome on every point by instance name, and what explains them.

    An outcome is `solved`, `unsolved` (timeout, unknown, out of memory) or `left out` (unsupported,
    crashed, wrong, or never run): only the first two take part in the statistics. Where one of
    the two never happened there is nothing to compare, and no separation. `words` are the judge's
    own, where an instance was run. Separations are about the instances of the diagnosis: where it
    sets aside an answer that the verifier never gives, so do they.
    """

    verifier: str
    outcomes: Mapping[str, str]
    words: Mapping[str, str]
    seconds: Mapping[str, float]
    separations: tuple[Separation, ...]
    maps: tuple[InteractionMap, ...]
    diagnosis: Diagnosis

    def count(self, outcome: str) -> int:
        return sum(found == outcome for found in self.outcomes.values())


@dataclass(frozen=True)
class Trajectory:
    """The instances of one family in the order of a knob, or of the list where `knob` is None.

    `steps` are the knob's values, instance by instance.
    """

    family: str
    knob: str | None
    instances: tuple[str, ...]
    steps: tuple[float | str, ...]


@dataclass(frozen=True)
class Explanation:
    """Everything that is said about some runs of one benchmark."""

    benchmark: str
    points: tuple[Point, ...]
    verifiers: tuple[VerifierExplanation, ...]
    trajectories: tuple[Trajectory, ...]
    without_profile: tuple[str, ...]
    confidence: float
    resamples: int
    seed: int
