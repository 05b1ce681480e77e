"""PyRAT, through the VNN-COMP scripts in its folder.

PyRAT is given out as compiled Python (`pyrat.pyc`) for one version of Python, with scripts that
enter an environment of their own. So there is nothing to install beside it: run its install_tool.sh
first, see that its scripts name the right folder, then name that folder with --source.

Its scripts and options were read (its public release of 2024, where `vnn_config/CATEGORY.ini` holds
the settings of a category and `test` is one of them); they could not be run when this was written.
If your release differs, `--verifier-dir` with your own scripts does the same.
"""

from __future__ import annotations

import sys
from pathlib import Path

from assay.judge.answers import read_vnncomp
from assay.judge.drivers import vnncomp_scripts
from assay.judge.environment import Environment
from assay.judge.environments import installed, source_of
from assay.judge.source_tool import version_of
from assay.judge.task import Invocation, Question
from assay.judge.verifier import Verifier

NAME = "pyrat"
_CATEGORY = "test"


def version() -> str | None:
    found = installed(NAME)
    if found is None or found.source is None or not Path(found.source).is_dir():
        return None
    return version_of(Path(found.source), "run_instance.sh")


def invoke(question: Question, folder: Path) -> Invocation:
    result = "result.txt"
    driver = str(Path(vnncomp_scripts.__file__).absolute())
    files = (str(question.onnx.absolute()), str(question.vnnlib.absolute()))
    target = str(folder.absolute() / result)
    return Invocation(
        (
            *(sys.executable, "-I", "-S", driver, str(source_of(NAME)), _CATEGORY),
            *(*files, target, f"{question.timeout_s:.12g}"),
        ),
        result,
    )


VERIFIER = Verifier(
    name=NAME,
    summary="abstract interpretation (zonotopes, polyhedra) with input splitting",
    install_hint=f"assay verifiers install {NAME} --source PATH",
    operators=None,
    version=version,
    invoke=invoke,
    read=read_vnncomp,
    environment=Environment(packages=(), source=("prepare_instance.sh", "run_instance.sh")),
)
