"""Networks trained to hide a counterexample: the method of SoundnessBench.

No theorem: a network is trained to be wrong at one chosen point of a box and right wherever an
attack looks (see `training/`). What is proved is the witness, in exact rationals or balls, on the
bytes that are written. An example whose counterexample did not become one, whose centre is wrong,
or that the last attack of the training found, gives no instance. Regular examples of the same
network are not instances: nobody proved anything about them.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Literal

from pydantic import Field, model_validator

from assay.errors import CannotCertify
from assay.proof import reader
from assay.proof import vnnlib as proof_vnnlib
from assay.proof.arithmetic import Unsupported, Vector
from assay.proof.ball_network import highest_margin
from assay.proof.network import read_network
from assay.question.property import Violation
from assay.question.region import Box
from assay.truth.assemble import Design, stated_violation, survives
from assay.truth.constructor import Constructor, Knobs
from assay.truth.dyadic import short_above
from assay.truth.instance import Instance
from assay.truth.training.architectures import ARCHITECTURES
from assay.truth.training.record import Trained, read
from assay.truth.training.settings import Schedule, Setting

FAMILY = "trained"


class TrainedKnobs(Knobs):
    network: str = Field(
        "", description="a network that comes with Assay or NAME.onnx of assay train; '': train one"
    )
    architecture: str = Field("tiny_mlp", description="one of the paper's Table 1, or a tiny one")
    channels: int = Field(1, ge=1, le=3, description="channels of an image")
    classes: int = Field(2, ge=2, le=10, description="number of classes")
    examples: int = Field(2, ge=1, le=50, description="examples with a counterexample")
    epsilon: float = Field(0.2, ge=1e-3, le=0.5, description="l_inf radius of the boxes")
    shell: float = Field(
        0.98, ge=0, le=1, description="least distance of a counterexample's inputs, over epsilon"
    )
    margin: float = Field(
        0.01, ge=0, le=10, description="by how much it is wrong there; 0: cross-entropy instead"
    )
    window: int = Field(300, ge=1, le=1000, description="epochs whose perturbations are kept")
    epochs: int = Field(400, ge=1, le=20_000, description="epochs of training; the paper has 5000")
    restarts: int = Field(10, ge=1, le=1000, description="restarts of an attack; paper: 150")
    steps: int = Field(15, ge=1, le=1000, description="steps of an attack; paper: 150")
    keep: Literal["hidden", "planted"] = Field(
        "hidden", description="counterexamples that the last look did not find, or all of them"
    )

    @model_validator(mode="after")
    def _known(self) -> TrainedKnobs:
        if self.architecture not in ARCHITECTURES:
            raise ValueError(
                f"there is no architecture {self.architecture!r}; known: {', '.join(ARCHITECTURES)}"
            )
        return self

    @property
    def schedule(self) -> Schedule:
        return Schedule(
            architecture=self.architecture,
            channels=self.channels,
            classes=self.classes,
            examples=self.examples,
            epochs=self.epochs,
            restarts=self.restarts,
            steps=self.steps,
            look_every=max(self.epochs // 20, 1),
            look_restarts=4 * self.restarts,
            look_steps=4 * self.steps,
        )

    def setting(self, seed: int) -> Setting:
        return Setting(seed, self.epsilon, self.window, self.margin or None, self.shell)


def make(knobs: TrainedKnobs, seed: int) -> list[Instance]:
    if knobs.network:
        trained = read(knobs.network)
    else:
        from assay.truth.training.run import trained_here

        trained = trained_here(knobs.schedule, knobs.setting(seed))
    chosen = range(len(trained.examples.targets)) if knobs.keep == "planted" else trained.kept
    made = [_instance(knobs, seed, trained, place) for place in chosen]
    kept = [instance for instance in made if instance is not None]
    if not kept:
        raise CannotCertify(
            f"{FAMILY}: no counterexample of the network is {knobs.keep}; raise epochs, restarts "
            "and steps, set keep to planted, or try another seed"
        )
    return kept


def _instance(knobs: TrainedKnobs, seed: int, trained: Trained, place: int) -> Instance | None:
    """The question about one example with its witness, unless it is none."""
    examples = trained.examples
    centre, witness = (
        tuple(map(Fraction, points[place].tolist()))
        for points in (examples.centres, examples.counterexamples)
    )
    label = int(examples.labels[place])
    design = Design(
        FAMILY,
        knobs.model_dump(mode="json"),
        seed,
        (),
        Box.around(centre, Fraction(examples.epsilon)),
        Violation.misclassification(label, trained.schedule.classes),
        {"architecture": trained.schedule.architecture, "epsilon": str(Fraction(examples.epsilon))},
        onnx=trained.onnx,
        prefix=f"{place}-",
    )
    margin = _margin(design, witness)
    if margin >= 0 or _margin(design, centre) <= 0:
        return None
    stated = short_above(margin)
    guarded = _survives(design, witness, stated)
    made = stated_violation(design, stated, guarded, witness)
    return replace(made, truth=replace(made.truth, twin=None))


def _margin(design: Design, point: tuple[Fraction, ...]) -> Fraction:
    """Exact where layers are affine and ReLU, otherwise from above, within 128 bits."""
    graph, vector = reader.read(design.network_bytes()), Vector.of(point)
    try:
        outputs = read_network(graph).outputs(vector).fractions()
    except Unsupported:
        return highest_margin(graph, proof_vnnlib.read(design.question_bytes()), vector)
    return design.violation.margin(outputs)


def _survives(design: Design, witness: tuple[Fraction, ...], margin: Fraction) -> bool:
    try:
        return survives(design, Box(witness, witness), margin)
    except Unsupported:
        return False


CONSTRUCTOR = Constructor(
    FAMILY,
    "Networks trained to hide a counterexample from attacks (the method of SoundnessBench)",
    "none: the witness alone is proved",
    TrainedKnobs,
    make,
)
