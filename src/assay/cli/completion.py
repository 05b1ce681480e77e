"""Names that a shell completes. It asks on every press of a key, so no module of a family or
verifier is imported: their file names and, where a module is named differently, its text tell."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import typer
from typer._completion_shared import Shells, get_completion_script, install

_SUFFIX = ".yaml"
_NAME, _VARIABLE = "assay", "_ASSAY_COMPLETE"


def show_script(shell: Shells | None) -> None:
    if shell is not None:
        typer.echo(
            get_completion_script(prog_name=_NAME, complete_var=_VARIABLE, shell=shell.value)
        )
        raise typer.Exit


def install_script(shell: Shells | None) -> None:
    if shell is not None:
        _, path = install(shell=shell.value, prog_name=_NAME, complete_var=_VARIABLE)
        typer.echo(f"{shell.value} completion is installed in {path}; start a new shell to use it")
        raise typer.Exit


def families_named(incomplete: str) -> list[str]:
    return _beginning(_declared("truth", "CONSTRUCTOR"), incomplete)


def verifiers_named(incomplete: str) -> list[str]:
    return _beginning(_declared("judge/verifiers", "VERIFIER"), incomplete)


def suites_named(incomplete: str) -> list[str]:
    bundled = _package() / "suite" / "bundled"
    names = [path.name.removesuffix(_SUFFIX) for path in bundled.glob(f"*{_SUFFIX}")]
    return _beginning(names, incomplete)


def _beginning(names: list[str], start: str) -> list[str]:
    return sorted(name for name in names if name.startswith(start))


def _package() -> Path:
    return Path(str(files("assay")))


def _declared(folder: str, attribute: str) -> list[str]:
    """The modules of the folder that declare the attribute, by their names."""
    says = re.compile(rf"^{attribute}\b", re.MULTILINE)
    return [
        path.stem
        for path in (_package() / folder).glob("[!_]*.py")
        if says.search(path.read_text(encoding="utf-8"))
    ]
