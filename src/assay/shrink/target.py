"""The folder that is handed on: a benchmark of one instance, and REPRODUCE.md.

It is new, or one that an earlier command made about the same answer: then what is smaller takes its
place, and what somebody else put there is never lost.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import AssayError, BadInput
from assay.proof.checker import check
from assay.shrink.draft import Draft
from assay.shrink.proving import FAMILY
from assay.shrink.reproducer import Reproducer, text
from assay.shrink.size import measure
from assay.shrink.wrong_answer import WrongAnswer
from assay.store.whole_file import writing
from assay.suite.build_journal import INSTANCES_FILE, PARTS, SUITE_FILE, Plan, open_journal
from assay.suite.exchange.new_folder import new_folder, refuse_taken
from assay.suite.listing import document, row, versions
from assay.truth.instance import Instance

REPRODUCE = "REPRODUCE.md"
_OURS = {*PARTS, INSTANCES_FILE, SUITE_FILE, REPRODUCE}


@dataclass(frozen=True)
class Target:
    """`earlier` is the question that the folder holds already."""

    path: Path
    run: Path
    earlier: Draft | None

    def write(self, made: Reproducer) -> bool:
        """Write the folder, whole or not at all; False where an earlier one is as good."""
        if self.earlier is not None:
            before, now = measure(self.earlier), measure(made.best.draft)
            if before < now or (before == now and not made.confirmation.times):
                return False
        _refuse_unverified(made.best.instance)
        if self.earlier is None:
            self._write_new(self.path, made)
            return True
        new, old = (
            self.path.parent / f".{self.path.name[:100]}.{secrets.token_hex(8)}" for _ in range(2)
        )
        self._write_new(new, made)
        try:
            with writing(self.path):
                self.path.rename(old)
                new.rename(self.path)
        finally:
            if old.exists() and not self.path.exists():
                old.rename(self.path)
            for left in (new, old):
                shutil.rmtree(left, ignore_errors=True)
        return True

    def _write_new(self, path: Path, made: Reproducer) -> None:
        wrong, instance = made.confirmation.wrong, made.best.instance
        plan = Plan(json.dumps(_asked(wrong, self.run)), 0, versions())
        with new_folder(path) as folder:
            with open_journal(folder, plan) as journal:
                journal.begin()
                record = journal.store(instance.name, FAMILY, 0, 0.0, [instance], ())
                rows = [row(one, wrong.timeout_s) for one in record.instances]
                journal.finish(rows, document(FAMILY, plan, [record], {}), complete=True)
            (folder / REPRODUCE).write_text(text(made), encoding="utf-8")


def open_target(path: Path, run: Path, wrong: WrongAnswer) -> Target:
    """The place for the reproducer, tried out; BadInput where it cannot be written."""
    place = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links
    earlier = _earlier(place, _asked(wrong, run), wrong.entry.name)
    if earlier is None:
        refuse_taken(path)
    probe = place.parent / f".{place.name[:100]}.{secrets.token_hex(8)}"
    with writing(path):
        place.parent.mkdir(parents=True, exist_ok=True)
        probe.mkdir()
        probe.rmdir()
    return Target(place, run, earlier)


def _asked(wrong: WrongAnswer, run: Path) -> dict[str, str]:
    return {
        "shrink": wrong.entry.name,
        "run": str(run.absolute()),
        "verifier": wrong.result.verifier,
        "version": wrong.result.version,
        "outcome": wrong.outcome,
        "onnx_sha256": wrong.truth.onnx_sha256,
        "vnnlib_sha256": wrong.truth.vnnlib_sha256,
    }


def _earlier(place: Path, asked: dict[str, str], name: str) -> Draft | None:
    """What an earlier command left of the same answer; None where the folder is not such a one."""
    if place.is_symlink() or not (place / REPRODUCE).is_file():
        return None
    try:
        suite: Any = json.loads(json.loads((place / SUITE_FILE).read_bytes())["suite"])
        same = {**suite, "run": ""} == {**asked, "run": ""}
        onnx, vnnlib = (
            (place / part / f"{name}.{part}").read_bytes() for part in ("onnx", "vnnlib")
        )
        draft = Draft(onnx, vnnlib, ())
        measure(draft)
    except (OSError, ValueError, KeyError, TypeError, AssayError):
        return None
    if not same:
        return None
    more = sorted({found.name for found in place.iterdir()} - _OURS)
    if more:
        raise BadInput(
            f"{place}: holds what `assay shrink` did not put there ({more[0]}), so it is not "
            "replaced; move that away, or choose a new folder with --output"
        )
    return draft


def _refuse_unverified(instance: Instance) -> None:
    truth = instance.truth.to_json().encode()
    verdict = check(instance.onnx, instance.vnnlib, truth, instance.arrays)
    if verdict.status != "verified":
        raise BadInput(
            f"{instance.name}: the checker does not verify what was left of it ({verdict.reason}), "
            "so nothing is written; report this as a defect of Assay"
        )
