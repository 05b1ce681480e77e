"""`assay weakened`: regions in which failures are rare, decided with errors that hold."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from assay.analyse.promise import MOST_SAMPLES, Promise, inner_rate
from assay.cli.asked_options import ModelOptions, PointOptions
from assay.cli.option_kinds import AsJson, MaybeFolder
from assay.cli.process_signals import resumable
from assay.cli.shared_options import taking
from assay.errors import BadInput

if TYPE_CHECKING:
    from assay.analyse.asked import Asked

group = typer.Typer(
    help="Weakened robustness: is the failure rate of a region below eps?",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Eps = Annotated[float, typer.Option(help="The failure rate that is asked about.")]
Inner = Annotated[
    float | None,
    typer.Option(
        help="eps': where alpha must hold; default eps - min(eps (1 - eps), 0.005), as the paper."
    ),
]
Alpha = Annotated[
    float, typer.Option(help="Error of 'not robust' where the rate is eps' or less (type I).")
]
Beta = Annotated[
    float, typer.Option(help="Error of 'robust' where the rate is eps or more (type II).")
]
Method = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="confidence-sequence, sprt, binomial; or paper, whose error bound does not hold.",
    ),
]
Budget = Annotated[int, typer.Option(help="The most samples that a decision may take.")]
DEFAULT = "confidence-sequence"


@dataclass(frozen=True)
class DecisionOptions(PointOptions):
    """What is decided about one input, and with which errors."""

    eps: Eps = 0.01
    eps_inner: Inner = None
    alpha: Alpha = 0.001
    beta: Beta = 0.001
    method: Method = DEFAULT
    budget: Budget = MOST_SAMPLES
    as_json: AsJson = False

    @property
    def promise(self) -> Promise:
        usual = inner_rate(self.eps) if 0 < self.eps < 1 else 0.0
        inner = usual if self.eps_inner is None else self.eps_inner
        return Promise(self.eps, inner, self.alpha, self.beta)


@group.command()
@taking(DecisionOptions)
def decide(options: DecisionOptions) -> None:
    """Decide whether random inputs near INPUT fail with a rate below eps.

    Says robust, not robust, or undecided when the budget is spent, with an interval of the rate
    that is valid at any stopping time. See docs/weakened.md.

    Examples:

      assay weakened decide net.onnx digit.npy --radius 0.1 --range 0,1

      assay weakened decide net.onnx car.png --radius 8 --scale 255 --labels 1,9 --eps 0.001

      assay weakened decide nets.py:net digits.npz --index 7 --norm 2 --radius 1.5

      assay weakened decide net.onnx query.vnnlib --eps 0.001
    """
    from assay.analyse.weakened.decide import decide as decided
    from assay.analyse.weakened.within_budget import rule_within
    from assay.cli.asked_options import asked_of
    from assay.cli.weakened_view import sample_progress, show_decided

    rule = rule_within(options.method, options.promise, options.budget)
    asked = asked_of(options)
    with sample_progress() as heard:
        found = decided(asked, rule, seed=options.seed, budget=options.budget, heard=heard)
    show_decided(asked, found, options, options.budget, options.as_json)


@group.command()
@taking(DecisionOptions)
def radius(
    options: DecisionOptions,
    precision: Annotated[
        float | None, typer.Option(help="How finely to search; default: a 100th of --radius.")
    ] = None,
) -> None:
    """Search for the largest radius, up to --radius, at which failures are rarer than eps.

    Bisection, with both errors divided over all of its decisions. Says what is proved and what is
    not: a failure rate may fall again as the ball grows. See docs/weakened.md.

    Examples:

      assay weakened radius net.onnx digit.npy --radius 0.5 --range 0,1

      assay weakened radius net.onnx digit.npy --radius 10 --norm 2 --precision 0.05 --eps 0.001
    """
    from assay.analyse.asked import around, predicted
    from assay.analyse.weakened.radius import Search, largest_radius
    from assay.analyse.weakened.within_budget import rule_within
    from assay.cli.asked_options import label_set, model_and_input, norm_of, valid_range
    from assay.cli.weakened_view import show_radius, step_progress

    if options.is_question:
        raise BadInput(f"{options.where}: is one region; a radius is sought around an input (.npy)")
    if options.radius is None:
        raise BadInput("--radius is missing; say how far to search")
    search = Search(
        options.radius,
        options.radius / 100 if precision is None else precision,
        options.promise,
        options.method,
        seed=options.seed,
        budget=options.budget,
    )
    rule_within(search.method, search.each, search.budget)
    model, point = model_and_input(options)
    norm, valid = norm_of(options), valid_range(options)
    labels = label_set(options.labels) or (predicted(model, point),)

    def asked_at(radius: float) -> Asked:
        return around(model, point, labels, radius, norm, valid=valid, levels=options.levels)

    there = predicted(asked_at(options.radius).model, point)
    if there not in labels:
        listed = ", ".join(map(str, labels))
        raise BadInput(
            f"{options.where}: the model says {there} at the input itself, so the smallest balls "
            f"are the worst for {listed} and a search makes no sense; use decide with a radius"
        )
    with step_progress(search) as heard:
        found = largest_radius(asked_at, search, heard)
    narrowest = asked_at(min(step.radius for step in found.steps))
    show_radius(asked_at(options.radius), narrowest, found, options, options.as_json)


@group.command()
@taking(ModelOptions)
def curve(
    options: ModelOptions,
    radii: Annotated[str, typer.Option(metavar="R,R,...", help="Radii of the balls.")] = "",
    eps: Annotated[
        str, typer.Option(metavar="E,E,...", help="Failure rates that are asked about.")
    ] = "0.001,0.01,0.1",
    alpha: Alpha = 0.001,
    beta: Beta = 0.001,
    method: Method = DEFAULT,
    points: Annotated[
        str,
        typer.Option(metavar="correct|misclassified|all", help="Inputs that the curve is about."),
    ] = "correct",
    most_inputs: Annotated[
        int | None, typer.Option("--inputs", help="Number of inputs, chosen at random.")
    ] = None,
    confidence: Annotated[
        float, typer.Option(help="Of the bounds for the population, at each radius.")
    ] = 0.95,
    budget: Budget = MOST_SAMPLES,
    output: MaybeFolder = None,
    as_json: AsJson = False,
) -> None:
    """The share of a data set that is robust at each radius, with bounds (Figs. 3 and 4).

    INPUT is a folder with one sub-folder a class, a folder with labels.csv, or an .npz file with
    the arrays inputs and labels. See docs/weakened.md.

    Examples:

      assay weakened curve net.onnx digits.npz --radii 0.05,0.1,0.2 --range 0,1 -o curve

      assay weakened curve net.onnx digits.npz --radii 0.1 --points misclassified
    """
    from assay.analyse.weakened.curve_settings import CurveSettings
    from assay.analyse.weakened.curving import curve_over
    from assay.analyse.weakened.within_budget import rule_within
    from assay.cli.asked_options import model_and_inputs, norm_of, numbers_of, valid_range
    from assay.cli.output import shown_progress
    from assay.cli.weakened_view import show_curve

    settings = CurveSettings(
        numbers_of(radii or None, "--radii"),
        tuple(Promise(e, inner_rate(e), alpha, beta) for e in numbers_of(eps, "--eps")),
        norm_of(options),
        valid_range(options),
        options.levels,
        method,
        points,
        most_inputs,
        confidence,
        options.seed,
        budget,
    )
    for promise in settings.promises:
        rule_within(method, promise, budget)
    model, data = model_and_inputs(options)
    stoppable = nullcontext() if output is None else resumable()
    with stoppable, shown_progress("curve") as watcher:
        found = curve_over(model, data, settings, output, watcher)
    show_curve(found, output, as_json)
