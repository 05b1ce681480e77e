"""`assay count`: proved bounds of the violation rate of a box."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.option_kinds import AsJson, Jobs, Memory, Seed, TotalTime
from assay.errors import BadInput

_SHORTEST_S = 1e-3
"""For a box whose turn comes when the time is over: its bounds as a whole."""


def count(
    onnx: Annotated[Path, typer.Argument(metavar="ONNX", help="A network of few inputs.")],
    vnnlib: Annotated[Path, typer.Argument(metavar="VNNLIB", help="A box and a violation.")],
    gap: Annotated[float, typer.Option(help="Stop when the bounds are so close.")] = 1e-4,
    time: TotalTime = 60,
    samples: Annotated[
        int,
        typer.Option(
            help="Then draw up to so many points of what is left undecided, in the last quarter "
            "of the time."
        ),
    ] = 0,
    confidence: Annotated[
        float, typer.Option(help="Probability with which the interval of the samples holds.")
    ] = 0.999,
    seed: Seed = 0,
    cells: Annotated[
        int,
        typer.Option(help="Stop at this many undecided cells, or when memory is full."),
    ] = 4_000_000,
    memory: Memory = 2,
    jobs: Jobs = 0,
    as_json: AsJson = False,
) -> None:
    """Enclose the share of a box on which a network violates its property.

    The bounds are proved: linear bounds put the boundary of the violation between planes in ever
    smaller cells, whose volumes are known in closed form, and all rounding goes outward. Ctrl-C
    stops with what is proved so far. Made for up to about six inputs that vary, and refused above
    16; there, assay weakened samples. See docs/counting.md.

    Examples:

      assay count net.onnx query.vnnlib

      assay count net.onnx query.vnnlib --gap 1e-6 --time 600

      assay count net.onnx query.vnnlib --time 10 --samples 1000000
    """
    from dataclasses import replace
    from time import monotonic

    begun = monotonic()
    from assay.analyse.count.counting import Search
    from assay.analyse.count.settings import Settings
    from assay.analyse.count.undecided import sample_undecided
    from assay.analyse.regions import BoxRegion
    from assay.analyse.resolution import refuse_coarse_box
    from assay.cli.count_view import Answer, counting_progress, show_counts
    from assay.cli.process_signals import STOPPED_EXIT
    from assay.question.asked import read_question
    from assay.question.property import merged_by_box

    settings = Settings(gap, time, cells, round(memory * 1024), samples, confidence, seed)
    network, specification = read_question(onnx, vnnlib)
    cases = merged_by_box(specification.cases)
    if not cases:
        raise BadInput(f"{vnnlib}: its conditions exclude every input; state a box")
    for case in cases if samples else ():
        refuse_coarse_box(str(vnnlib), BoxRegion.enclosing(case.box))
    answers: list[Answer] = []
    stopped = False
    for case in cases:
        left = (begun + time - monotonic()) / (len(cases) - len(answers))
        share = replace(settings, seconds=max(left, _SHORTEST_S))
        search, sampled = Search(network, case, share), None
        try:
            with counting_progress(len(answers) + 1, len(cases)) as heard:
                search.run(heard, jobs=jobs)
                sampled = sample_undecided(search)
        except KeyboardInterrupt:
            stopped = True
        answers.append(Answer(case, search.so_far, sampled))
        if stopped:
            break
    show_counts(network, vnnlib, settings, answers, len(cases), as_json)
    if stopped:
        raise typer.Exit(STOPPED_EXIT)
