"""Environments on disk: made by venv and pip from a verifier's recipe, found again, removed.

`$ASSAY_HOME/verifiers/NAME` (else `$XDG_DATA_HOME/assay`, else `~/.local/share/assay`) holds
`venv`, `install.log` and `installed.json`. The last is written last and at once, so an environment
counts only when it is whole; whatever an interrupted installation left is made anew. pip runs with
the user's own configuration.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from assay.errors import BadInput
from assay.judge.environment import Environment
from assay.judge.result_file import is_plain_relative_path
from assay.judge.source_version import source_version
from assay.judge.verifier import Verifier

INSTALLED_FILE = "installed.json"
LOG_FILE = "install.log"
_VENV = "venv"
_SCHEMA = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_FOREIGN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
"""Variables that would mix Assay's packages into the new environment."""
_NOISE = ("[notice]", "WARNING", "note:", "hint:")


@dataclass(frozen=True)
class Installed:
    """What was made: `packages` maps every package that pip lists to its version."""

    name: str
    python: str
    packages: Mapping[str, str]
    source: str | None
    source_version: str | None
    date: str
    recipe: str


def home() -> Path:
    """The folder of what Assay keeps for its user."""
    for variable, below in (("ASSAY_HOME", ""), ("XDG_DATA_HOME", "assay")):
        if os.environ.get(variable):
            return (Path(os.environ[variable]).expanduser() / below).absolute()
    return Path.home() / ".local" / "share" / "assay"


def install(
    verifier: Verifier, source: Path | None = None, say: Callable[[str], None] = lambda _: None
) -> Installed:
    """Make the verifier's environment; nothing is done when the same one is there already."""
    environment = verifier.environment
    if environment is None:
        raise BadInput(
            f"verifier {verifier.name!r} has no environment of its own to install; "
            f"get it with: {verifier.install_hint}"
        )
    root = _checked_source(verifier.name, environment, source)
    recipe = _fingerprint(environment)
    folder = _folder(verifier.name)
    with _locked(folder) as lock:
        found = installed(verifier.name)
        if found and (found.recipe, found.source) == (recipe, str(root) if root else None):
            say(f"{verifier.name} is installed already in {folder}")
            return found
        _delete(folder)
        try:
            return _make(verifier.name, environment, root, recipe, folder, lock, say)
        except BaseException:
            # Also on Ctrl-C: only the log is kept, the rest would be gigabytes of no use.
            shutil.rmtree(folder / _VENV, ignore_errors=True)
            raise


def installed(name: str) -> Installed | None:
    """The environment of that name, or None when there is no whole one."""
    folder = _folder(name)
    try:
        document = json.loads((folder / INSTALLED_FILE).read_text(encoding="utf-8"))
        if document.pop("schema") != _SCHEMA or not _python(folder).exists():
            return None
        return Installed(**document)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def remove(name: str) -> None:
    """Delete the environment, whole or not."""
    folder = _folder(name)
    if not folder.exists():
        raise BadInput(f"verifier {name!r} has no environment in {folder.parent} to remove")
    with _locked(folder):
        _delete(folder)


def python_of(name: str) -> Path:
    """The interpreter of an environment that is there."""
    _existing(name)
    return _python(_folder(name))


def source_of(name: str) -> Path:
    """The source folder that was named when the environment was made."""
    source = _existing(name).source
    if source is None or not Path(source).is_dir():
        where = "no source folder" if source is None else f"the source folder {source}, now gone"
        raise BadInput(
            f"verifier {name!r} was installed with {where}; "
            f"run: assay verifiers install {name} --source PATH"
        )
    return Path(source)


def _existing(name: str) -> Installed:
    found = installed(name)
    if found is None:
        raise BadInput(f"verifier {name!r} is not installed; run: assay verifiers install {name}")
    return found


