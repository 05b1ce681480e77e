"""`assay splitting`: an estimate of how likely very rare failures are."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.asked_options import PointOptions
from assay.cli.option_kinds import AsJson
from assay.cli.shared_options import taking
from assay.errors import BadInput

MOST_NUMBERS = 2**32
"""Of all particles together, which are held at once."""


@taking(PointOptions)
def splitting(
    options: PointOptions,
    particles: Annotated[int, typer.Option(help="Points that walk together in a repeat.")] = 1000,
    repeats: Annotated[
        int, typer.Option(help="Independent runs; the standard error comes from them.")
    ] = 10,
    steps: Annotated[int, typer.Option(help="Steps that every particle walks at a level.")] = 20,
    smallest: Annotated[
        float, typer.Option(help="Give the search up below this probability.")
    ] = 1e-30,
    as_json: AsJson = False,
) -> None:
    """Estimate how likely a random input near INPUT is to fail, however rare that is.

    Adaptive multilevel splitting: particles follow falling margins to the failures. The result is
    an estimate without a guarantee; its relative standard error comes from the repeats and cannot
    know of failures that no slope leads to. For a rate that is proved, or bounded with confidence,
    take `assay count` or `assay weakened decide`. See docs/splitting.md.

    Examples:

      assay splitting net.onnx digit.npy --radius 0.1 --range 0,1

      assay splitting net.onnx digits.npz --index 7 --norm 2 --radius 1.5 --particles 2000

      assay splitting net.onnx query.vnnlib --repeats 20 --json
    """
    from assay.analyse.splitting import SplittingSettings, split
    from assay.cli.asked_options import asked_of
    from assay.cli.splitting_view import show_splitting, stage_progress

    settings = SplittingSettings(particles, repeats, steps, smallest, options.seed)
    asked = asked_of(options)
    numbers = particles * repeats * asked.region.dimension
    if numbers > MOST_NUMBERS:
        raise BadInput(
            f"{repeats} repeats of {particles} particles of {asked.region.dimension} numbers do "
            "not fit into memory; lower --particles or --repeats"
        )
    with stage_progress() as watch:
        found = split(asked, settings, watch)
    show_splitting(asked, found, settings, options, as_json)
