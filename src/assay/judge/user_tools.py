"""The verifiers that a command names: from the catalogue, tool folders and plain commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from assay.errors import BadInput
from assay.judge.catalogue import verifier, verifiers
from assay.judge.command_tool import command_verifier
from assay.judge.folder_tool import folder_verifier
from assay.judge.verifier import Verifier


def chosen_verifiers(
    names: Sequence[str], folders: Sequence[Path], commands: Sequence[str]
) -> list[Verifier]:
    """Every tool once, in the order given; two different tools must have two names."""
    chosen = [verifier(name) for name in dict.fromkeys(names)]
    chosen += [_own_name(folder_verifier(folder)) for folder in folders]
    for command in commands:
        tool = command_verifier(command)
        if tool.name in verifiers():
            raise BadInput(
                f"--verifier-command {command!r}: {tool.name!r} is the name of a verifier that "
                "Assay knows; give yours another with NAME=command"
            )
        chosen.append(tool)
    seen: set[str] = set()
    for tool in chosen:
        if tool.name in seen:
            raise BadInput(
                f"two verifiers are called {tool.name!r}; name a command with NAME=command, "
                "or rename a folder"
            )
        seen.add(tool.name)
    return chosen


def _own_name(tool: Verifier) -> Verifier:
    """A folder is often called like a verifier that Assay knows; its results must not be taken
    for those."""
    return replace(tool, name=f"{tool.name}-folder") if tool.name in verifiers() else tool