def _folder(name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise BadInput(f"{name!r} is not the name of a verifier; see: assay verifiers")
    return home() / "verifiers" / name


def _python(folder: Path) -> Path:
    return folder / _VENV / "bin" / "python"


def _checked_source(name: str, environment: Environment, source: Path | None) -> Path | None:
    if not environment.source:
        if source is not None:
            raise BadInput(f"verifier {name!r} comes from its package; leave --source out")
        return None
    if source is None:
        raise BadInput(
            f"verifier {name!r} runs from its source folder (with {environment.source[0]}); "
            f"name it: assay verifiers install {name} --source PATH"
        )
    for file in environment.source:
        if not (source / file).exists():
            raise BadInput(
                f"{source}: holds no {file}; give the source folder of verifier {name!r}"
            )
    return source.resolve()


def _fingerprint(environment: Environment) -> str:
    recipe = {**asdict(environment), "modules": sorted(environment.modules.items())}
    return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()


@contextmanager
def _locked(folder: Path) -> Iterator[int]:
    """Nobody else changes this environment meanwhile; the lock ends with whoever holds it open."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with (folder.parent / f".{folder.name}.lock").open("w") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BadInput(
                    f"{folder}: another process is installing or removing it; wait for that one"
                ) from None
            yield stream.fileno()
    except OSError as error:
        raise BadInput(
            f"cannot write {error.filename or folder}: {error.strerror}; "
            "make room or set ASSAY_HOME to another folder"
        ) from None


def _delete(folder: Path) -> None:
    """The mark goes first: from then on nobody takes what is left for an environment."""
    (folder / INSTALLED_FILE).unlink(missing_ok=True)
    if folder.exists():
        shutil.rmtree(folder)


def _make(
    name: str,
    environment: Environment,
    source: Path | None,
    recipe: str,
    folder: Path,
    lock: int,
    say: Callable[[str], None],
) -> Installed:
    folder.mkdir()
    python = str(_python(folder))
    say(f"the log is {folder / LOG_FILE}")
    with (folder / LOG_FILE).open("w+", encoding="utf-8", errors="replace") as log:
        steps = _Steps(log, lock)
        say(f"making a virtual environment in {folder}")
        steps.run(
            "python -m venv (part of Debian's python3-venv)",
            sys.executable,
            "-m",
            "venv",
            str(folder / _VENV),
        )
        for arguments in environment.packages:
            say(f"pip install {' '.join(arguments)}")
            steps.run("pip", python, "-m", "pip", "--no-input", "install", *arguments)
        place = steps.printed("python", python, "-I", "-c", _SITE_PACKAGES)
        _write_modules(environment.modules, Path(place.strip()))
        listed = json.loads(steps.printed("pip", python, "-m", "pip", "list", "--format=json"))
    made = Installed(
        name=name,
        python=platform.python_version(),
        packages={package["name"]: package["version"] for package in listed},
        source=None if source is None else str(source),
        source_version=None if source is None else source_version(source),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        recipe=recipe,
    )
    document = json.dumps({"schema": _SCHEMA, **asdict(made)}, indent=1, sort_keys=True)
    temporary = folder / f"{INSTALLED_FILE}.new"
    temporary.write_text(document + "\n", encoding="utf-8")
    temporary.replace(folder / INSTALLED_FILE)
    return made


_SITE_PACKAGES = "import sysconfig; print(sysconfig.get_path('purelib'))"


def _write_modules(modules: Mapping[str, str], site_packages: Path) -> None:
    for file, text in modules.items():
        if not is_plain_relative_path(file):
            raise BadInput(f"the recipe's module {file!r} is not a plain path; correct the recipe")
        (site_packages / file).parent.mkdir(parents=True, exist_ok=True)
        (site_packages / file).write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class _Steps:
    """The commands of an installation; each keeps the lock, lest pip outlive who started it."""

    log: IO[str]
    lock: int

    def run(self, what: str, *command: str) -> None:
        self._complete(what, command, self.log)

    def printed(self, what: str, *command: str) -> str:
        return self._complete(what, command, subprocess.PIPE).decode("utf-8")

    def _complete(self, what: str, command: Sequence[str], stdout: IO[str] | int) -> bytes:
        self.log.write(f"$ {' '.join(command)}\n")
        self.log.flush()
        begin = self.log.tell()
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=self.log,
            env={name: value for name, value in os.environ.items() if name not in _FOREIGN},
            pass_fds=(self.lock,),
            check=False,
        )
        self.log.seek(begin)
        said = self.log.read()
        if ended.returncode != 0:
            raise BadInput(f"{what} failed: {_last_meaningful(said)}; the log is {self.log.name}")
        return ended.stdout or b""


def _last_meaningful(printed: str) -> str:
    """The line that says why: pip's last error, else the last line that is no mere notice."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    errors = [line for line in lines if line.upper().startswith("ERROR:")]
    plain = [line for line in lines if not line.startswith(_NOISE)]
    return (errors or plain or lines or ["it said nothing"])[-1].rstrip(".")
