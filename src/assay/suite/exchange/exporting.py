"""Hand out a benchmark in the layouts of VNN-COMP: a folder for each version of VNN-LIB.

A question that is already written in the version asked for is copied byte by byte. The other
version is written anew, and what was written is read back from the disk: it must be the same set
of cases, in exact numbers, or nothing is exported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from assay.engine.processes import Jobs, outcomes_of
from assay.engine.work import Watcher, Work
from assay.errors import BadInput
from assay.question.model_file import LARGEST_FILE
from assay.suite.exchange.copying import copy, copy_network, pack
from assay.suite.exchange.flat_names import flat_stems, joined
from assay.suite.exchange.listed_files import write_list
from assay.suite.exchange.new_folder import new_folder
from assay.suite.exchange.source_list import VERSIONS
from assay.suite.exchange.versions import Question, Written, write_question
from assay.suite.folder import BenchmarkFolder, FolderEntry
from assay.suite.proved_truths import proved_truths, truth_and_arrays


@dataclass(frozen=True)
class Exported:
    """What was written; `rewritten` counts the questions of each version that are not copies."""

    folder: Path
    versions: tuple[str, ...]
    instances: int
    rewritten: dict[str, int]
    truths: int
    packed: bool


def export(
    folder: BenchmarkFolder,
    target: Path,
    *,
    versions: Sequence[str] = VERSIONS,
    packed: bool = False,
    with_truth: bool = False,
    jobs: Jobs = 1,
    watcher: Watcher | None = None,
) -> Exported:
    """Write every instance of `folder` in each version into the new folder `target`."""
    chosen = tuple(dict.fromkeys(versions))
    for version in chosen:
        if version not in VERSIONS:
            raise BadInput(f"--version {version} is not known; give {' or '.join(VERSIONS)}")
    missing = folder.without_truth() if with_truth else []
    if missing:
        raise BadInput(f"{folder.path}: {missing[0].name} has no truth; leave --with-truth out")
    if with_truth:
        proved_truths(folder, jobs=jobs)
    names = _Names.of(folder)
    with new_folder(target) as place:
        for version in chosen:
            _write_networks(folder, place / version, names, packed)
        written = _write_questions(folder, place, chosen, names, packed, jobs, watcher or Watcher())
        for version in chosen:
            rows = [(names.onnx(e), names.vnnlib(e), e.timeout) for e in folder.entries]
            write_list(place / version, rows)
        if with_truth:
            _write_truths(folder, place, names, written)
    return Exported(
        folder=target,
        versions=chosen,
        instances=len(folder.entries),
        rewritten={
            version: sum(written[e.vnnlib][version].is_new for e in folder.entries)
            for version in chosen
        },
        truths=len(folder.entries) if with_truth else 0,
        packed=packed,
    )


@dataclass(frozen=True)
class _Names:
    """Where the files of an entry go, below the folder of a version."""

    networks: Mapping[Path, str]
    questions: Mapping[Path, str]

    @classmethod
    def of(cls, folder: BenchmarkFolder) -> _Names:
        def stems(paths: Sequence[Path], suffix: str) -> dict[Path, str]:
            relative = {path.relative_to(folder.path): path for path in paths}
            return {relative[p]: stem for p, stem in flat_stems(relative, suffix).items()}

        return cls(
            stems([entry.onnx for entry in folder.entries], ".onnx"),
            stems([entry.vnnlib for entry in folder.entries], ".vnnlib"),
        )

    def onnx(self, entry: FolderEntry) -> str:
        return f"onnx/{self.networks[entry.onnx]}.onnx"

    def vnnlib(self, entry: FolderEntry) -> str:
        return f"vnnlib/{self.questions[entry.vnnlib]}.vnnlib"

    def name(self, entry: FolderEntry) -> str:
        return joined(self.onnx(entry), self.vnnlib(entry))


def _write_networks(folder: BenchmarkFolder, place: Path, names: _Names, packed: bool) -> None:
    for part in ("onnx", "vnnlib"):
        (place / part).mkdir(parents=True)
    for entry in {entry.onnx: entry for entry in folder.entries}.values():
        target = place / names.onnx(entry)
        copy_network(entry.onnx, target)
        if packed:
            pack(target)


def _write_questions(
    folder: BenchmarkFolder,
    place: Path,
    versions: Sequence[str],
    names: _Names,
    packed: bool,
    jobs: Jobs,
    watcher: Watcher,
) -> dict[Path, dict[str, Written]]:
    """Write each VNN-LIB file once, whatever number of networks it is about."""
    networks: dict[Path, list[Path]] = {}
    targets: dict[Path, tuple[tuple[str, Path], ...]] = {}
    for entry in folder.entries:
        networks.setdefault(entry.vnnlib, []).append(entry.onnx)
        name = names.vnnlib(entry)
        targets[entry.vnnlib] = tuple((version, place / version / name) for version in versions)
    questions = [
        Question(path, tuple(dict.fromkeys(asked)), targets[path], packed)
        for path, asked in networks.items()
    ]
    watcher.begin(len(questions), 0)
    found: dict[Path, dict[str, Written]] = {}
    work = Work[Question, Sequence[Written]](write_question)
    outcomes = outcomes_of(work, questions, jobs, watcher, lambda q: q.vnnlib.stem)
    with closing(outcomes):
        for outcome in outcomes:
            path = outcome.item.vnnlib
            found[path] = {written.version: written for written in outcome.required(str(path))}
            watcher.finished(path.stem, outcome.seconds)
    return found


def _write_truths(
    folder: BenchmarkFolder,
    place: Path,
    names: _Names,
    written: Mapping[Path, Mapping[str, Written]],
) -> None:
    """A truth beside each text: the certificate stands, since the question is exactly the same."""
    new_names = {entry.name: names.name(entry) for entry in folder.entries}
    for entry in folder.entries:
        truth, arrays_sha256 = truth_and_arrays(entry)
        assert entry.truth is not None
        arrays = entry.truth.with_suffix(".bin")
        twin = None if truth.twin is None else new_names.get(truth.twin)
        for version, text in written[entry.vnnlib].items():
            target = place / version / "truth" / f"{new_names[entry.name]}.json"
            target.parent.mkdir(exist_ok=True)
            bound = replace(truth, vnnlib_sha256=text.sha256, twin=twin)
            target.write_text(bound.to_json(), encoding="utf-8")
            if arrays_sha256:
                copied, _ = copy(arrays, target.with_suffix(".bin"), LARGEST_FILE)
                if copied != arrays_sha256:
                    raise BadInput(f"{arrays}: changed while it was being exported; try again")
