"""Bring in a benchmark of VNN-COMP: unpacked, in one flat layout, with where it came from.

Weights that lie beside a network are inlined, because a benchmark's networks are single files; a
network that no single file can hold is left out, and it is said.

An imported benchmark has no truth: it can be run and compared, not scored for soundness. What
Assay's own readers cannot read is imported all the same, because other tools may; it is said.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import assay
from assay.engine.processes import Jobs, outcomes_of
from assay.engine.work import Watcher, Work
from assay.errors import BadInput
from assay.question.external_data import WeightsElsewhere
from assay.question.model_file import LARGEST_FILE
from assay.suite.exchange.copying import copy, copy_network
from assay.suite.exchange.flat_names import flat_stems, joined
from assay.suite.exchange.listed_files import write_list, write_suite
from assay.suite.exchange.new_folder import new_folder
from assay.suite.exchange.readable import Network, Readability, readability
from assay.suite.exchange.source_list import (
    VERSIONS,
    LeftOut,
    SourceList,
    SourceRow,
    open_list,
)
from assay.suite.listing import SCHEMA
from assay.truth.instance import sha256

LARGEST_BENCHMARK = 64 * 2**30
"""Bytes of all unpacked files together: a list of small gzip files may stand for any number."""


@dataclass(frozen=True)
class ImportedFile:
    """A file of the imported folder, and the one that it was unpacked from."""

    path: str
    source: str
    sha256: str


@dataclass(frozen=True)
class ImportedInstance:
    """One question; `reason` says why Assay's readers cannot read it, and is empty if they can."""

    name: str
    line: int
    onnx: ImportedFile
    vnnlib: ImportedFile
    timeout: float
    version: str | None
    readable: bool
    reason: str


