"""What `assay calibrate --power` prints and writes: who was caught, by what."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from assay.analyse.calibration.known import Effort
from assay.analyse.calibration.power import Catch
from assay.cli.output import print_json, print_line, print_table
from assay.store.whole_file import write_whole

DOCUMENT = "calibration-power.json"
_HEADER = ("broken analyser", "caught by", "what it was accused of")


def show_power(found: Sequence[Catch], effort: Effort, folder: Path, as_json: bool) -> None:
    document = {
        "effort": asdict(effort),
        "caught": sum(one.caught for one in found),
        "broken": [{**asdict(one), "caught": one.caught} for one in found],
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / DOCUMENT, (json.dumps(document, indent=1) + "\n").encode())
    if as_json:
        print_json({"folder": str(folder), **document})
        return
    rows = [(one.name, one.ground or "nobody", one.said or one.story) for one in found]
    print_table("analysers broken on purpose", _HEADER, rows)
    print_line(f"{document['caught']} of {len(found)} are caught.")
    survivors = [one.name for one in found if not one.caught]
    if survivors:
        print_line(f"Survivors: {', '.join(survivors)}.")
    print_line(f"{folder / DOCUMENT}")
