"""`assay roma`: RoMA's probabilistic local robustness, beside a count whose interval decides."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.asked_options import PointOptions
from assay.cli.option_kinds import AsJson
from assay.cli.shared_options import taking
from assay.errors import BadInput

if TYPE_CHECKING:
    from assay.analyse.roma_classes import Surroundings
    from assay.analyse.roma_counted import RomaSettings


MOST_SAMPLES = 10**8


@taking(PointOptions)
def roma(
    options: PointOptions,
    samples: Annotated[int, typer.Option(help="Random inputs around each input.")] = 1000,
    score: Annotated[
        str,
        typer.Option(
            metavar="margin|confidence",
            help="What is fitted: highest incorrect minus highest correct score, or the highest "
            "incorrect probability (the paper's).",
        ),
    ] = "margin",
    eps: Annotated[
        float | None, typer.Option(help="Say whether the failure rate is below this.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the counted interval.")] = 0.99,
    significance: Annotated[
        float, typer.Option(help="Level of the Anderson-Darling tests of normality.")
    ] = 0.05,
    keep: Annotated[
        str,
        typer.Option(
            metavar="prediction|label",
            help="For a data set: what the model says at the input, or the input's label.",
        ),
    ] = "prediction",
    as_json: AsJson = False,
) -> None:
    """Estimate plr, the probability that a random input near INPUT keeps its class (RoMA).

    RoMA fits a normal law to the scores and reads a tail off it: an extrapolation, which may be
    wrong by orders of magnitude. Beside it stands the plain count with an exact interval, and the
    verdict rests on the interval alone. A folder or an .npz file with inputs and labels gives
    every input and the mean of every class. See docs/roma.md.

    Examples:

      assay roma net.onnx digit.npy --radius 0.1 --range 0,1 --eps 0.01

      assay roma net.onnx digits.npz --radius 0.1 --range 0,1 --score confidence

      assay roma net.onnx query.vnnlib --samples 10000
    """
    from assay.analyse.roma_counted import RomaSettings, assess
    from assay.analyse.roma_scores import score_named
    from assay.cli.asked_options import asked_of
    from assay.cli.roma_view import show_input

    if samples > MOST_SAMPLES:
        raise BadInput(
            f"--samples {samples} are more scores than memory should hold; give at most "
            f"{MOST_SAMPLES}, or decide with assay weakened, which keeps none"
        )
    settings = RomaSettings(
        samples, score_named(score), confidence, significance, eps, options.seed
    )
    if options.where.is_dir() or (options.where.suffix == ".npz" and options.index is None):
        _data_set(options, settings, keep, as_json)
        return
    if keep != "prediction":
        raise BadInput(
            "--keep is for data sets, whose labels are known; use --labels for one input"
        )
    asked = asked_of(options)
    begun = time.perf_counter()
    found = assess(asked, settings, options.index or 0)
    show_input(asked, found, settings, options, time.perf_counter() - begun, as_json)


def _data_set(options: PointOptions, settings: RomaSettings, keep: str, as_json: bool) -> None:
    from assay.analyse.roma_classes import assess_inputs, by_class
    from assay.cli.asked_options import model_and_inputs
    from assay.cli.output import shown_progress
    from assay.cli.roma_view import show_inputs

    surroundings = _surroundings(options, keep)
    model, data = model_and_inputs(options)
    results = []
    begun = time.perf_counter()
    with shown_progress("roma") as watcher:
        watcher.begin(len(data), 0)
        found = assess_inputs(model, data, surroundings, settings)
        for name in data.names:
            start = time.perf_counter()
            watcher.started(name)
            results.append(next(found))
            watcher.finished(name, time.perf_counter() - start)
    classes = by_class(results, settings.confidence)
    seconds = time.perf_counter() - begun
    show_inputs(results, classes, settings, options, surroundings, seconds, as_json)


def _surroundings(options: PointOptions, keep: str) -> Surroundings:
    from assay.analyse.roma_classes import Surroundings, keeping_named
    from assay.cli.asked_options import norm_of, valid_range

    if options.radius is None:
        raise BadInput("--radius is missing; say how far inputs may be from each INPUT")
    if options.labels is not None or options.index is not None:
        raise BadInput(
            f"{options.where}: is a data set with labels; leave --labels out, or pick one input of "
            "an .npz file with --index"
        )
    return Surroundings(
        options.radius, norm_of(options), valid_range(options), options.levels, keeping_named(keep)
    )
