"""How hard a family's difficulty knob makes it for the built-in verifiers.

    python benchmarks/difficulty.py measure     every sweep, into docs/evidence/difficulty/
    python benchmarks/difficulty.py draw        the plots of docs/families/, from these files

`--family NAME` does one family (again for more). Measuring all takes about ten minutes of two
cores. Limits are CPU seconds, so that a busy machine takes longer and finds the same; only what
HiGHS takes of them goes by the wall.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

from difficulty_cells import Cell, measured
from difficulty_plots import figure
from difficulty_sweeps import SEEDS, SWEEPS

from assay.engine.processes import Processes
from assay.engine.work import Work
from assay.judge.host import this_host

ROOT = Path(__file__).parents[1]
EVIDENCE = ROOT / "docs" / "evidence" / "difficulty"
IMAGES = ROOT / "docs" / "images" / "difficulty"
LIMIT_CPU_S = 3
"""About what `assay run --timeout 5` leaves a built-in verifier once torch is loaded."""


def measure(name: str, jobs: int) -> dict[str, Any]:
    """All cells of all sweeps of a family."""
    cells = [
        Cell(name, number, place, seed, LIMIT_CPU_S)
        for number, sweep in enumerate(SWEEPS[name])
        for place in range(len(sweep.values))
        for seed in SEEDS
    ]
    rows: dict[Cell, list[dict[str, Any]]] = {}
    with closing(Processes(jobs).outcomes(Work(measured), cells)) as outcomes:
        for outcome in outcomes:
            if outcome.result is None:
                raise SystemExit(f"{outcome.item}: {outcome.error or outcome.death}")
            rows[outcome.item] = outcome.result
    host = this_host()
    return {
        "family": name,
        "date": str(date.today()),
        "command": f"python benchmarks/difficulty.py measure --family {name}",
        "machine": f"{host['processor']}, {host['cores']} cores, {jobs} tasks at a time",
        "limit_cpu_s": LIMIT_CPU_S,
        "sweeps": [
            {
                "knob": sweep.knob,
                "fixed": dict(sweep.fixed),
                "values": list(sweep.values),
                "rows": [
                    {"value": cell.value, **row}
                    for cell in cells
                    if cell.sweep == number
                    for row in rows[cell]
                ],
            }
            for number, sweep in enumerate(SWEEPS[name])
        ],
    }


def as_text(document: dict[str, Any]) -> str:
    """JSON with one line a row, so that a difference between two runs can be read."""
    sweeps = []
    for sweep in document["sweeps"]:
        head = {key: value for key, value in sweep.items() if key != "rows"}
        rows = ",\n   ".join(json.dumps(row) for row in sweep["rows"])
        sweeps.append(f'{json.dumps(head)[:-1]}, "rows": [\n   {rows}]}}')
    head = {key: value for key, value in document.items() if key != "sweeps"}
    listed = ",\n  ".join(sweeps)
    return f'{json.dumps(head, indent=1)[:-2]},\n "sweeps": [\n  {listed}]}}\n'


def measure_all(names: Sequence[str], jobs: int) -> None:
    EVIDENCE.mkdir(parents=True, exist_ok=True)
    for name in names:
        begun = time.monotonic()
        document = measure(name, jobs)
        (EVIDENCE / f"{name}.json").write_text(as_text(document))
        print(f"{name}: {time.monotonic() - begun:.0f} s", flush=True)


def draw_all(names: Sequence[str]) -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in names:
        document = json.loads((EVIDENCE / f"{name}.json").read_text())
        (IMAGES / f"{name}.svg").write_text(figure(document))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("act", choices=("measure", "draw"))
    parser.add_argument("--family", action="append", choices=sorted(SWEEPS), dest="names")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    names = arguments.names or sorted(SWEEPS)
    if arguments.act == "measure":
        measure_all(names, arguments.jobs)
    else:
        draw_all(names)


if __name__ == "__main__":
    main()
