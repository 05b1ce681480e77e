"""How a verifier that comes as a source folder is declared: a driver in the tool's own Python."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

from assay.judge.answers import read_vnncomp
from assay.judge.environment import Environment
from assay.judge.environments import installed, python_of, source_of
from assay.judge.source_version import programs_version, source_version
from assay.judge.task import Invocation, Question
from assay.judge.verifier import Verifier

_VERSION = re.compile(r"""^(?:__version__|version) *= *["']([^"'\n]{1,40})["']""", re.MULTILINE)
_RESULT = "result.txt"
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def source_verifier(
    name: str,
    summary: str,
    *,
    repository: str,
    driver: ModuleType,
    environment: Environment,
    operators: frozenset[str] | None = None,
) -> Verifier:
    """The driver is run as `driver SOURCE ONNX VNNLIB SECONDS RESULT`.

    The version is what the first file of `environment.source` says, the folder's commit, and a hash
    of what it holds.
    """

    def version() -> str | None:
        found = installed(name)
        if found is None or found.source is None or not Path(found.source).is_dir():
            return None
        return version_of(Path(found.source), environment.source[0])

    def invoke(question: Question, folder: Path) -> Invocation:
        folder = folder.absolute()
        return Invocation(
            (
                str(python_of(name)),
                "-I",
                str(Path(driver.__file__ or "").absolute()),
                str(source_of(name)),
                str(question.onnx.absolute()),
                str(question.vnnlib.absolute()),
                str(question.timeout_s),
                str(folder / _RESULT),
            ),
            _RESULT,
            # What a tool keeps for its user goes to the task's folder.
            {
                **_ONE_THREAD,
                "XDG_DATA_HOME": str(folder / "tmp"),
                "XDG_CACHE_HOME": str(folder / "tmp"),
            },
        )

    return Verifier(
        name=name,
        summary=summary,
        install_hint=(
            f"git clone --recursive {repository} FOLDER"
            f" && assay verifiers install {name} --source FOLDER"
        ),
        operators=operators,
        version=version,
        invoke=invoke,
        read=read_vnncomp,
        environment=environment,
    )


def version_of(source: Path, file: str) -> str:
    """Such as `1.0.1, commit b18238f123ed, files 09a1...`; what cannot be read is left out."""
    try:
        declared = _VERSION.search((source / file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        declared = None
    parts = (
        declared[1] if declared else None,
        source_version(source),
        programs_version(source, [source / file] if (source / file).is_file() else []),
    )
    return ", ".join(part for part in parts if part) or "version not known"
