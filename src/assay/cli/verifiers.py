"""`assay verifiers`: the tools that can be judged, how to get them and how to be rid of them."""

from __future__ import annotations

import shutil
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.completion import verifiers_named
from assay.cli.option_kinds import AsJson

if TYPE_CHECKING:
    from assay.judge.verifier import Verifier

Name = Annotated[
    str,
    typer.Argument(
        metavar="VERIFIER",
        autocompletion=verifiers_named,
        help="Name of a verifier (`assay verifiers` lists them).",
    ),
]

group = typer.Typer(invoke_without_command=True, rich_markup_mode=None)
"""Other commands of the group register here."""


@group.callback()
def verifiers(
    context: typer.Context,
    mutants: Annotated[
        bool, typer.Option("--mutants", help="List those broken on purpose instead.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the verifiers, or install, check or remove one.

    The list says what they take, whether they are here, and how to get them.
    """
    if context.invoked_subcommand is not None:
        return
    from assay.cli.output import print_json, print_line
    from assay.judge.catalogue import verifiers as known

    listed = list(known().values())
    if mutants:
        from assay.judge.power.verifier import mutant_verifiers

        listed = mutant_verifiers()
    entries = [_entry(verifier) for verifier in listed]
    if as_json:
        print_json(entries)
        return
    for entry in entries:
        print_line(_block(entry))


@group.command()
def install(
    name: Name,
    source: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="The tool's source folder, where it needs one."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make the environment that a verifier needs, apart from Assay's own packages.

    It is a virtual environment with pinned packages, in $ASSAY_HOME/verifiers (by default in
    ~/.local/share/assay). An installation that was stopped is made anew by the same command.

    Examples:

      assay verifiers install neuralsat

      assay verifiers install abcrown --source ~/alpha-beta-CROWN
    """
    from assay.cli.output import print_json, print_line
    from assay.judge import environments
    from assay.judge.catalogue import verifier

    made = environments.install(
        verifier(name), source, lambda text: print(f"install: {text}", file=sys.stderr, flush=True)
    )
    if as_json:
        print_json(asdict(made))
        return
    print_line(f"{name} {verifier(name).version()} is installed; try: assay verifiers check {name}")


@group.command()
def remove(name: Name) -> None:
    """Delete the environment of a verifier; its source folder is left alone."""
    from assay.cli.output import print_line
    from assay.judge import environments

    environments.remove(name)
    print_line(f"{name} is removed")


def _entry(verifier: Verifier) -> dict[str, Any]:
    version = verifier.version()
    return {
        "name": verifier.name,
        "summary": verifier.summary,
        "installed": version is not None,
        "version": version,
        "install": verifier.install_hint,
        "operators": None if verifier.operators is None else sorted(verifier.operators),
    }


def _block(entry: dict[str, Any]) -> str:
    """A few lines about one verifier; the command stays on one line, to be copied."""
    operators = entry["operators"]
    taken = "not known before it is run" if operators is None else " ".join(operators)
    lines = [
        f"{entry['name']}  {entry['version'] or 'not installed'}",
        f"  {entry['summary']}",
        f"  get it: {entry['install']}",
    ]
    width = max(40, shutil.get_terminal_size().columns)
    lines += textwrap.wrap(
        f"operators: {taken}", width, initial_indent="  ", subsequent_indent="    "
    )
    return "\n".join(lines) + "\n"
