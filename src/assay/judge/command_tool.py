"""Any command as a verifier: `mytool {onnx} {vnnlib} {timeout} {result}`."""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
from pathlib import Path

from assay.errors import BadInput
from assay.judge.answers import read_vnncomp
from assay.judge.called_files import called_files
from assay.judge.source_version import program_hashes_of
from assay.judge.task import Invocation, Question
from assay.judge.tool_names import safe_name
from assay.judge.verifier import Verifier

_NEEDED = ("onnx", "vnnlib", "result")
_PLACES = (*_NEEDED, "timeout")
# Anything that looks like one, lest a misspelt one pass for text; ${NAME} is the shell's.
_PLACE = re.compile(r"(?<!\$)\{((?:[A-Za-z_][A-Za-z0-9_]*)?)\}")
_NAMED = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*)=(?=\S)")
_RESULT = "result.txt"


def command_verifier(text: str) -> Verifier:
    """A verifier that runs this command; `NAME=command ...` gives it a name.

    The tool writes `sat` and a witness, `unsat`, `unknown`, `timeout` or `error` into {result},
    as VNN-COMP's tools do. Files that the command names are meant from where Assay was started.
    """
    named = _NAMED.match(text.strip())
    template = text.strip()[named.end() if named else 0 :]
    words = _words(template)
    name = named.group(1) if named else safe_name(Path(words[0]).name, words[0])
    fixed = [words[0], *(_absolute(word) for word in words[1:])]

    def version() -> str | None:
        program = shutil.which(fixed[0])
        return None if program is None else _fingerprint([str(Path(program).absolute()), *fixed])

    def invoke(question: Question, folder: Path) -> Invocation:
        program = shutil.which(fixed[0])
        if program is None:
            raise BadInput(f"there is no program {fixed[0]!r} any more; install it again")
        values = {
            "onnx": str(question.onnx.absolute()),
            "vnnlib": str(question.vnnlib.absolute()),
            "timeout": f"{question.timeout_s:.12g}",
            "result": str(folder.absolute() / _RESULT),
        }
        filled = (_PLACE.sub(lambda m: values[m.group(1)], word) for word in fixed[1:])
        return Invocation((str(Path(program).absolute()), *filled), _RESULT)

    return Verifier(
        name=name,
        summary=f"the command {template}",
        install_hint=(
            f"see that there is a program {words[0]!r}"
            if "/" in words[0]
            else f"put the program {words[0]!r} on the PATH"
        ),
        operators=None,
        version=version,
        invoke=invoke,
        read=read_vnncomp,
        options=("--verifier-command", _option(name, template, words, fixed)),
        # The version covers the program as it is spelt, so it is found again from the same folder.
        started_in=str(Path.cwd()) if "/" in words[0] and not Path(words[0]).is_absolute() else "",
    )


def _words(template: str) -> list[str]:
    try:
        words = shlex.split(template)
    except ValueError as error:
        raise BadInput(f"--verifier-command {template!r}: {error}; correct its quotes") from None
    if not words or _PLACE.search(words[0]):
        raise BadInput(f"--verifier-command {template!r}: names no program; begin with one")
    found = set(_PLACE.findall(" ".join(words[1:])))
    unknown, missing = sorted(found - set(_PLACES)), [p for p in _NEEDED if p not in found]
    if unknown:
        known = " ".join(f"{{{place}}}" for place in _PLACES)
        raise BadInput(
            f"--verifier-command {template!r}: {{{unknown[0]}}} is not a place; use {known}"
        )
    if missing:
        raise BadInput(
            f"--verifier-command {template!r}: lacks {{{missing[0]}}}; write where the tool gets it"
        )
    program = Path(words[0])
    if "/" in words[0] and program.exists() and shutil.which(words[0]) is None:
        raise BadInput(
            f"--verifier-command {template!r}: {words[0]} is a folder; name the program in it"
            if program.is_dir()
            else f"--verifier-command {template!r}: {words[0]} is there but cannot be executed; "
            f"run: chmod +x {words[0]}"
        )
    return words


def _option(name: str, template: str, words: list[str], fixed: list[str]) -> str:
    """The same tool under the same name, with the files that it names in full."""
    command = template if fixed == words else shlex.join(fixed)
    return f"{name}={command}" if _NAMED.match(f"{name}=x") else command


def _absolute(word: str) -> str:
    """Tasks run in folders of their own, so files are named in full."""
    path = Path(word)
    return str(path.absolute()) if not _PLACE.search(word) and path.is_file() else word


def _fingerprint(words: list[str]) -> str:
    """A short hash of the command, of every file it names, and of those that its scripts call."""
    digest = hashlib.sha256("\0".join(words).encode())
    named = [Path(word) for word in words if Path(word).is_file()]
    for path in named:
        digest.update(path.read_bytes())
    known = {path.resolve() for path in named}
    for path in named:
        called = [each for each in called_files([path], path.parent) if each not in known]
        known.update(called)
        for name, found in program_hashes_of(called).items():
            digest.update(f"{name} {found} ".encode(errors="surrogateescape"))
    return f"command {digest.hexdigest()[:12]}"
