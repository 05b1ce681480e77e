"""The verifiers that a command names: from the catalogue, tool folders and plain commands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.errors import BadInput
from assay.judge.catalogue import verifier
from assay.judge.command_tool import command_verifier
from assay.judge.folder_tool import folder_verifier
from assay.judge.verifier import Verifier


def chosen_verifiers(
    names: Sequence[str], folders: Sequence[Path], commands: Sequence[str]
) -> list[Verifier]:
    """Every tool once, in the order given; two different tools must have two names."""
    chosen = [verifier(name) for name in dict.fromkeys(names)]
    chosen += [folder_verifier(folder) for folder in folders]
    chosen += [command_verifier(command) for command in commands]
    seen: set[str] = set()
    for tool in chosen:
        if tool.name in seen:
            raise BadInput(
                f"two verifiers are called {tool.name!r}; name a command with NAME=command, "
                "or rename a folder"
            )
        seen.add(tool.name)
    return chosen
