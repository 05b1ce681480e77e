"""Options that mean the same in every command: one definition each.

`tests/cli/test_option_table.py` holds every command to them, and `docs/command-line.md` shows the
table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.completion import families_named, suites_named, verifiers_named
from assay.cli.task_limits import a_job_count, a_limit, a_seed

Jobs = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", callback=a_job_count, help="How much to do at once; 0 = one per core."
    ),
]
Seed = Annotated[
    int,
    typer.Option("--seed", callback=a_seed, help="Random seed: the same seed, the same results."),
]
SuiteSeed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        callback=a_seed,
        help="Random seed: the same seed, the same results. Default: the suite's own.",
    ),
]
TaskTimeout = Annotated[
    float,
    typer.Option("--timeout", callback=a_limit, help="Time limit per task, in seconds."),
]
ListedTimeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        callback=a_limit,
        help="Time limit per task, in seconds. Default: as instances.csv says.",
    ),
]
TotalTime = Annotated[
    float,
    typer.Option(
        "--time",
        callback=a_limit,
        help="Time limit of the whole command, in seconds; it ends with the best so far.",
    ),
]
CpuTime = Annotated[
    float | None,
    typer.Option(
        "--cpu-time",
        callback=a_limit,
        help="CPU time limit per task, in seconds. Default: no limit.",
    ),
]
Memory = Annotated[
    float, typer.Option("--memory", callback=a_limit, help="Memory limit per task, in GiB.")
]
Device = Annotated[
    str,
    typer.Option(
        "--device", metavar="cpu|cuda|auto", help="Where to compute; auto = a GPU if there is one."
    ),
]
NewFolder = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="DIR", help="Folder to write: new or empty."),
]
WorkFolder = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="DIR",
        help="Folder to write: new, empty, or one where the same command was stopped.",
    ),
]
MaybeFolder = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="DIR",
        help="Folder to write: new, empty, or one where the same command was stopped.",
    ),
]
OutputFile = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="File to write.")]
MaybeFile = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]

_VERIFIER = "Name of a verifier (`assay verifiers` lists them)"
VerifierNames = Annotated[
    list[str] | None,
    typer.Option(
        "--verifier",
        "-v",
        metavar="NAME",
        autocompletion=verifiers_named,
        help=f"{_VERIFIER}; may be repeated.",
    ),
]
VerifierName = Annotated[
    str | None,
    typer.Option(
        "--verifier", "-v", metavar="NAME", autocompletion=verifiers_named, help=f"{_VERIFIER}."
    ),
]
MoreVerifiers = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="VERIFIER",
        autocompletion=verifiers_named,
        help="Verifiers by name, as with -v.",
    ),
]
OneVerifier = Annotated[
    str | None,
    typer.Argument(
        metavar="VERIFIER", autocompletion=verifiers_named, help="A verifier by name, as with -v."
    ),
]
VerifierFolders = Annotated[
    list[Path] | None,
    typer.Option(
        "--verifier-dir",
        metavar="DIR",
        help="Folder of a tool with VNN-COMP's scripts; may be repeated.",
    ),
]
VerifierCommands = Annotated[
    list[str] | None,
    typer.Option(
        "--verifier-command",
        metavar="COMMAND",
        help="Command of a tool, with {onnx} {vnnlib} {timeout} {result} where they go; "
        "NAME=COMMAND names it; may be repeated.",
    ),
]
Variables = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME=VALUE",
        help="Environment variable for the tools; may be repeated.",
    ),
]
SuiteName = Annotated[
    str,
    typer.Argument(
        metavar="SUITE",
        autocompletion=suites_named,
        help="A bundled suite by name (`assay suites` lists them), or a suite's YAML file.",
    ),
]
SuiteNames = Annotated[
    list[str] | None,
    typer.Option(
        "--suite",
        metavar="SUITE",
        autocompletion=suites_named,
        help="A bundled suite by name, or a suite's YAML file; may be repeated. Default: quick "
        "and soundness.",
    ),
]
FamilyName = Annotated[
    str | None,
    typer.Argument(
        metavar="FAMILY", autocompletion=families_named, help="Show one family with its knobs."
    ),
]
