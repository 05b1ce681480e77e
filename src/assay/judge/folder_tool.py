"""A VNN-COMP tool folder as a verifier: its prepare_instance.sh and run_instance.sh."""

from __future__ import annotations

import sys
from pathlib import Path

from assay.errors import BadInput
from assay.judge.answers import read_vnncomp
from assay.judge.called_files import called_files
from assay.judge.drivers import vnncomp_scripts
from assay.judge.source_version import (
    files_version,
    is_left_out,
    program_hashes,
    source_version,
)
from assay.judge.task import Invocation, Question
from assay.judge.tool_names import safe_name
from assay.judge.verifier import Verifier

_SCRIPTS = ("prepare_instance.sh", "run_instance.sh")
_PLACES = ("", "vnncomp_scripts", "scripts")
_RESULT = "result.txt"


def folder_verifier(path: Path) -> Verifier:
    """A verifier that follows the competition's scripts; the user has run its install_tool.sh."""
    if not path.is_dir():
        raise BadInput(f"{path}: not a folder; give the folder of a VNN-COMP tool")
    folder = path.resolve()
    scripts = _scripts(folder)

    def files() -> dict[str, str]:
        called = called_files([scripts / name for name in _SCRIPTS], folder)
        return program_hashes(folder, [path for path in called if not is_left_out(path, folder)])

    def version() -> str:
        commit = source_version(folder)
        return ", ".join(part for part in (commit, files_version(files())) if part)

    def invoke(question: Question, task_folder: Path) -> Invocation:
        files = (str(question.onnx.absolute()), str(question.vnnlib.absolute()))
        return Invocation(
            (
                sys.executable,
                "-I",
                "-S",
                str(Path(vnncomp_scripts.__file__).absolute()),
                str(scripts),
                question.onnx.absolute().parent.parent.name or "assay",
                *files,
                str(task_folder.absolute() / _RESULT),
                f"{question.timeout_s:.12g}",
            ),
            _RESULT,
        )

    return Verifier(
        name=safe_name(folder.name, str(path)),
        summary=f"the VNN-COMP scripts in {scripts}",
        install_hint=f"run install_tool.sh v1 in {scripts}",
        operators=None,
        version=version,
        invoke=invoke,
        read=read_vnncomp,
        files=files,
        options=("--verifier-dir", str(folder)),
    )


def _scripts(folder: Path) -> Path:
    for place in _PLACES:
        if all((folder / place / name).is_file() for name in _SCRIPTS):
            return folder / place
    raise BadInput(
        f"{folder}: holds no {' and '.join(_SCRIPTS)}, also not in vnncomp_scripts; "
        "give the folder of a VNN-COMP tool"
    )
