"""What every study shares: parts that are measured one by one and kept as they come.

    python -m studies.NAME [--device cuda] [--jobs 4] [--quick] [--images N] [-o FOLDER]

A part is a small document, and so is what is found; `FOLDER/NAME.jsonl` holds the finished parts,
with which a stopped study goes on, and `FOLDER/NAME.json` all of them at the end. What is found
does not depend on the number of jobs.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import torch

from assay.engine.processes import Processes
from assay.engine.work import Work
from assay.errors import AssayError, BadInput
from assay.store.row_journal import RowJournal, row_journal
from assay.store.whole_file import write_whole

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "audit" / "studies"

Document = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """How much a study does: `quick` tries its code, `images` caps the images a model."""

    quick: bool = False
    images: int | None = None

    def of(self, full: int, quick: int) -> int:
        wanted = quick if self.quick else full
        return wanted if self.images is None else min(wanted, self.images)


@dataclass(frozen=True)
class Row:
    """A part, what was found, and the seconds it took."""

    part: Document
    found: Document
    seconds: float


@dataclass(frozen=True)
class Study:
    """`parts` lists what is to be measured, `measure` does one of them on a device.

    `report` makes markdown of the rows and of their pictures, which it gives by file name.
    """

    name: str
    parts: Callable[[Size], list[Document]]
    measure: Callable[[Document, str], Document]
    report: Callable[[Sequence[Row]], tuple[str, dict[str, str]]]


def main(study: Study, arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m studies.{study.name}")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--jobs", type=int, default=1, help="processes at work at once")
    parser.add_argument("--quick", action="store_true", help="little of it, to try the code")
    parser.add_argument("--images", type=int, help="at most so many images a model")
    parser.add_argument("-o", "--out", type=Path, default=RESULTS, help="folder of the results")
    given = parser.parse_args(arguments)
    size = Size(given.quick, given.images)
    try:
        document = run(study, size, given.device, given.jobs, given.out)
    except AssayError as problem:
        print(problem, file=sys.stderr)
        return 2
    print(study.report(rows_of(document))[0])
    return 0


def run(study: Study, size: Size, device: str, jobs: int, folder: Path) -> Document:
    """Measure what is missing, and write the whole; with nothing missing, no device is needed."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = study.parts(size)
    asked = {"study": study.name, "device": device, "quick": size.quick}
    place = folder / f"{study.name}.jsonl"
    with row_journal(place, f"{place}: another study writes to it; wait") as journal:
        head, known = _kept(journal, asked)
        if any(_key(part) not in known for part in parts):
            here = {**asked, **machine(device)}
            if head != here:
                journal.restart(here)
                head, known = here, {}
        missing = [part for part in parts if _key(part) not in known]
        print(f"{study.name}: {len(parts)} parts, {len(missing)} to do", file=sys.stderr)
        for number, row in enumerate(_measured(study, missing, device, jobs), start=1):
            journal.append({"part": row.part, "found": row.found, "seconds": row.seconds})
            known[_key(row.part)] = row
            print(f"{number}/{len(missing)} {_key(row.part)} {row.seconds:.1f} s", file=sys.stderr)
    rows = [known[_key(part)] for part in parts]
    document = {
        **head,
        "date": date.today().isoformat(),
        "jobs": jobs,
        "images": size.images,
        "seconds": round(sum(row.seconds for row in rows), 1),
        "rows": [[row.part, row.found, round(row.seconds, 3)] for row in rows],
    }
    write_whole(folder / f"{study.name}.json", as_text(document).encode())
    return document


def rows_of(document: Document) -> list[Row]:
    return [Row(*row) for row in document["rows"]]


def as_text(document: Document) -> str:
    """JSON with a line for every row: short, and readable in a difference."""
    rows = ",\n".join(json.dumps(row) for row in document["rows"])
    head = json.dumps({k: v for k, v in document.items() if k != "rows"}, indent=1)
    return f'{head[:-2]},\n "rows": [\n{rows}\n]}}\n'


def machine(device: str) -> Document:
    on_gpu = device == "cuda"
    if on_gpu and not torch.cuda.is_available():
        raise BadInput("--device cuda: torch sees no GPU here; take cpu")
    name = torch.cuda.get_device_name() if on_gpu else f"{platform.machine()} processor"
    return {"machine": name, "torch": torch.__version__}


def chunks(wanted: int, size: int) -> Iterator[tuple[int, int]]:
    """The numbers below `wanted` in pieces [start, stop)."""
    for start in range(0, wanted, size):
        yield start, min(start + size, wanted)


def _key(part: Document) -> str:
    return json.dumps(part, sort_keys=True)


def _kept(journal: RowJournal, asked: Document) -> tuple[Document, dict[str, Row]]:
    """The head and the finished parts of a journal, if it is about what is asked."""
    head = journal.head or {}
    if not asked.items() <= head.items():
        return {}, {}
    found = {}
    for line in journal.rows():
        if {"part", "found", "seconds"} <= set(line):
            found[_key(line["part"])] = Row(line["part"], line["found"], line["seconds"])
    return head, found


def _within_memory(
    measure: Callable[[Document, str], Document], device: str, jobs: int, part: Document
) -> Document:
    """Measure a part in a fair share of the GPU's memory: what overflows is then cut smaller."""
    if device == "cuda":
        torch.cuda.set_per_process_memory_fraction(0.9 / jobs)
    return measure(part, device)


def _measured(study: Study, parts: Sequence[Document], device: str, jobs: int) -> Iterable[Row]:
    function = partial(_within_memory, study.measure, device, max(jobs, 1))
    if jobs <= 1:
        for part in parts:
            begun = time.perf_counter()
            found = function(part)
            yield Row(part, found, time.perf_counter() - begun)
        return
    for outcome in Processes(jobs).outcomes(Work(function), parts):
        yield Row(outcome.item, outcome.required(_key(outcome.item)), outcome.seconds)
