"""What `assay attack` prints: every instance, what is hidden in each family, who found what."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.attack.table import ATTACK_FILE, NO, PARTIAL, YES, AttackRow
from assay.cli.output import print_json, print_line, print_table

if TYPE_CHECKING:
    from assay.attack.attacking import Attacked


def show(found: Attacked, folder: Path | None, as_json: bool) -> None:
    target = None if folder is None else folder / ATTACK_FILE
    if as_json:
        print_json(_document(found, target))
        return
    header = ("instance", "answer", "hidden", "found by", "queries", "lowest margin", "seconds")
    print_table("attacks", header, [_cells(row) for row in found.rows])
    for line in _sentences(found, target):
        print_line(line)


def _cells(row: AttackRow) -> tuple[object, ...]:
    if row.status != "ok":
        return row.instance, row.status, "", "", "", "", ""
    lowest = min(row.margins.values(), default=math.inf)
    first, more = row.found_by[:1], len(row.found_by) - 1
    by = "".join(first) + (f" and {more} more" if more > 0 else "")
    return (
        row.instance,
        row.answer,
        row.hidden,
        by,
        str(row.queries),
        f"{lowest:.4g}",
        f"{row.seconds:.1f}",
    )


def _sentences(found: Attacked, target: Path | None) -> Iterator[str]:
    groups = dict.fromkeys(row.group for row in found.rows if row.answer == "violated")
    for group in groups if found.settings["whole"] else ():
        violated = [r for r in found.rows if r.group == group and r.answer == "violated"]
        hidden = sum(row.hidden == YES for row in violated)
        yield f"{group}: {hidden} of {len(violated)} violated instances are hidden."
    for row in found.rows:
        if row.status == "ok" and row.note not in ("", PARTIAL):
            reservation = "not called hidden; " if row.answer == "violated" else ""
            yield f"{row.instance}: {reservation}{row.note}."
    finders = Counter(name for row in found.rows if row.hidden == NO for name in row.found_by)
    if finders:
        yield "Found by: " + ", ".join(f"{n} {c}" for n, c in finders.most_common()) + "."
    robust = [row for row in found.rows if row.answer == "robust" and row.status == "ok"]
    if robust:
        yield f"{len(robust)} robust instances: nothing found that exact arithmetic confirms."
    if not found.settings["whole"]:
        yield "Only a part of the battery ran, so nothing is called hidden."
    if target is not None:
        before = f", {found.already} of them known before" if found.already else ""
        done = len(found.rows) - len(found.failed)
        yield (
            f"{target}: {done} of {len(found.rows)} attacked{before}, strength "
            f"{found.settings['strength']}."
        )


def _document(found: Attacked, target: Path | None) -> dict[str, Any]:
    return {
        "file": None if target is None else str(target),
        **found.settings,
        "instances": [asdict(row) for row in found.rows],
    }
