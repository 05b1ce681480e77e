"""Put sealed questions and their truths together again, when every hash is right."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import assay
from assay.engine.work import Watcher
from assay.errors import BadInput
from assay.question.model_file import LARGEST_FILE
from assay.store.file_hash import file_sha256
from assay.suite.build_journal import INSTANCES_FILE, PARTS
from assay.suite.exchange.archive import (
    COMMITMENT_FILE,
    Index,
    read_commitment,
    unpack_archive,
)
from assay.suite.exchange.copying import copy
from assay.suite.exchange.listed_files import write_suite
from assay.suite.exchange.new_folder import new_folder
from assay.suite.folder import BenchmarkFolder
from assay.suite.listing import SCHEMA as SUITE_SCHEMA
from assay.suite.proved_truths import proved_truths
from assay.truth.record import parse_truth

_NAME = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True)
class Unsealed:
    """A complete benchmark folder, and the commitment that it kept."""

    folder: Path
    truths_sha256: str
    instances: int


def unseal(questions: Path, truths: Path, target: Path, watcher: Watcher | None = None) -> Unsealed:
    """Write the benchmark of these two parts into the new folder `target`.

    A commitment says that nothing was changed, not that it was true: the checker verifies all.
    """
    commitment = read_commitment(questions / COMMITMENT_FILE)
    if file_sha256(truths, "check the file") != commitment.truths_sha256:
        raise BadInput(
            f"{truths}: is not the archive that {questions / COMMITMENT_FILE} commits to; one of "
            "the two was changed"
        )
    with new_folder(target) as place:
        for part in PARTS:
            (place / part).mkdir()
        index = unpack_archive(truths, place / "truth")
        if index.files != commitment.files or len(index.names) != commitment.instances:
            raise BadInput(
                f"{questions / COMMITMENT_FILE}: lists other questions than were sealed; it was "
                "changed"
            )
        _require_whole(index, place / "truth", truths)
        for name, expected in index.files.items():
            digest, _ = copy(questions / name, place / name, LARGEST_FILE)
            if digest != expected:
                raise BadInput(f"{questions / name}: was changed after it was sealed; restore it")
        document = {
            "schema": SUITE_SCHEMA,
            "unsealed": {"truths_sha256": commitment.truths_sha256, "names": index.names},
            "versions": {"assay": assay.__version__},
            "sealed": index.suite,
        }
        write_suite(place, document)
        try:
            proved_truths(BenchmarkFolder.open(place), watcher=watcher)
        except BadInput as error:
            raise BadInput(str(error).replace(str(place / "truth"), f"{truths}, truth")) from None
    return Unsealed(target, commitment.truths_sha256, len(index.names))


def _require_whole(index: Index, folder: Path, truths: Path) -> None:
    """Refuse an archive whose truths are not about exactly the questions it lists."""
    expected = {INSTANCES_FILE}
    for name in index.names:
        pair = f"onnx/{name}.onnx", f"vnnlib/{name}.vnnlib"
        path, place = folder / f"{name}.json", f"{truths}, truth/{name}.json"
        if not _NAME.fullmatch(name) or not path.is_file():
            raise BadInput(f"{place}: is missing; give the sealed truths")
        truth = parse_truth(path.read_bytes(), place)
        if [truth.onnx_sha256, truth.vnnlib_sha256] != [index.files.get(file) for file in pair]:
            raise BadInput(f"{place}: is about other bytes than were sealed; give another archive")
        expected.update(pair)
    strays = {path.stem for path in folder.iterdir()} - set(index.names)
    if expected != set(index.files) or strays:
        raise BadInput(f"{truths}: its truths and its questions do not match; give another archive")
