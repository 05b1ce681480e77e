"""Commands that run as they are: the verifier's own one on an instance, and `assay shrink`."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.judge.catalogue import verifiers
from assay.judge.demo_liars import demo_liars
from assay.suite.folder import FolderEntry

_TASK = r"/assay-tasks?-\w+/[^/\s'\"]+"
# A path inside a word, as in --out=PATH or in the text of `sh -c`.
_INSIDE = r"(?:/[^/\s'\"=:;,<>|&()]+)*"


@dataclass(frozen=True)
class KnownTool:
    """How a run was told of a verifier; all empty for one that Assay knows by its name.

    `started_in` is the folder that its options are meant from, where that matters.
    """

    options: tuple[str, ...] = ()
    started_in: str = ""
    variables: tuple[str, ...] = ()


def known_tool(plan: Mapping[str, Any], name: str) -> KnownTool:
    """What run.json says of it; runs of earlier versions say nothing."""
    tools = plan.get("tools")
    found = tools.get(name) if isinstance(tools, dict) else None
    if not isinstance(found, dict):
        return KnownTool()
    place = found.get("started_in")
    return KnownTool(
        _texts(found.get("options")),
        place if isinstance(place, str) else "",
        _texts(found.get("variables")),
    )


def reproduce_command(command: Sequence[str], entry: FolderEntry, before: Path, now: Path) -> str:
    """The verifier's command as it was run, in a new folder, with the files where they are now.

    `before` is the folder of the benchmark as the run knew it, `now` the one that it is in.
    """
    if not command:
        return ""
    words = list(command)
    for path in (entry.onnx, entry.vnnlib):
        words = _relocated(words, path, before, now)
    folder = _task_folder(words)
    shown = " ".join(_quoted(word, folder) for word in words)
    return f'(cd "$(mktemp -d)" && {shown}; cat result.txt)'


def shrink_command(
    run: Path, instance: str, verifier: str, benchmark: Path | None, tool: KnownTool
) -> str:
    """`benchmark` where it is not the folder that the run names."""
    words = ["assay", "shrink", str(run.resolve()), instance, "--verifier", verifier]
    if benchmark is not None:
        words += ["--benchmark", str(benchmark.resolve())]
    shown = shlex.join([*words, *tool.options])
    # Values may be secret, so they come from the shell of whoever pastes this.
    shown += "".join(f' --env {name}="${name}"' for name in tool.variables)
    return f"(cd {shlex.quote(tool.started_in)} && {shown})" if tool.started_in else shown


def remark(verifier: str, tool: KnownTool) -> str:
    """What whoever copies the commands has to know."""
    said = []
    own = verifier in verifiers() or verifier in (liar.name for liar in demo_liars())
    if not own and not tool.options:
        said.append(
            f"Assay does not know {verifier} by its name: give assay shrink the same "
            "--verifier-command or --verifier-dir as in the run."
        )
    if tool.variables:
        said.append(
            f"The run set {', '.join(tool.variables)} with --env: export the same values first."
        )
    return " ".join(said)


def _texts(found: Any) -> tuple[str, ...]:
    known = isinstance(found, list) and all(isinstance(item, str) for item in found)
    return tuple(found) if known else ()


def _relocated(words: Sequence[str], path: Path, before: Path, now: Path) -> list[str]:
    """The words with the old place of one file replaced by the new one."""
    new, tail = str(path.resolve()), f"/{path.parent.name}/{path.name}"
    places = {str(path.absolute()), new}
    if path.is_relative_to(now):
        inner = path.relative_to(now)
        places |= {str(old / inner) for old in (before.absolute(), before.resolve())}
    found = []
    for word in words:
        old = next((p for p in sorted(places, key=len, reverse=True) if p in word), None)
        if old is not None:
            found.append(word.replace(old, new))
        elif word.startswith("/") and word.endswith(tail):
            found.append(new)
        else:
            found.append(re.sub(_INSIDE + re.escape(tail), lambda _: new, word))
    return found


def _task_folder(words: Sequence[str]) -> str | None:
    """The folder that the task had, which is gone; every tool leaves its result file in it."""
    temporary = re.escape(tempfile.gettempdir())
    for pattern in (f"{temporary}{_TASK}", f"{_INSIDE}{_TASK}", f"^(?:/[^/]+)*{_TASK}(?=/[^/]+$)"):
        for word in words:
            found = re.search(pattern, word)
            if found:
                return found.group()
    return None


def _quoted(word: str, folder: str | None) -> str:
    """For the shell, with the current folder where the task's was."""
    if folder is None or folder not in word:
        return shlex.quote(word)
    return '"$PWD"'.join(shlex.quote(part) if part else "" for part in word.split(folder))
