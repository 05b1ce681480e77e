"""`assay train`: networks that hide a counterexample, trained after SoundnessBench."""

from __future__ import annotations

import math
import sys
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.option_kinds import AsJson, Device, Seed, WorkFolder
from assay.cli.process_signals import resumable
from assay.errors import BadInput
from assay.truth.training.settings import (
    MOST_EPOCHS,
    MOST_FINAL,
    MOST_RESTARTS,
    MOST_STEPS,
    MOST_WINDOW,
)

if TYPE_CHECKING:
    from assay.training.into_folder import Strength, TrainedNetwork
    from assay.truth.training.run import Progress
    from assay.truth.training.settings import Schedule, Setting

_MOST_NETWORKS = 200
_LARGEST_SEED = 2**31


def train(
    architecture: Annotated[
        str, typer.Argument(help="cnn_1_conv, mlp_4_hidden, vit, ...: the paper's Table 1.")
    ],
    output: WorkFolder,
    channels: Annotated[int, typer.Option(min=1, max=3, help="Channels of a 5 x 5 image.")] = 1,
    classes: Annotated[int, typer.Option(min=2, max=10, help="Number of classes.")] = 2,
    examples: Annotated[
        int, typer.Option(min=1, max=50, help="Examples with a counterexample, and without.")
    ] = 10,
    epsilon: Annotated[list[float], typer.Option(help="Radius of the boxes; repeatable.")] = (0.2,),  # type: ignore[assignment]
    window: Annotated[
        list[int], typer.Option(help="Epochs whose perturbations are kept; repeatable.")
    ] = (300,),  # type: ignore[assignment]
    margin: Annotated[
        list[float],
        typer.Option(help="Margin objective; 0 trains with cross-entropy; repeatable."),
    ] = (0.01,),  # type: ignore[assignment]
    seed: Seed = 0,
    seeds: Annotated[
        int,
        typer.Option(min=1, max=_MOST_NETWORKS, help="Networks per setting (consecutive seeds)."),
    ] = 1,
    epochs: Annotated[int, typer.Option(min=1, max=MOST_EPOCHS, help="Epochs.")] = 5000,
    restarts: Annotated[
        int, typer.Option(min=1, max=MOST_RESTARTS, help="Restarts of an attack.")
    ] = 150,
    steps: Annotated[int, typer.Option(min=1, max=MOST_STEPS, help="Steps of an attack.")] = 150,
    gentle: Annotated[
        float,
        typer.Option(min=0, max=1, help="First share of the epochs with a third of both."),
    ] = 0.0,
    shell: Annotated[
        float, typer.Option(min=0, max=1, help="Least distance of counterexamples, over epsilon.")
    ] = 0.98,
    last_step: Annotated[
        list[float],
        typer.Option(
            help="Last step of the attack on every second restart, over epsilon; repeatable."
        ),
    ] = (0.1,),  # type: ignore[assignment]
    persist: Annotated[
        bool, typer.Option(help="Train on the worst point found even where it does not violate.")
    ] = False,
    look_every: Annotated[
        int, typer.Option(min=1, help="Epochs between two looks at what is hidden.")
    ] = 250,
    final_restarts: Annotated[
        int, typer.Option(min=1, max=MOST_FINAL, help="Restarts of the final attack.")
    ] = 1000,
    final_steps: Annotated[
        int, typer.Option(min=1, max=MOST_FINAL, help="Steps of the final attack.")
    ] = 5000,
    battery: Annotated[
        bool, typer.Option(help="Put what is left to the battery of assay attack.")
    ] = True,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Train networks that hide a counterexample from attacks; stopped, it goes on when repeated.

    All networks of one command are trained together, which a GPU does in little more time than
    one. Writes networks/, the benchmark violated/ (every instance proved, with attack.csv), the
    open questions regular/ and training.json. On a CPU the paper's settings take days; see
    docs/families/trained.md.

    Examples:

      assay train cnn_1_conv --channels 3 --seeds 5 -o hidden

      assay train tiny_mlp --examples 2 --epochs 200 --restarts 8 --steps 10 --final-restarts 50 \
--final-steps 50 -o tiny
    """
    from assay.truth.training.settings import Schedule, Setting

    schedule = Schedule(
        architecture=_known(architecture),
        channels=channels,
        classes=classes,
        examples=examples,
        epochs=epochs,
        restarts=restarts,
        steps=steps,
        gentle=gentle,
        look_every=look_every,
        # what need not survive a strong attack in the end need not on the way
        look_restarts=min(Schedule.look_restarts, final_restarts),
        look_steps=min(Schedule.look_steps, final_steps),
    )
    if seed > _LARGEST_SEED:
        raise BadInput(f"--seed {seed} is too large here; give at most {_LARGEST_SEED}")
    each_seed = range(seed, seed + seeds)
    settings = [
        Setting(one, e, w, m or None, shell, last, persist)
        for e, w, m, last, one in product(epsilon, window, margin, last_step, each_seed)
    ]
    _refuse(schedule, settings)
    from assay.bounds.device import device_named

    chosen = device_named(device).type
    from assay.cli.output import shown_progress
    from assay.engine.work import available_cores
    from assay.training.battery import Battery
    from assay.training.into_folder import Strength, train_into  # torch takes a second to load

    strength = Strength(final_restarts, final_steps)
    jobs = 1 if chosen == "cuda" else available_cores()
    last = Battery(chosen, jobs, partial(shown_progress, "attack")) if battery else None
    with resumable():
        rows = train_into(output, schedule, settings, strength, chosen, _told, last)
    _show(rows, schedule.examples, strength, output, as_json)
    if battery:
        _say_what_is_missing()


def _known(architecture: str) -> str:
    from assay.registry import named
    from assay.truth.training.architectures import ARCHITECTURES

    return named(ARCHITECTURES, architecture, "architecture").name


def _refuse(schedule: Schedule, settings: list[Setting]) -> None:
    from assay.truth.training.examples import drawn

    if len(settings) > _MOST_NETWORKS:
        raise BadInput(f"{len(settings)} networks at once are too many; give fewer values")
    if len(set(settings)) < len(settings):
        raise BadInput("an option is given twice with the same value; drop one of them")
    for setting in settings:
        if not 0 < setting.epsilon <= 1:
            raise BadInput(
                f"--epsilon {setting.epsilon:g} is not above 0 and at most 1; correct it"
            )
        if not 1 <= setting.window <= MOST_WINDOW:
            raise BadInput(
                f"--window {setting.window} is not between 1 and {MOST_WINDOW}; correct it"
            )
        if not 0 <= (setting.margin or 0) < math.inf:
            raise BadInput("--margin must not be negative; correct it")
        if not 0 < setting.last_step <= 1:
            raise BadInput("--last-step must be above 0 and at most 1; correct it")
        drawn(schedule, setting)


def _say_what_is_missing() -> None:
    """Without all attacks of the battery nothing is hidden from it."""
    from assay.attack.battery import attacks

    for name, attack in attacks().items():
        if attack.missing():
            print(f"assay: {name}: {attack.missing()}", file=sys.stderr)


def _told(progress: Progress) -> None:
    if progress.last_attack is not None:
        _say(f"the attack that decides, {progress.last_attack:.0%} done")
        return
    if progress.resumed:
        _say(f"resuming after epoch {progress.epoch} of {progress.epochs}")
        return
    counts = " ".join(map(str, progress.hidden))
    left = progress.seconds / progress.epoch * (progress.epochs - progress.epoch)
    _say(
        f"epoch {progress.epoch}/{progress.epochs}, hidden so far {counts}, "
        f"{progress.at_work} networks at work, {progress.seconds:.0f} s, left {left:.0f} s"
    )


def _say(text: str) -> None:
    print(f"train: {text}", file=sys.stderr, flush=True)


def _show(
    rows: list[TrainedNetwork], examples: int, strength: Strength, output: Path, as_json: bool
) -> None:
    from dataclasses import asdict

    from assay.cli.output import print_json, print_line, print_table

    if as_json:
        print_json({"folder": str(output), "networks": list(map(asdict, rows))})
        return
    header = (
        "network", "epsilon", "window", "margin", "last step", "seed", "epoch", "correct",
        "planted", "survived PGD", "battery", "regular correct", "unbroken",
    )  # fmt: skip
    print_table(
        f"{output}: of {examples} examples each",
        header,
        [
            (
                row.name,
                f"{row.setting.epsilon:g}",
                row.setting.window,
                f"{row.setting.margin or 0:g}",
                f"{row.setting.last_step:g}",
                row.setting.seed,
                row.epoch,
                row.correct,
                row.planted,
                row.hidden,
                "-" if row.survived is None else row.survived,
                row.regular_correct,
                row.regular_unbroken,
            )
            for row in rows
        ],
    )
    proved, violated = sum(row.proved for row in rows), output / "violated"
    pgd = f"PGD {strength.restarts}x{strength.steps}"
    if not proved:
        print_line(f"{output}: nothing survived {pgd}; give more epochs, restarts and steps.")
        return
    print_line(f"{violated}: {proved} counterexamples, each proved, survived {pgd}.")
    if any(row.survived is not None for row in rows):
        hidden = sum(row.survived or 0 for row in rows)
        print_line(f"{hidden} of {proved} survive the battery of assay attack as well.")
    else:
        print_line("The whole battery of assay attack did not run, so nothing is called hidden.")
