"""What CI reads of a judgement: the exit code that `--fail-on` decides, and JUnit XML."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.errors import BadInput

if TYPE_CHECKING:
    from assay.judge.faults import Failure, Fault
    from assay.judge.score_table import Scores
    from assay.judge.scored_runs import JudgedRuns

FAIL_ON = "unsound,no-answer"
"""What both `assay audit` and `assay score` fail on."""
FailOn = Annotated[
    str,
    typer.Option(
        metavar="LIST",
        help="Exit 1 if a verifier shows one of these: unsound, bogus, unwitnessed, crash, "
        "no-answer (not one valid answer); comma-separated, or none.",
    ),
]
JunitFile = Annotated[
    Path | None,
    typer.Option(
        "--junit",
        metavar="FILE",
        help="Also write JUnit XML: a suite for each verifier, a case for each instance.",
    ),
]


def refuse_foreign_junit(target: Path | None) -> None:
    """Before any work: raise BadInput where the file would replace one that Assay did not write."""
    from assay.judge.junit import HEAD

    if target is None:
        return
    if target.is_dir():
        raise BadInput(f"--junit {target}: is a folder; name the file to write in it")
    if target.parent.exists() and not target.parent.is_dir():
        raise BadInput(f"--junit {target}: {target.parent} is a file; choose another folder")
    if not target.exists():
        return
    try:
        with target.open("rb") as stream:
            own = stream.read(len(HEAD)) == HEAD.encode()
    except OSError as error:
        raise BadInput(
            f"--junit {target}: cannot be read ({error.strerror}); choose another name"
        ) from None
    if not own:
        raise BadInput(
            f"--junit {target}: exists and was not written by Assay; choose another name, or "
            "remove it"
        )


def write_junit(target: Path | None, judged: JudgedRuns) -> None:
    if target is None:
        return
    from assay.judge.junit import to_junit
    from assay.store.whole_file import write_whole, writing

    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, to_junit(judged.judgement, judged.folders).encode())


def failure_document(wanted: Sequence[Fault], found: Sequence[Failure]) -> dict[str, Any]:
    from dataclasses import asdict

    return {"fail_on": list(wanted), "failed": [asdict(failure) for failure in found]}


def end_for_failures(scores: Scores, wanted: Sequence[Fault]) -> None:
    """Exit 1 with one sentence where the scores show a fault that is wanted."""
    from assay.judge.faults import failures

    found = failures(scores, wanted)
    if not found:
        return
    said = "; ".join(str(failure) for failure in found)
    print(f"assay: {said} (--fail-on {','.join(wanted)})", file=sys.stderr)
    raise typer.Exit(1)
