"""Split a benchmark into questions to publish and truths to keep.

The questions get neutral names in a random order that only the kept archive knows, no date, and
nothing that says what built them. Their bytes stay, since the truths are bound to them. All is
verified by the checker first: a commitment to a wrong answer could not be taken back.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import assay
from assay.engine.processes import Jobs
from assay.engine.work import Watcher
from assay.errors import BadInput
from assay.question.model_file import LARGEST_FILE
from assay.suite.build_journal import INSTANCES_FILE, SUITE_FILE
from assay.suite.exchange.archive import (
    COMMITMENT_FILE,
    SCHEMA,
    TRUTHS_FILE,
    Commitment,
    Index,
    write_archive,
)
from assay.suite.exchange.copying import copy
from assay.suite.exchange.listed_files import write_list
from assay.suite.exchange.new_folder import new_folder
from assay.suite.exchange.telltales import Published, Telltale, telltales
from assay.suite.folder import BenchmarkFolder, FolderEntry
from assay.suite.proved_truths import entry_truth, proved_truths
from assay.suite.spec import bundled_suites, load_suite
from assay.truth.instance import sha256
from assay.truth.record import Truth

QUESTIONS = "questions"
_NO_DATE = 315_532_800
"""1980-01-01, for every published file: when an instance was built is nobody's business."""


@dataclass(frozen=True)
class Sealed:
    """What was sealed, and what a careful owner should know about it."""

    questions: Path
    truths: Path
    truths_sha256: str
    instances: int
    dropped: int
    warnings: tuple[str, ...]


def seal(
    folder: BenchmarkFolder,
    target: Path,
    *,
    one_of_twins: bool = False,
    allow_telltales: bool = False,
    jobs: Jobs = 1,
    watcher: Watcher | None = None,
    chance: Random | None = None,
) -> Sealed:
    """Seal `folder` into the new folder `target`; `chance` decides names, order and twins."""
    chance = chance or secrets.SystemRandom()
    missing = folder.without_truth()
    if missing:
        raise BadInput(f"{folder.path}: {missing[0].name} has no truth; there is nothing to seal")
    suite = _suite(folder.path)
    with new_folder(target) as place:
        proved_truths(folder, watcher=watcher, jobs=jobs)
        truths = {entry.name: entry_truth(entry) for entry in folder.entries}
        kept = _one_of_twins(folder.entries, truths, chance) if one_of_twins else folder.entries
        found = telltales(_published(entry, truths[entry.name]) for entry in kept)
        if found and not allow_telltales:
            raise BadInput(
                f"{found[0].sentence()}; build the benchmark without it, or give --allow-telltales"
            )
        named = _named(kept, chance)
        files = _write_questions(place / QUESTIONS, named, truths)
        index = Index(
            schema=SCHEMA,
            nonce=secrets.token_hex(32),
            files=files,
            names={new: entry.name for new, entry in named.items()},
            suite=suite,
        )
        digest = write_archive(place / TRUTHS_FILE, index, _truth_files(named, truths))
        commitment = Commitment(SCHEMA, assay.__version__, len(named), digest, files)
        (place / QUESTIONS / COMMITMENT_FILE).write_text(commitment.to_json(), encoding="utf-8")
        _remove_dates(place / QUESTIONS)
    return Sealed(
        questions=target / QUESTIONS,
        truths=target / TRUTHS_FILE,
        truths_sha256=digest,
        instances=len(named),
        dropped=len(folder.entries) - len(kept),
        warnings=_warnings(found, suite, kept, truths),
    )


def _published(entry: FolderEntry, truth: Truth) -> Published:
    onnx, vnnlib = entry.onnx.read_bytes(), entry.vnnlib.read_bytes()
    return Published(entry.name, truth.answer, onnx, vnnlib, entry.timeout)


def _one_of_twins(
    entries: Sequence[FolderEntry], truths: Mapping[str, Truth], chance: Random
) -> tuple[FolderEntry, ...]:
    """Of each two instances that name each other, one, by the toss of a coin."""
    dropped: set[str] = set()
    for entry in entries:
        twin = truths[entry.name].twin
        if twin is None or twin not in truths or dropped & {entry.name, twin}:
            continue
        if truths[twin].twin == entry.name != twin:
            dropped.add(chance.choice((entry.name, twin)))
    return tuple(entry for entry in entries if entry.name not in dropped)


def _named(entries: Sequence[FolderEntry], chance: Random) -> dict[str, FolderEntry]:
    """Neutral names, in whose order the questions are listed."""
    order = list(entries)
    chance.shuffle(order)
    width = len(str(len(order)))
    return {f"q{number:0{width}}": entry for number, entry in enumerate(order, 1)}


def _write_questions(
    place: Path, named: Mapping[str, FolderEntry], truths: Mapping[str, Truth]
) -> dict[str, str]:
    """Write the files to publish; return their hashes."""
    for part in ("onnx", "vnnlib"):
        (place / part).mkdir(parents=True)
    files: dict[str, str] = {}
    rows: list[tuple[str, str, float]] = []
    for name, entry in named.items():
        truth = truths[entry.name]
        pair = f"onnx/{name}.onnx", f"vnnlib/{name}.vnnlib"
        for target, source, expected in zip(
            pair,
            (entry.onnx, entry.vnnlib),
            (truth.onnx_sha256, truth.vnnlib_sha256),
            strict=True,
        ):
            files[target], _ = copy(source, place / target, LARGEST_FILE)
            if files[target] != expected:
                raise BadInput(f"{source}: changed while it was being sealed; try again")
        rows.append((*pair, entry.timeout))
    files[INSTANCES_FILE] = sha256(write_list(place, rows))
    return files


def _truth_files(
    named: Mapping[str, FolderEntry], truths: Mapping[str, Truth]
) -> dict[str, bytes | Path]:
    """The truths under their new names, with the new names of their twins."""
    new_names = {entry.name: name for name, entry in named.items()}
    kept: dict[str, bytes | Path] = {}
    for name, entry in named.items():
        truth = truths[entry.name]
        twin = None if truth.twin is None else new_names.get(truth.twin)
        kept[f"{name}.json"] = replace(truth, twin=twin).to_json().encode()
        assert entry.truth is not None
        arrays = entry.truth.with_suffix(".bin")
        if arrays.is_file():
            kept[f"{name}.bin"] = arrays
    return kept


def _remove_dates(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (_NO_DATE, _NO_DATE))


def _suite(folder: Path) -> dict[str, Any] | None:
    """What built the folder; kept with the truths, because it says how to build them again."""
    path = folder / SUITE_FILE
    if not path.is_file():
        return None
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise BadInput(f"{path}: not readable as JSON; rebuild the benchmark")
    return document


def _warnings(
    found: Sequence[Telltale],
    suite: Mapping[str, Any] | None,
    kept: Sequence[FolderEntry],
    truths: Mapping[str, Truth],
) -> tuple[str, ...]:
    warnings = [telltale.sentence() for telltale in found]
    text = (suite or {}).get("suite")
    if text in [load_suite(name).text for name in bundled_suites()]:
        warnings.append(
            "it was built from a bundled suite, so whoever tries its seeds can build the answers "
            "again; seal a suite of your own that you keep secret"
        )
    names = {entry.name for entry in kept}
    if any(truths[entry.name].twin in names for entry in kept):
        warnings.append(
            "it holds twins, which can be told by their likeness, and one of two is violated; "
            "--one-of-twins publishes only one of each"
        )
    return tuple(warnings)
