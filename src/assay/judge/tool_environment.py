"""Variables that a user sets for a tool: the sandbox passes nothing on that is not asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from assay.errors import BadInput
from assay.judge.task import Invocation, Question
from assay.judge.verifier import Verifier

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=([^\0\n]*)")


def read_assignments(texts: Iterable[str]) -> dict[str, str]:
    """The variables in texts like NAME=VALUE; the last one of a name holds."""
    found = {}
    for text in texts:
        assignment = _ASSIGNMENT.fullmatch(text)
        if assignment is None:
            raise BadInput(f"--env {text!r} is not of the form NAME=VALUE; correct it")
        found[assignment.group(1)] = assignment.group(2)
    return found


def with_environment(verifier: Verifier, variables: Mapping[str, str]) -> Verifier:
    """The same tool with these variables set; its version says so, for they can change answers."""
    if not variables:
        return verifier

    def version() -> str | None:
        found = verifier.version()
        return None if found is None else f"{found} with {_text(variables)}"

    def invoke(question: Question, folder: Path) -> Invocation:
        invocation = verifier.invoke(question, folder)
        return replace(invocation, environment={**invocation.environment, **variables})

    names = tuple(sorted({*verifier.variables, *variables}))
    return replace(verifier, version=version, invoke=invoke, variables=names)


def _text(variables: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(variables.items()))
