"""`assay certify`: the exact radius of a network that the person brings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.option_kinds import AsJson, NewFolder, Seed, TaskTimeout

if TYPE_CHECKING:
    from assay.certify.certifying import Certified


def certify(
    onnx: Annotated[Path, typer.Argument(metavar="ONNX", help="A small ReLU MLP.")],
    centre: Annotated[
        str,
        typer.Option(
            metavar="FILE|-",
            help="The input to ask about: decimals between blanks or commas, a .npy array, or - "
            "for standard input.",
        ),
    ],
    output: NewFolder,
    fraction: Annotated[
        list[float] | None,
        typer.Option(help="Part of the radius to ask about; may be repeated. Default: 0.9."),
    ] = None,
    solver: Annotated[
        str, typer.Option(metavar="branch|highs|scip", help="What seeks the radius.")
    ] = "branch",
    nodes: Annotated[int, typer.Option(help="Most nodes of the proof's trees.")] = 20_000,
    seed: Seed = 0,
    timeout: TaskTimeout = 60,
    as_json: AsJson = False,
) -> None:
    """Enclose a network's minimal adversarial radius exactly; write a benchmark that proves it.

    For each fraction there are two instances: a box just inside the radius, proven robust, and
    one just outside, with an exact witness. The label is the class that the network gives the
    centre, which is moved a little where the bounds of its boxes would not be float32 numbers.

    Examples:

      assay certify net.onnx --centre point.txt -o bench

      echo 0.25 -1 0.5 | assay certify net.onnx --centre - --fraction 0.9 --fraction 0.99 -o bench
    """
    from assay.certify import brought
    from assay.certify.certifying import Request
    from assay.certify.certifying import certify as certify_network
    from assay.cli.output import shown_progress

    request = Request(
        place=str(onnx),
        onnx=brought.network_bytes(onnx),
        centre=brought.centre(centre),
        fractions=tuple(fraction or (0.9,)),
        solver=solver,
        nodes=nodes,
        seed=seed,
        timeout=timeout,
    )
    try:
        with shown_progress("certify") as watcher:
            certified = certify_network(request, output, watcher)
    except KeyboardInterrupt:
        print("assay: stopped; run the same command again to start over", file=sys.stderr)
        raise typer.Exit(130) from None
    _show(certified, as_json)


def _show(certified: Certified, as_json: bool) -> None:
    from assay.cli.exact_numbers import rounded_decimal
    from assay.cli.output import print_json, print_line, print_table

    if as_json:
        print_json(_document(certified))
        return
    facts = [
        ["robust at radius", str(certified.lower), rounded_decimal(certified.lower, down=True)],
        ["violated at radius", str(certified.upper), rounded_decimal(certified.upper, down=False)],
    ]
    print_table(certified.name, ["", "exact", "decimal"], facts)
    rows = [
        [
            i.name,
            rounded_decimal(i.epsilon, down=i.answer == "robust"),
            i.answer,
            rounded_decimal(i.margin, down=i.answer == "robust"),
            i.guard,
        ]
        for i in certified.instances
    ]
    header = ["instance", "epsilon", "answer", "certified margin", "guard"]
    print_table(str(certified.folder), header, rows)
    if certified.moved:
        print_line(
            f"The centre was moved by {rounded_decimal(certified.moved, down=False)} or less."
        )
    if certified.already:
        print_line(f"{len(certified.instances)} instances, all certified before.")
    else:
        print_line(f"{len(certified.instances)} instances in {certified.seconds:.1f} s.")


def _document(certified: Certified) -> dict[str, Any]:
    from assay.cli.exact_numbers import exact_number

    return {
        "folder": str(certified.folder),
        "network": certified.name,
        "radius_lower": exact_number(certified.lower, down=True),
        "radius_upper": exact_number(certified.upper, down=False),
        "centre_moved": exact_number(certified.moved, down=False),
        "instances": [
            {
                "name": i.name,
                "fraction": i.fraction,
                "epsilon": exact_number(i.epsilon, down=i.answer == "robust"),
                "answer": i.answer,
                "margin": exact_number(i.margin, down=i.answer == "robust"),
                "guard": i.guard,
            }
            for i in certified.instances
        ],
        "already": certified.already,
        "seconds": certified.seconds,
    }
