"""How Assay's own verifiers are declared: a module of `assay.judge.builtin` run as a process."""

from __future__ import annotations

import sys
from pathlib import Path

import assay
from assay.judge.answers import read_vnncomp
from assay.judge.task import Invocation, Question
from assay.judge.verifier import Verifier
from assay.optional_packages import OPTIONAL


def own_verifier(
    name: str,
    summary: str,
    operators: frozenset[str] | None,
    *,
    needs_torch: bool = False,
    module: str = "assay.judge.builtin",
) -> Verifier:
    """`module` is run as a process, with the name as its first argument."""
    torch = OPTIONAL["torch"]

    def version() -> str | None:
        return assay.__version__ if not needs_torch or torch.is_here() else None

    def invoke(question: Question, folder: Path) -> Invocation:
        result = "result.txt"
        files = (str(question.onnx.absolute()), str(question.vnnlib.absolute()))
        return Invocation(
            (
                sys.executable,
                "-m",
                module,
                name,
                *files,
                str(question.timeout_s),
                str(folder.absolute() / result),
            ),
            result,
            {
                **dict.fromkeys(
                    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
                ),
                # The same Assay that asks, however it was found.
                "PYTHONPATH": str(Path(assay.__file__).absolute().parent.parent),
            },
        )

    return Verifier(
        name=name,
        summary=summary,
        install_hint=torch.remedy if needs_torch else "built in",
        operators=operators,
        version=version,
        invoke=invoke,
        read=read_vnncomp,
    )
