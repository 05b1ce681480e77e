"""The battery of `assay attack` on the counterexamples of a training: which of them survive it.

It writes attack.csv beside them, as the command does, and goes on where it was stopped. The record
of each network then keeps only the examples that the battery did not find.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.attack.attacking import attack_folder
from assay.attack.table import NO, YES, AttackRow, facts_of, read, read_settings
from assay.engine.work import Watcher
from assay.errors import BadInput
from assay.store.whole_file import write_whole
from assay.training.folder_parts import instance_name
from assay.truth.training.record import read as read_network


@dataclass(frozen=True)
class Battery:
    """How to run it: where, on how many processes, and who hears of it while it runs."""

    device: str
    jobs: int
    watched: Callable[[], AbstractContextManager[Watcher]]


@dataclass(frozen=True)
class Survivors:
    """How many counterexamples of each network the battery did not find.

    None where only a part of it ran, since then nothing is hidden from it; `facts` says what ran.
    """

    counts: Mapping[str, int | None]
    facts: Mapping[str, Any]


def still_to_run(facts: object) -> bool:
    """Whether the battery has more to say than what it left in a summary."""
    from assay.attack.battery import Budget

    return not isinstance(facts, dict) or (not facts.get("whole") and Budget().whole)


def survivors(violated: Path, networks: Path, names: Sequence[str], battery: Battery) -> Survivors:
    """Attack the benchmark `violated`, unless that is done; strike out what was found."""
    rows, facts = _known(violated) or _attacked(violated, battery)
    counts: dict[str, int | None] = {}
    for name in names:
        record = read_network(networks / f"{name}.onnx")
        mine = {place: rows.get(instance_name(name, place)) for place in record.kept}
        kept = tuple(p for p, row in mine.items() if row is None or row.hidden != NO)
        struck = replace(record, kept=kept, facts={**record.facts, "battery": facts})
        write_whole(networks / f"{name}.json", struck.document())
        hidden = sum(row is not None and row.hidden == YES for row in mine.values())
        counts[name] = hidden if facts["whole"] else None
    return Survivors(counts, facts)


def _attacked(violated: Path, battery: Battery) -> tuple[dict[str, AttackRow], dict[str, Any]]:
    from assay.attack.battery import Budget

    with battery.watched() as watcher:
        done = attack_folder(violated, Budget(), battery.device, battery.jobs, watcher)
    return {row.instance: row for row in done.rows}, facts_of(done.settings)


def _known(violated: Path) -> tuple[dict[str, AttackRow], dict[str, Any]] | None:
    """A table of the whole battery, at whatever strength, that is there already."""
    facts = read_settings(violated)
    if facts is None or not facts["whole"]:
        return None
    try:
        return read(violated), facts
    except BadInput:
        return None