@dataclass(frozen=True)
class Imported:
    """What was imported, from where, and what was not taken."""

    folder: Path
    source: Path
    list_sha256: str
    instances: tuple[ImportedInstance, ...]
    repeated: tuple[LeftOut, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def unreadable(self) -> tuple[ImportedInstance, ...]:
        return tuple(instance for instance in self.instances if not instance.readable)

    @property
    def name(self) -> str:
        """What the benchmark is called: its folder, not that of a version in it."""
        folder = self.source.parent.absolute()
        return folder.parent.name if folder.name in VERSIONS else folder.name

    def document(self) -> dict[str, Any]:
        """The content of suite.json."""
        readable = len(self.instances) - len(self.unreadable)
        return {
            "schema": SCHEMA,
            "name": self.name,
            "imported": {"from": str(self.source), "list_sha256": self.list_sha256},
            "versions": {"assay": assay.__version__},
            "counts": {"instances": len(self.instances), "readable": readable},
            "instances": [asdict(instance) for instance in self.instances],
            "repeated": [asdict(row) for row in self.repeated],
            "left_out": [asdict(row) for row in self.left_out],
        }


def import_benchmark(
    path: Path,
    target: Path,
    *,
    version: str | None = None,
    jobs: Jobs = 1,
    watcher: Watcher | None = None,
) -> Imported:
    """Import the benchmark at `path` into the new folder `target`."""
    watcher = watcher or Watcher()
    listing = open_list(path, version)
    with new_folder(target) as folder:
        networks = len({row.onnx for row in listing.rows})
        questions = len({row.vnnlib for row in listing.rows})
        watcher.begin(2 * networks + questions, 0)
        files, left_out = _unpacked(listing, folder, watcher)
        taken = [row for row in listing.rows if row.onnx not in left_out]
        if not taken:
            raise next(iter(left_out.values()))
        rows, repeated = _without_repeats(taken, files)
        _remove_unused(folder, rows, files)
        found = _readabilities(folder, rows, files, jobs, watcher)
        instances = tuple(_instance(row, files, found[row.line]) for row in rows)
        imported = Imported(
            folder=target,
            source=listing.path,
            list_sha256=sha256(listing.data),
            instances=instances,
            repeated=repeated,
            left_out=(
                *listing.left_out,
                *(
                    LeftOut(row.line, str(left_out[row.onnx]))
                    for row in listing.rows
                    if row.onnx in left_out
                ),
            ),
        )
        write_list(folder, [(i.onnx.path, i.vnnlib.path, i.timeout) for i in instances])
        write_suite(folder, imported.document())
    return imported


def _unpacked(
    listing: SourceList, folder: Path, watcher: Watcher
) -> tuple[dict[Path, ImportedFile], dict[Path, WeightsElsewhere]]:
    """Copy every file that a row names, once; and say which networks cannot be had as one file."""
    files: dict[Path, ImportedFile] = {}
    left_out: dict[Path, WeightsElsewhere] = {}
    left = LARGEST_BENCHMARK
    for part, suffix in (("onnx", ".onnx"), ("vnnlib", ".vnnlib")):
        (folder / part).mkdir()
        paths = [row.onnx if part == "onnx" else row.vnnlib for row in listing.rows]
        sources = {path.relative_to(listing.folder): path for path in paths}
        for relative, stem in flat_stems(sources, suffix).items():
            begun = time.monotonic()
            watcher.started(label := f"unpack {stem}{suffix}")
            source = sources[relative]
            name = f"{part}/{stem}{suffix}"
            try:
                if part == "onnx":
                    digest, size = copy_network(source, folder / name)
                else:
                    digest, size = copy(source, folder / name, LARGEST_FILE)
            except WeightsElsewhere as error:
                (folder / name).unlink()
                left_out[source] = error
                digest, size = "", 0
            left -= size
            if left < 0:
                raise BadInput(
                    f"{listing.path}: its files hold more than {LARGEST_BENCHMARK} bytes; split it"
                )
            if source not in left_out:
                files[source] = ImportedFile(name, relative.as_posix(), digest)
            watcher.finished(label, time.monotonic() - begun)
    return files, left_out


def _without_repeats(
    rows: Sequence[SourceRow], files: Mapping[Path, ImportedFile]
) -> tuple[list[SourceRow], tuple[LeftOut, ...]]:
    """Of rows that ask the same question, by the bytes of both files, the first stays."""
    kept: dict[tuple[str, str], SourceRow] = {}
    repeated: list[LeftOut] = []
    for row in rows:
        question = files[row.onnx].sha256, files[row.vnnlib].sha256
        first = kept.setdefault(question, row)
        if first is not row:
            other = "" if first.timeout == row.timeout else f", which grants {first.timeout:g} s"
            repeated.append(LeftOut(row.line, f"asks the same as line {first.line}{other}"))
    return list(kept.values()), tuple(repeated)


def _remove_unused(
    folder: Path, rows: Sequence[SourceRow], files: Mapping[Path, ImportedFile]
) -> None:
    used = {files[path].path for row in rows for path in (row.onnx, row.vnnlib)}
    for name in {file.path for file in files.values()} - used:
        (folder / name).unlink()


def _readabilities(
    folder: Path,
    rows: Sequence[SourceRow],
    files: Mapping[Path, ImportedFile],
    jobs: Jobs,
    watcher: Watcher,
) -> dict[int, Readability]:
    """What the readers say about each row, by its line; every network is read once."""
    by_network: dict[str, list[SourceRow]] = {}
    for row in rows:
        by_network.setdefault(files[row.onnx].path, []).append(row)
    lines: dict[Network, list[int]] = {}
    for name, asked in by_network.items():
        paths = tuple(folder / files[row.vnnlib].path for row in asked)
        lines[Network(folder / name, paths)] = [row.line for row in asked]
    found: dict[int, Readability] = {}
    labels = {network: f"read {network.onnx.name}" for network in lines}
    outcomes = outcomes_of(Work(readability), list(lines), jobs, watcher, labels.__getitem__)
    with closing(outcomes):
        for outcome in outcomes:
            if outcome.error is not None:
                raise outcome.error
            network = outcome.item
            if outcome.result is None:
                died = Readability(None, f"the reader did not finish: {outcome.death}")
                found.update(dict.fromkeys(lines[network], died))
            else:
                found.update(zip(lines[network], outcome.result, strict=True))
            watcher.finished(labels[network], outcome.seconds)
    return found


def _instance(
    row: SourceRow, files: Mapping[Path, ImportedFile], found: Readability
) -> ImportedInstance:
    onnx, vnnlib = files[row.onnx], files[row.vnnlib]
    return ImportedInstance(
        name=joined(onnx.path, vnnlib.path),
        line=row.line,
        onnx=onnx,
        vnnlib=vnnlib,
        timeout=row.timeout,
        version=found.version,
        readable=not found.reason,
        reason=found.reason,
    )
