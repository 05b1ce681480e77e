"""`assay profile`: what makes each question of a benchmark hard."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.option_kinds import AsJson, Device, Jobs, Seed
from assay.cli.process_signals import resumable
from assay.errors import BadInput

if TYPE_CHECKING:
    from assay.difficulty.profiling import Profiled
    from assay.difficulty.settings import Settings


def profile(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="DIR | ONNX VNNLIB", help="A benchmark folder, or one question."),
    ],
    samples: Annotated[int, typer.Option(help="Sampled inputs an instance.")] = 1000,
    tau: Annotated[
        float, typer.Option(help="Slopes and gradients closer than this count as equal.")
    ] = 0.01,
    seed: Seed = 0,
    growth: Annotated[
        int, typer.Option(min=1, help="How many times its samples A_tau may take if it saturates.")
    ] = 4,
    jobs: Jobs = 0,
    device: Device = "cpu",
    as_json: AsJson = False,
) -> None:
    """Measure the five components of difficulty of every question; writes DIR/profile.csv.

    M_min, the smallest sampled margin; G_IBP, how much of it interval bounds lose; U, the share of
    units that stay nonlinear; A_tau, the number of local behaviours; d_eff, how many inputs matter
    at once. Any benchmark in the layout of VNN-COMP will do; see docs/difficulty.md.

    An instance that cannot be profiled is marked in its row and does not stop the others; a label
    that exact arithmetic refutes stops everything with exit code 1.

    Examples:

      assay profile bench

      assay profile bench --samples 5000 --tau 0.05 --jobs 2

      assay profile net.onnx query.vnnlib
    """
    from assay.cli.output import shown_progress
    from assay.cli.row_tables import end_for_failed, stopped_by_a_wrong_label
    from assay.cli.truth_check import verify_truths
    from assay.difficulty.profiling import profile_folder, profile_question
    from assay.difficulty.settings import Settings
    from assay.suite.folder import BenchmarkFolder

    if device != "cpu":  # before any work is begun; torch takes a second to load
        from assay.bounds.device import device_named

        device = device_named(device).type
    settings = Settings(samples, tau, seed, growth, device)
    with resumable(), stopped_by_a_wrong_label(whole_point=len(paths) == 2, as_json=as_json):
        if len(paths) == 1:
            verify_truths(BenchmarkFolder.open(paths[0]))
            with shown_progress("profile") as watcher:
                found = profile_folder(paths[0], settings, jobs, watcher)
        elif len(paths) == 2:
            found = profile_question(paths[0], paths[1], settings)
        else:
            raise BadInput("give one benchmark folder, or one ONNX and one VNN-LIB file")
    _show(found, settings, paths, as_json)
    end_for_failed(found.failed)


def _show(found: Profiled, settings: Settings, paths: Sequence[Path], as_json: bool) -> None:
    from assay.cli.output import print_json, print_line
    from assay.cli.profile_view import print_profiles
    from assay.difficulty.profile_table import PROFILE_FILE

    target = paths[0] / PROFILE_FILE if len(paths) == 1 else None
    if as_json:
        print_json(_document(found, settings, target))
        return
    print_profiles(found.rows, settings)
    done = [row for row in found.rows if row.status == "ok"]
    seconds = sorted(float(row.cells["seconds"]) for row in done)
    if target is not None:
        before = f", {found.already} of them known before" if found.already else ""
        middle = f"; median {seconds[len(seconds) // 2]:.2f} s" if seconds else ""
        print_line(f"{target}: {len(done)} of {len(found.rows)} profiled{before}{middle}.")


def _document(found: Profiled, settings: Settings, target: Path | None) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "file": None if target is None else str(target),
        "settings": asdict(settings),
        "profiles": [
            {
                "instance": row.instance,
                "status": row.status,
                "note": row.note,
                **row.cells,
                "point": list(row.point),
            }
            for row in found.rows
        ],
    }
