"""What is finished, kept in a journal: read back only where nothing that it depends on changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import assay
from assay.judge.power.hunt import Baseline, Catch, Subject
from assay.judge.power.trial import Budget
from assay.store.row_journal import RowJournal, row_journal

_SOURCES = (
    "bounds",
    "judge/builtin",
    "judge/mutants",
    "judge/outcome.py",
    "judge/power",
    "question",
)
_OTHER = (
    "the power of another benchmark, truth, budget, seed or version; remove it or choose another "
    "`output`"
)
_PACKAGES = ("torch", "scipy", "numpy", "highspy")


class Kept:
    """Finished answers by what was asked; what is added goes to the file at once."""

    def __init__(self, journal: RowJournal, subjects: Sequence[Subject]) -> None:
        self._journal = journal
        self.baselines: dict[str, Baseline] = {}
        self.catches: dict[tuple[str, str, int], Catch] = {}
        names = {subject.name for subject in subjects}
        for line in journal.rows():
            # A line that is not whole is asked again.
            if line.get("kind") == "baseline":
                baseline = _baseline(line)
                if baseline is not None:
                    self.baselines[baseline.instance] = baseline
            elif line.get("kind") == "catch":
                catch = _catch(line)
                if catch is not None and (catch.by is None or catch.by in names):
                    self.catches[catch.key] = catch

    def add_baseline(self, found: Baseline) -> None:
        self.baselines[found.instance] = found
        self._journal.append({"kind": "baseline", **asdict(found)})

    def add_catch(self, found: Catch, *, whole: bool) -> None:
        """One that got away is written only if `whole`: if all that could catch it was asked."""
        self.catches[found.key] = found
        if whole or found.by is not None:
            self._journal.append({"kind": "catch", **asdict(found)})


@contextmanager
def open_kept(
    path: Path, benchmark: str, subjects: Sequence[Subject], budget: Budget, seed: int
) -> Iterator[Kept]:
    """A journal about these questions, truths, budget and code; another one is left alone.

    `benchmark` is the hash of the questions.
    """
    head = {
        "assay": assay.__version__,
        "code": _code_sha256(),
        "packages": {name: metadata.version(name) for name in _PACKAGES},
        "benchmark": benchmark,
        "truths": truths_sha256(subjects),
        "budget": asdict(budget),
        "seed": seed,
    }
    busy = f"{path}: another command is writing it; wait for that"
    with row_journal(path, busy) as journal:
        journal.resume(head, mark="assay", command="assay power", other=lambda _: _OTHER)
        yield Kept(journal, subjects)


def truths_sha256(subjects: Sequence[Subject]) -> str:
    """What answers are judged by, and what the columns of the matrix are."""
    stated = [(s.name, s.truth.answer, s.family) for s in subjects]
    return hashlib.sha256(json.dumps(stated).encode()).hexdigest()


def _code_sha256() -> str:
    """What answers depend on; a journal must not outlive a change of it."""
    root = Path(assay.__file__).parent
    digest = hashlib.sha256()
    for part in _SOURCES:
        place = root / part
        for file in [place] if place.is_file() else sorted(place.rglob("*.py")):
            digest.update(f"{file.relative_to(root)}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _baseline(line: Mapping[str, Any]) -> Baseline | None:
    try:
        found = Baseline(**{name: line[name] for name in Baseline.__dataclass_fields__})
        whole = isinstance(found.instance, str) and isinstance(found.seconds, int | float)
        return found if whole and isinstance(found.operators, list) else None
    except KeyError:
        return None


def _catch(line: Mapping[str, Any]) -> Catch | None:
    try:
        found = Catch(**{name: line[name] for name in Catch.__dataclass_fields__})
        hash((found.key, found.by))
        return found
    except (KeyError, TypeError):
        return None
