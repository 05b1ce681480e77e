"""Results that others published: a results.csv of VNN-COMP, matched to a benchmark folder.

A row is `category,network,property,prepare_time,result,run_time`, without header. Its paths are
those of the machine that ran it, so a row belongs to the instance whose two files have the same
names (a folder holds no two such). Rows of other benchmarks are left out. Beside the file may lie
`NETWORK_PROPERTY.counterexample`, gzip-ed or not: that witness is then validated.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from assay.errors import BadInput
from assay.judge.answers import (
    LARGEST_RESULT,
    ROBUST_WORDS,
    TIMEOUT_WORDS,
    UNKNOWN_WORDS,
    VIOLATED_WORDS,
    is_error,
    read_witness,
)
from assay.judge.results import Result
from assay.judge.task import Ending, Verdict
from assay.judge.verifier import Garbled
from assay.judge.witness import classify_files
from assay.question.model_file import question_sha256
from assay.suite.folder import BenchmarkFolder, FolderEntry

LARGEST_TABLE = 256 * 1024 * 1024
_FIELDS = 6


@dataclass(frozen=True)
class ImportedResults:
    """The results of a benchmark's instances; `left_out` counts rows of other benchmarks."""

    results: tuple[Result, ...]
    left_out: int


@dataclass(frozen=True)
class _Row:
    network: PurePosixPath
    property: PurePosixPath
    word: str
    seconds: float


def read_vnncomp_results(
    path: Path, folder: BenchmarkFolder, verifier: str | None = None, version: str = "published"
) -> ImportedResults:
    """Read a results.csv; the verifier is named after the folder it lies in unless given."""
    name = verifier or (path.parent.name if path.stem == "results" else path.stem) or "imported"
    instances = _Instances(folder)
    seen: dict[str, int] = defaultdict(int)
    results: list[Result] = []
    left_out = 0
    for row in _rows(path):
        entry = instances.find(row)
        if entry is None:
            left_out += 1
            continue
        result = _result(row, entry, instances.hashes(entry), name, version, seen[entry.name])
        seen[entry.name] += 1
        if result.verdict == "violated":
            result = _with_witness(result, entry, _witness_beside(path.parent, row))
        results.append(result)
    if not results:
        raise BadInput(
            f"{path}: none of its {left_out} rows is about an instance of {folder.path}; give the "
            "results of that benchmark"
        )
    return ImportedResults(tuple(results), left_out)


class _Instances:
    """The instances of a folder, found by the names of the two files in a row."""

    def __init__(self, folder: BenchmarkFolder) -> None:
        self._hashes: dict[Path, str] = {}
        self._by_names = {
            (_plain(entry.onnx.name), _plain(entry.vnnlib.name)): entry for entry in folder.entries
        }

    def find(self, row: _Row) -> FolderEntry | None:
        return self._by_names.get((_plain(row.network.name), _plain(row.property.name)))

    def hashes(self, entry: FolderEntry) -> tuple[str, str]:
        return self._hash(entry.onnx), self._hash(entry.vnnlib)

    def _hash(self, path: Path) -> str:
        if path not in self._hashes:
            self._hashes[path] = question_sha256(path)
        return self._hashes[path]


def _plain(name: str) -> str:
    return name.removesuffix(".gz")


def _rows(path: Path) -> Iterator[_Row]:
    try:
        with path.open("rb") as stream:
            data = stream.read(LARGEST_TABLE + 1)
        text = data.decode("utf-8")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); check the file") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: not UTF-8 text; give a results.csv of VNN-COMP") from None
    if len(data) > LARGEST_TABLE:
        raise BadInput(f"{path}: larger than {LARGEST_TABLE} bytes; split the file")
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                yield _row(fields, f"{path}:{reader.line_num}")
    except csv.Error as error:
        raise BadInput(f"{path}:{reader.line_num}: {error}; correct the row") from None


def _row(fields: Sequence[str], place: str) -> _Row:
    if len(fields) != _FIELDS:
        raise BadInput(
            f"{place}: has {len(fields)} fields; write category,network,property,prepare_time,"
            "result,run_time without header"
        )
    _, network, spec, prepare, word, run = (field.strip() for field in fields)
    _seconds(prepare, place)
    return _Row(PurePosixPath(network), PurePosixPath(spec), word.lower(), _seconds(run, place))


def _seconds(text: str, place: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise BadInput(f"{place}: {text[:40]!r} is not a number of seconds; correct it")
    return seconds


def _result(
    row: _Row,
    entry: FolderEntry,
    hashes: tuple[str, str],
    verifier: str,
    version: str,
    repeat: int,
) -> Result:
    ending, verdict = _meaning(row.word)
    return Result(
        instance=entry.name,
        verifier=verifier,
        version=version,
        verdict=verdict,
        ending=ending,
        wall_s=row.seconds,
        cpu_s=0.0,
        memory_mb=0.0,
        repeat=repeat,
        onnx_sha256=hashes[0],
        vnnlib_sha256=hashes[1],
        detail="" if ending == "answered" else row.word[:80],
    )


def _meaning(word: str) -> tuple[Ending, Verdict | None]:
    """A whole word or nothing: what is not in the vocabulary is garbled."""
    if word in ROBUST_WORDS:
        return "answered", "robust"
    if word in VIOLATED_WORDS:
        return "answered", "violated"
    if word in UNKNOWN_WORDS:
        return "answered", "unknown"
    if word in TIMEOUT_WORDS:
        return "timeout", None
    return ("crashed" if is_error(word) else "garbled"), None


def _witness_beside(folder: Path, row: _Row) -> Path | None:
    stem = f"{PurePosixPath(_plain(row.network.name)).stem}_"
    stem += PurePosixPath(_plain(row.property.name)).stem
    for name in (f"{stem}.counterexample", f"{stem}.counterexample.gz"):
        if (folder / name).is_file():
            return folder / name
    return None


def _with_witness(result: Result, entry: FolderEntry, path: Path | None) -> Result:
    """The result with the class of its witness; without a file nobody can tell."""
    if path is None:
        return result
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            text = stream.read(LARGEST_RESULT + 1).decode("ascii")
        witness, _ = read_witness(text)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, Garbled) as error:
        detail = f"{path.name}: {error}"[:200]
        return replace(result, witness_class="missing", detail=detail)
    report = classify_files(entry.onnx, entry.vnnlib, witness)
    return replace(result, witness=witness, witness_class=report.witness_class)
