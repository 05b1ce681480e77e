"""Limits of tasks on the command line: which are taken, and what this machine can hold."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from assay.errors import BadInput

if TYPE_CHECKING:
    from assay.judge.runner import Settings
    from assay.judge.verifier import Verifier

_LEAST, _MOST = 0.1, 1_000_000_000
_LARGEST_SEED = 2**63 - 1


def a_limit(parameter: typer.CallbackParam, value: float | None) -> float | None:
    """For an option that is a limit: what cannot be one (infinity, say) is refused."""
    if value is not None and not _LEAST <= value <= _MOST:
        raise BadInput(
            f"{parameter.opts[0]} {value:g} is not a limit; give a number from {_LEAST} to {_MOST}"
        )
    return value


def a_seed(parameter: typer.CallbackParam, value: int | None) -> int | None:
    """For an option that is a seed: what no generator takes is refused."""
    if value is not None and not 0 <= value <= _LARGEST_SEED:
        raise BadInput(
            f"{parameter.opts[0]} {value} is not a seed; give a whole number from 0 to 2^63 - 1"
        )
    return value


def a_job_count(parameter: typer.CallbackParam, value: int | None) -> int:
    """For an option that says how much is done at once; 0 becomes the number of cores."""
    from assay.engine.work import available_cores

    if value is not None and value < 0:
        raise BadInput(
            f"{parameter.opts[0]} {value} cannot be done at once; give 0 (one per core) or more"
        )
    return value or available_cores()


def warn_of_load(chosen: Sequence[Verifier], settings: Settings) -> None:
    """Say where the settings ask for more than this machine has."""
    from assay.engine.work import available_cores
    from assay.judge.host import memory_mb

    threads = settings.jobs * max(v.threads for v in chosen)
    if threads > available_cores():
        print(
            f"assay: {threads} threads on {available_cores()} cores: times will suffer; "
            "lower --jobs",
            file=sys.stderr,
        )
    share = memory_mb() / settings.jobs
    if settings.memory_mb > share:
        print(
            f"assay: {settings.memory_mb / 1024:.1f} GiB for each of {settings.jobs} tasks at once "
            f"on a machine with {memory_mb() / 1024:.1f}: tools may be killed early; lower "
            "--memory or --jobs",
            file=sys.stderr,
        )
