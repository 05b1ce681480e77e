"""What `assay count` prints."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from assay import __version__
from assay.analyse.count.counting import ENDINGS, Counted
from assay.analyse.count.settings import Settings
from assay.analyse.count.undecided import Sampled
from assay.cli.exact_numbers import exact_number, rounded_decimal
from assay.cli.output import print_json, print_line, told_progress
from assay.question.network import Network
from assay.question.property import Case
from assay.store.file_hash import file_sha256


@dataclass(frozen=True)
class Answer:
    """What was proved of one case, and what its samples add."""

    case: Case
    counted: Counted
    sampled: Sampled | None


@contextmanager
def counting_progress(number: int, cases: int) -> Iterator[Callable[[Counted], None]]:
    """The bounds so far, on stderr."""
    which = f"count {number}/{cases}" if cases > 1 else "count"
    with told_progress(which) as say:

        def heard(so_far: Counted) -> None:
            boxes = _number(so_far.boxes, "box", "boxes")
            say(f"gap {float(so_far.gap):.2g} after {boxes}, {so_far.seconds:.0f} s")

        yield heard


def show_counts(
    network: Network,
    vnnlib: Path,
    settings: Settings,
    answers: Sequence[Answer],
    cases: int,
    as_json: bool,
) -> None:
    if as_json:
        print_json(_document(network, vnnlib, settings, answers, cases))
        return
    for number, answer in enumerate(answers, start=1):
        if cases > 1:
            print_line(f"box {number} of {cases}:")
        _print_answer(answer, settings, cases)
    if len(answers) < cases:
        print(f"assay: stopped before box {len(answers) + 1} of {cases}", file=sys.stderr)


def _print_answer(answer: Answer, settings: Settings, cases: int) -> None:
    found, sampled = answer.counted, answer.sampled
    low, high = rounded_decimal(found.lower, down=True), rounded_decimal(found.upper, down=False)
    print_line(f"violation rate in [{low}, {high}], proved")
    print_line(
        f"gap {float(found.gap):.2g}; {_number(found.boxes, 'box', 'boxes')} in "
        f"{found.seconds:.1f} s of counting; {_ending(found, settings, cases)}"
    )
    if found.undecided:
        cells, verb = (
            _number(found.undecided, "cell", "cells"),
            "is" if found.undecided == 1 else "are",
        )
        share = float(found.undecided_share)
        print_line(f"{cells}, {share:.3g} of the box, {verb} not fully decided")
    if sampled is not None:
        low = rounded_decimal(sampled.lower, down=True)
        high = rounded_decimal(sampled.upper, down=False)
        points = _number(sampled.samples, "random point", "random points")
        print_line(
            f"violation rate in [{low}, {high}] with probability {sampled.confidence:g}, by "
            f"{points} of {'that cell' if found.undecided == 1 else 'those cells'} "
            f"(seed {sampled.seed})"
        )
        if sampled.samples < sampled.asked:
            print_line(f"the time was too short for all {sampled.asked:,} points")


def _ending(found: Counted, settings: Settings, cases: int) -> str:
    """Why it ended; the time is for more than the counting of this box, so say for what."""
    if found.ending != "time":
        return ENDINGS[found.ending]
    covered = ["start-up"]
    covered += [f"all {cases} boxes of the file"] if cases > 1 else []
    covered += ["sampling"] if settings.samples else []
    listed = " and ".join([", ".join(covered[:-1]), covered[-1]] if covered[1:] else covered)
    return f"{ENDINGS['time']} ({settings.seconds:g} s with {listed})"


def _number(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"


def _document(
    network: Network, vnnlib: Path, settings: Settings, answers: Sequence[Answer], cases: int
) -> dict[str, Any]:
    return {
        "assay": __version__,
        "torch": torch.__version__,
        "onnx": network.place,
        "onnx_sha256": network.sha256,
        "vnnlib": str(vnnlib),
        "vnnlib_sha256": file_sha256(vnnlib),
        "settings": asdict(settings),
        "cases": cases,
        "counts": [_counted(answer) for answer in answers],
    }


def _counted(answer: Answer) -> dict[str, Any]:
    found, sampled, box = answer.counted, answer.sampled, answer.case.box
    document: dict[str, Any] = {
        "box": {"lower": [str(v) for v in box.lower], "upper": [str(v) for v in box.upper]},
        "lower": exact_number(found.lower, down=True),
        "upper": exact_number(found.upper, down=False),
        "gap": float(found.gap),
        "ending": found.ending,
        "boxes": found.boxes,
        "undecided_cells": found.undecided,
        "undecided_share": float(found.undecided_share),
        "seconds": found.seconds,
        "cpu_seconds": found.cpu_seconds,
        "sampled": None,
    }
    if sampled is not None:
        document["sampled"] = {
            **asdict(sampled),
            "lower": exact_number(sampled.lower, down=True),
            "upper": exact_number(sampled.upper, down=False),
        }
    return document
