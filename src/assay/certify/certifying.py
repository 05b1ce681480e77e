"""Certify a ReLU network that a person brings, and write what is proven as a benchmark folder.

The search runs in a child process, single-threaded like every build, so that the same request
gives the same bytes and can be stopped at once. The folder is begun only when the proofs are
there: a request that is refused or stopped leaves nothing behind.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import ClassVar, cast

from pydantic import ValidationError

from assay.certify.proved_radius import CertifiedInstance, proved_radius
from assay.engine.processes import outcomes_of
from assay.engine.work import Watcher, Work
from assay.errors import BadInput, CannotCertify, Unsupported
from assay.store.kept_verdicts import KeptVerdicts
from assay.suite.build_journal import Plan, open_journal
from assay.suite.listing import document, row, versions
from assay.suite.spec import MAX_SEED, describe
from assay.suite.verified import keep_verified, require_verified
from assay.truth.certified_radius import Solver
from assay.truth.exact_radius import FAMILY, ExactRadiusKnobs, from_onnx, with_closest
from assay.truth.instance import Instance, sha256

MAX_TIMEOUT = 10_000_000
_OPTIONS = {"fractions": "--fraction", "solver": "--solver", "nodes": "--nodes"}
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class Request:
    """What is asked: a network by its bytes, a centre, and how to search."""

    place: str
    onnx: bytes
    centre: tuple[Fraction, ...]
    fractions: tuple[float, ...]
    solver: str
    nodes: int
    seed: int
    timeout: float

    @property
    def name(self) -> str:
        """The file's stem as names of instances may begin."""
        stem = _NOT_IN_NAMES.sub("-", Path(self.place).stem).lstrip("_.-")
        return stem[:64] or "network"

    def text(self) -> str:
        """All that decides the folder's content, except the seed."""
        asked = {
            "certify": self.name,
            "onnx_sha256": sha256(self.onnx),
            "centre": [str(value) for value in self.centre],
            "fractions": self.fractions,
            "solver": self.solver,
            "nodes": self.nodes,
            "timeout": self.timeout,
        }
        return json.dumps(asked)

    def check(self) -> None:
        """Refuse options that no network could be certified with."""
        for fraction in self.fractions:
            if self.fractions.count(fraction) > 1:
                raise BadInput(f"--fraction {fraction} is given twice; drop one")
        try:
            ExactRadiusKnobs.model_validate(
                {"fractions": self.fractions, "solver": self.solver, "nodes": self.nodes}
            )
        except ValidationError as error:
            problem = error.errors()[0]
            option = _OPTIONS[str(problem["loc"][0])]
            raise BadInput(f"{option} {describe(problem)}; correct it") from None
        if not 0 <= self.seed <= MAX_SEED:
            raise BadInput(f"--seed {self.seed} is not between 0 and {MAX_SEED}; choose another")
        if not 0 < self.timeout <= MAX_TIMEOUT:
            raise BadInput(
                f"--timeout {self.timeout} is not a number of seconds above 0 and at most "
                f"{MAX_TIMEOUT}; correct it"
            )


class RequestPlan(Plan):
    """A plan whose text is a request, and is called so when it differs."""

    text_is: ClassVar[str] = "network, centre or option"


@dataclass(frozen=True)
class Certified:
    """What the folder proves: the minimal adversarial radius is above `lower`, at most `upper`.

    `moved` is the largest distance between a coordinate of the centre and the one asked about.
    """

    folder: Path
    name: str
    lower: Fraction
    upper: Fraction
    moved: Fraction
    instances: tuple[CertifiedInstance, ...]
    already: bool
    seconds: float


def certify(request: Request, folder: Path, watcher: Watcher | None = None) -> Certified:
    """Prove what is asked and write it to `folder`, unless it lies there already."""
    begun = time.monotonic()
    request.check()
    plan = RequestPlan(request.text(), request.seed, versions())
    with _left_as_found(folder), open_journal(folder, plan) as journal:
        already = journal.complete() is not None
        if not already:
            journal.refuse_unfinished_other()
            instances = _proven(request, watcher or Watcher())
            seconds = time.monotonic() - begun
            journal.begin()
            record = journal.store(request.name, FAMILY, request.seed, seconds, instances, ())
            rows = [row(made, request.timeout) for made in record.instances]
            journal.finish(rows, document(request.name, plan, [record], {}), complete=True)
            keep_verified(instances, KeptVerdicts())
    return _certified(request, folder, already, round(time.monotonic() - begun, 3))


def certified_instances(request: Request) -> tuple[Instance, ...]:
    """Run the search and name what it proves (in a worker)."""
    try:
        made = from_onnx(
            request.onnx,
            request.place,
            request.centre,
            fractions=request.fractions,
            solver=cast(Solver, request.solver),
            nodes=request.nodes,
            seed=request.seed,
        )
    except (BadInput, Unsupported) as error:
        named_place = str(error).startswith(request.place)
        raise BadInput(f"{'' if named_place else request.place + ': '}{error}") from None
    named: dict[bytes, Instance] = {}
    for instance in made:
        fraction = instance.truth.parameters["fraction"]
        same = named.get(instance.vnnlib)
        if same is not None:
            raise BadInput(
                f"--fraction {fraction} asks about the same box as {same.name}; drop one of them"
            )
        stem = f"{request.name}-f{fraction}"
        answer = instance.truth.answer
        other = "violated" if answer == "robust" else "robust"
        named[instance.vnnlib] = instance.renamed(f"{stem}-{answer}", f"{stem}-{other}")
        require_verified(named[instance.vnnlib])
    return tuple(named.values())


def _proven(request: Request, watcher: Watcher) -> tuple[Instance, ...]:
    watcher.begin(1, 0)
    outcomes = outcomes_of(Work(certified_instances), [request], 1, watcher, lambda r: r.name)
    with closing(outcomes):
        outcome = next(outcomes)
    if outcome.error is not None:
        raise outcome.error
    if outcome.result is None:
        raise CannotCertify(f"{request.place}: the search did not finish: {outcome.death}")
    watcher.finished(request.name, outcome.seconds)
    return outcome.result


@contextmanager
def _left_as_found(folder: Path) -> Iterator[None]:
    """Remove a folder again that was made for a request which came to nothing."""
    is_new = not folder.exists()
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise


def _certified(request: Request, folder: Path, already: bool, seconds: float) -> Certified:
    """Say what the files in the folder prove, so that the report and they cannot differ."""
    answers = ("robust", "violated")
    asked = [
        (f"{request.name}-f{fraction}-{answer}", fraction)
        for fraction in with_closest(request.fractions)
        for answer in answers
    ]
    proved = proved_radius(folder, sha256(request.onnx), asked)
    moved = (abs(m - c) for m, c in zip(proved.centre, request.centre, strict=True))
    return Certified(
        folder=folder,
        name=request.name,
        lower=proved.lower,
        upper=proved.upper,
        moved=max(moved),
        instances=proved.instances,
        already=already,
        seconds=seconds,
    )
