"""Networks trained to hide a counterexample: the method of SoundnessBench.

No theorem: a network is trained to be wrong at one chosen point of a box and right wherever an
attack looks (see `training/`). What is proved is the witness, in exact rationals or balls, on the
bytes that are written. An example whose counterexample did not become one or whose centre is wrong
gives no instance; nor, with `keep: hidden`, does one that an attack found which was run on the
network: the last one of the training and, for networks of `assay train`, the battery.
A regular example of the same network gives a robust instance where a tree of ReLU phases proves
it, which large networks leave no hope for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field, model_validator

from assay.errors import BadInput, CannotCertify
from assay.truth.constructor import Constructor, Knobs
from assay.truth.instance import Instance
from assay.truth.training.examples import drawn
from assay.truth.training.questions import FAMILY, robust, violated
from assay.truth.training.record import Trained, read_shipped
from assay.truth.training.settings import (
    MOST_EPOCHS,
    MOST_RESTARTS,
    MOST_STEPS,
    MOST_WINDOW,
    Schedule,
    Setting,
)

Network = Literal["fresh", "cnn_1_conv", "cnn_tanh"]
Architecture = Literal[
    "tiny_mlp",
    "tiny_cnn",
    "cnn_1_conv",
    "cnn_2_conv",
    "cnn_3_conv",
    "cnn_avgpool",
    "mlp_4_hidden",
    "mlp_5_hidden",
    "cnn_tanh",
    "cnn_sigmoid",
    "vit",
]


_OF_ANY_NETWORK = ("network", "keep", "nodes")


class TrainedKnobs(Knobs):
    network: Network = Field(
        "fresh", description="one that comes with Assay, trained on a GPU, or one trained here"
    )
    architecture: Architecture = Field(
        "tiny_mlp", description="one of the paper's Table 1, or a tiny one"
    )
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
    window: int = Field(
        300, ge=1, le=MOST_WINDOW, description="epochs whose perturbations are kept"
    )
    epochs: int = Field(
        200, ge=1, le=MOST_EPOCHS, description="epochs of training; the paper has 5000"
    )
    restarts: int = Field(
        8, ge=1, le=MOST_RESTARTS, description="restarts of an attack; paper: 150"
    )
    steps: int = Field(10, ge=1, le=MOST_STEPS, description="steps of an attack; paper: 150")
    last_step: float = Field(
        0.1, ge=1e-5, le=1, description="of every second restart, over epsilon; the first is 0.1"
    )
    keep: Literal["hidden", "planted"] = Field(
        "planted", description="counterexamples that no attack run on the network found, or all"
    )
    nodes: int = Field(
        200, ge=0, le=100_000, description="most nodes of the tree that proves a regular example"
    )

    @model_validator(mode="after")
    def _no_knobs_of_training_for_a_trained_network(self) -> TrainedKnobs:
        if self.network != "fresh":
            changed = [name for name in self.turned() if name not in _OF_ANY_NETWORK]
            if changed:
                raise ValueError(
                    f"{self.network} is trained already; leave out {', '.join(changed)}, or set "
                    "network to fresh"
                )
        return self

    @model_validator(mode="after")
    def _boxes_that_fit(self) -> TrainedKnobs:
        try:
            drawn(self.schedule, self.setting(0))
        except BadInput as error:
            raise ValueError(str(error)) from None
        return self

    def turned(self) -> dict[str, object]:
        """The knobs that are not at their defaults."""
        given, usual = self.model_dump(mode="json"), type(self).model_fields
        return {name: value for name, value in given.items() if value != usual[name].default}

    @property
    def parameters(self) -> dict[str, object]:
        """What the instances are made from: of a network that is trained already, its name."""
        given = self.model_dump(mode="json")
        if self.network == "fresh":
            return given
        return {name: given[name] for name in _OF_ANY_NETWORK}

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
        return Setting(
            seed, self.epsilon, self.window, self.margin or None, self.shell, self.last_step
        )


def make(knobs: TrainedKnobs, seed: int) -> list[Instance]:
    made = list(_instances(knobs, seed, _network(knobs, seed)))
    if not any(instance.truth.answer == "violated" for instance in made):
        easier = "set keep to planted" if knobs.keep == "hidden" else "lower margin"
        raise CannotCertify(
            f"{FAMILY}: no counterexample of the network is {knobs.keep}; raise epochs, restarts "
            f"and steps, {easier}, or try another seed"
        )
    return made


def _network(knobs: TrainedKnobs, seed: int) -> Trained:
    if knobs.network != "fresh":
        return read_shipped(knobs.network)
    from assay.truth.training.run import trained_here  # torch, which other families do without

    return trained_here(knobs.schedule, knobs.setting(seed))


def _instances(knobs: TrainedKnobs, seed: int, trained: Trained) -> Iterator[Instance]:
    planted = len(trained.examples.targets)
    for place in range(planted) if knobs.keep == "planted" else trained.kept:
        found = violated(trained, place, knobs.parameters, seed)
        if found is not None:
            yield found
    for place in range(planted, 2 * planted):
        proved = robust(trained, place, knobs.parameters, seed, knobs.nodes)
        if proved is not None:
            yield proved


CONSTRUCTOR = Constructor(
    FAMILY,
    "Networks trained to hide a counterexample from attacks (the method of SoundnessBench)",
    "none about the network: its witness, or a tree for a regular example, is the proof",
    TrainedKnobs,
    make,
    twins=False,
)
