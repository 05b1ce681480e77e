"""What a verifier declares: how to find it, what it takes, its command, how to read its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assay.judge.environment import Environment
from assay.judge.task import Answer, Invocation, Question


class Garbled(Exception):
    """The result file is not what the tool's grammar allows; the message says where."""


class Refused(Exception):
    """The tool itself declined the question, in the words it has for that."""


@dataclass(frozen=True)
class Verifier:
    """A tool that answers questions; always run in its own process, under the sandbox.

    `version()` is None when the tool is not installed. `operators` is the set of ONNX operators
    it takes, None when that is not known: then only running it tells. `read` parses the result
    file strictly and raises Garbled or Refused; a missing file is the runner's business.
    `environment` is what `assay verifiers install` makes, None when there is nothing to make.
    `files` gives the hash of every file that the version of a user's own tool rests on. `options`
    are those with which a command names a user's own tool, meant from the folder `started_in`
    where it is not empty. `variables` names what the user set in its environment.
    """

    name: str
    summary: str
    install_hint: str
    operators: frozenset[str] | None
    version: Callable[[], str | None]
    invoke: Callable[[Question, Path], Invocation]
    read: Callable[[str], Answer]
    threads: int = 1
    environment: Environment | None = None
    files: Callable[[], dict[str, str]] | None = None
    options: tuple[str, ...] = ()
    started_in: str = ""
    variables: tuple[str, ...] = ()
