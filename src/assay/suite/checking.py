"""Hand instances to the independent checker, many at a time, and gather its verdicts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.engine.processes import Jobs, outcomes_of
from assay.engine.work import Outcome, Watcher, Work
from assay.errors import BadInput
from assay.store.kept_verdicts import Digests, KeptVerdicts
from assay.suite.folder import BenchmarkFolder
from assay.truth.record import LARGEST_TRUTH

if TYPE_CHECKING:
    from assay.proof.checker import Verdict

STATUSES = ("verified", "rejected", "unsupported")


@dataclass(frozen=True)
class Claim:
    """Three files to be checked against each other; `digests` says which bytes they must hold."""

    name: str
    onnx: Path
    vnnlib: Path
    truth: Path
    digests: Digests | None = None


@dataclass(frozen=True)
class Checked:
    """The checker's verdict on one claim; family and twin are what the truth says about itself."""

    name: str
    family: str
    answer: str | None
    status: str
    margin: str | None
    reason: str
    line: str
    truth: Path
    twin: str | None = None
    seconds: float = 0.0
    digests: Digests | None = None


def claims_of_folder(folder: BenchmarkFolder) -> list[Claim]:
    claims = [Claim(e.name, e.onnx, e.vnnlib, e.truth) for e in folder.entries if e.truth]
    if not claims:
        raise BadInput(f"{folder.path}: no instance in it has a truth; there is nothing to check")
    return claims


def claims_of_files(files: Sequence[Path]) -> list[Claim]:
    """Read a list of truths, or one triple ONNX VNNLIB TRUTH, as claims."""
    for path in files:
        if not path.is_file():
            raise BadInput(f"{path}: no such file; give a benchmark folder or truth files")
    if [path.suffix for path in files] == [".onnx", ".vnnlib", ".json"]:
        onnx, vnnlib, truth = files
        return [Claim(truth.stem, onnx, vnnlib, truth)]
    return [_beside(path) for path in files]


def check(claims: Sequence[Claim], jobs: Jobs, watcher: Watcher | None = None) -> list[Checked]:
    """Check every claim; the result has the order of the claims. What is verified is kept."""
    watcher, kept = watcher or Watcher(), KeptVerdicts()
    watcher.begin(len(claims), 0)
    by_claim: dict[Claim, Checked] = {}
    outcomes = outcomes_of(WORK, claims, jobs, watcher, lambda claim: claim.name)
    with closing(outcomes):
        for outcome in outcomes:
            checked = _settled(outcome)
            if checked.digests is not None and checked.status == "verified":
                kept.add(checked.digests)
            by_claim[outcome.item] = checked
            note = "" if checked.status == "verified" else f"{checked.status}: {checked.reason}"
            watcher.finished(checked.name, outcome.seconds, note)
    return [by_claim[claim] for claim in claims]


def check_claim(claim: Claim) -> Checked:
    """Run the checker on one claim (in a worker)."""
    from assay.proof import checker

    read = _read(claim)
    digests = None if isinstance(read, checker.Verdict) else Digests.of(*read)
    if claim.digests not in (None, digests):
        raise BadInput("its files changed while they were being checked; try again")
    verdict = read if isinstance(read, checker.Verdict) else checker.check(*read)
    return Checked(
        name=claim.name,
        family=(_said(claim.truth, "family") or "?")[:40],
        answer=verdict.answer,
        status=verdict.status,
        margin=None if verdict.margin is None else str(verdict.margin),
        reason=verdict.reason,
        line=verdict.line(),
        truth=claim.truth,
        twin=_said(claim.truth, "twin"),
        digests=digests,
    )


def _files(claim: Claim) -> list[Path]:
    arrays = claim.truth.with_suffix(".bin")
    found = (claim.onnx, claim.vnnlib, claim.truth, arrays)
    return [path for path in found if path.is_file()]


WORK = Work(check_claim, ("assay.proof.checker",), _files)
"""Checking, for any engine."""


def _read(claim: Claim) -> Verdict | list[bytes]:
    """The bytes that are hashed and checked, each read once; a verdict where that is impossible."""
    from assay.proof.checker import Verdict, read_files, shown
    from assay.proof.refusals import Unsupported

    try:
        return [data for _, data in read_files(claim.onnx, claim.vnnlib, claim.truth)]
    except OSError as error:
        return Verdict("rejected", reason=f"{shown(Path(error.filename))}: {error.strerror}")
    except Unsupported as reason:
        return Verdict("unsupported", reason=str(reason))


def twin_problems(results: Sequence[Checked]) -> list[str]:
    """What is wrong with the twins that the truths of a folder name."""
    by_name = {result.name: result for result in results}
    return [
        f"{name}: its twin {result.twin[:80]!a} {problem}"
        for name, result in by_name.items()
        if result.twin is not None
        and (problem := _twin_problem(result, by_name.get(result.twin))) is not None
    ]


def _twin_problem(result: Checked, twin: Checked | None) -> str | None:
    if twin is None:
        return "has no truth in the folder"
    if twin.twin != result.name:
        return "does not name it as its own twin"
    return "has the same answer" if twin.answer == result.answer is not None else None


def _settled(outcome: Outcome[Claim, Checked]) -> Checked:
    claim, checked = outcome.item, outcome.result
    if outcome.error is not None:
        raise BadInput(f"{claim.truth}: {outcome.error}")
    if checked is None:
        # A checker that dies has not verified: a crafted file must not pass by exhausting it.
        reason = f"the checker did not finish: {outcome.death}"
        line = f"s REJECTED {reason}"
        return Checked(claim.name, "?", None, "rejected", None, reason, line, claim.truth)
    return Checked(**{**vars(checked), "seconds": round(outcome.seconds, 3)})


def _beside(truth: Path) -> Claim:
    if truth.suffix != ".json":
        raise BadInput(f"{truth}: not a truth; give NAME.json files or ONNX VNNLIB TRUTH in order")
    name = truth.stem
    for onnx, vnnlib in (
        (truth.parent.parent / "onnx", truth.parent.parent / "vnnlib"),
        (truth.parent, truth.parent),
    ):
        pair = onnx / f"{name}.onnx", vnnlib / f"{name}.vnnlib"
        if all(path.is_file() for path in pair):
            return Claim(name, *pair, truth)
    raise BadInput(
        f"{truth}: {name}.onnx and {name}.vnnlib are not beside it; give all three files"
    )


def _said(truth: Path, key: str) -> str | None:
    """A text of a truth that may be anything."""
    try:
        if truth.stat().st_size > LARGEST_TRUTH:
            return None
        document = json.loads(truth.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    found = document.get(key) if isinstance(document, dict) else None
    return found if isinstance(found, str) else None
