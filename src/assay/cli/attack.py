"""`assay attack`: how hidden the counterexamples of a benchmark are."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.asked_options import CustomOps, ModelOutput, run_options
from assay.cli.option_kinds import AsJson, Device, Jobs, Seed
from assay.cli.process_signals import resumable
from assay.errors import BadInput


def attack(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="DIR | ONNX VNNLIB", help="A benchmark folder, or one question."),
    ],
    strength: Annotated[int, typer.Option(help="How many times the usual effort.")] = 1,
    attacks: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="An attack; may be repeated; default: all."),
    ] = None,
    seed: Seed = 0,
    device: Device = "cpu",
    jobs: Jobs = 0,
    force: Annotated[
        bool, typer.Option(help="Overwrite a full attack table with a partial one.")
    ] = False,
    model_output: ModelOutput = "",
    custom_ops: CustomOps = None,
    as_json: AsJson = False,
) -> None:
    """Attack every question with a battery of a stated budget; writes DIR/attack.csv.

    A violated instance is marked hidden only if every attack failed; a point counts as found only
    if it violates in exact arithmetic after rounding its inputs to float32. A robust instance on
    which anything is found has a wrong label: exit code 1. What is finished is kept, so a command
    that is stopped goes on when it is given again; see docs/attack.md.

    Examples:

      assay attack bench

      assay attack bench --strength 10 --jobs 2

      assay attack bench --attacks random --attacks quiet-units

      assay attack net.onnx query.vnnlib
    """
    from assay.attack.attacking import attack_folder, attack_question
    from assay.attack.battery import Budget
    from assay.bounds.device import device_named
    from assay.cli.attack_view import show
    from assay.cli.output import shown_progress
    from assay.cli.row_tables import end_for_failed, stopped_by_a_wrong_label
    from assay.cli.truth_check import verify_truths
    from assay.suite.folder import BenchmarkFolder

    budget = Budget(strength, seed, tuple(dict.fromkeys(attacks or ())))
    device = device_named(device).type
    options = run_options(model_output, custom_ops)
    with resumable(), stopped_by_a_wrong_label(whole_point=len(paths) == 2, as_json=as_json):
        if len(paths) == 1:
            verify_truths(BenchmarkFolder.open(paths[0]))
            with shown_progress("attack") as watcher:
                found = attack_folder(
                    paths[0], budget, device, jobs, watcher, force=force, options=options
                )
        elif len(paths) == 2:
            found = attack_question(paths[0], paths[1], budget, device, options)
        else:
            raise BadInput("give one benchmark folder, or one ONNX and one VNN-LIB file")
    show(found, paths[0] if len(paths) == 1 else None, as_json)
    for name, reason in found.settings["left_out"].items():
        print(f"assay: {name}: {reason}", file=sys.stderr)
    end_for_failed(found.failed)
