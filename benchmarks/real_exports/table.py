"""Put the models through the commands as a person types them, and write what works with what.

    PYTHONPATH=benchmarks python -m real_exports.table FOLDER docs/models.md

The part of the page between its two marks is replaced. `decide`, `roma` and `certify` are asked
about each file as it was exported; `attack` and `profile` about the benchmark that `assay import`
makes of all of them. FOLDER/results.json keeps what was said: a second call goes on from there.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from real_exports.command import assay
from real_exports.questions import write_question

BEGIN, END = "<!-- made by real_exports.table -->", "<!-- end of the table -->"
BENCHMARK = ("attack", "profile")
COMMANDS = ("decide", "roma", "attack", "profile", "certify")
ATTACKS = ("corners", "pgd-margin")
WORKS, BLACK_BOX = "yes", "black box"
_NODE = re.compile(r"(, )?\(?node '[^']*'( \(\w+\))?\)?:? ?|( at)? node '[^']*'")
Said = dict[str, dict[str, str]]
"""What each command says of each model: `yes`, `black box`, or why not."""


def ask_all(folder: Path, said: Said) -> Iterator[None]:
    """Fill in what is missing; it may be kept after every step."""
    if not all(set(BENCHMARK) <= set(answers) for answers in said.values()):
        for command, rows in _of_a_benchmark(folder, list(said)).items():
            for name, row in rows.items():
                said[name][command] = row
        yield
    for command in ("decide", "roma", "certify"):
        for name, answers in said.items():
            if command not in answers:
                code, told = assay(*_words(command, folder, name))
                answers[command] = _reason(told, name) if code else WORKS
                print(f"{name} {command}: {answers[command]}", flush=True)
                yield


def _words(command: str, folder: Path, name: str) -> tuple[object, ...]:
    onnx, point = folder / f"{name}.onnx", folder / f"{name}.npy"
    near = ("--radius", "0.05")
    proofs = folder / "certified" / name
    return {
        "decide": ("weakened", "decide", onnx, point, *near, "--eps", "0.05"),
        "roma": ("roma", onnx, point, *near, "--samples", "500"),
        "certify": ("certify", onnx, "--centre", point, "--nodes", "2000", "-o", proofs),
    }[command]


def _of_a_benchmark(folder: Path, names: list[str]) -> dict[str, dict[str, str]]:
    for name in names:
        write_question(folder / f"{name}.onnx", folder / f"{name}.npy", folder / f"{name}.vnnlib")
    rows = "".join(f"{name}.onnx,{name}.vnnlib,60\n" for name in names)
    (folder / "instances.csv").write_text(rows)
    bench = folder / "bench"
    chosen = [word for name in ATTACKS for word in ("--attacks", name)]
    found = {}
    for command, words in {
        "import": ("import", folder, "-o", bench, "--jobs", 1),
        "attack": ("attack", bench, "--jobs", 1, *chosen),
        "profile": ("profile", bench, "--jobs", 1),
    }.items():
        code, told = assay(*words)
        print(f"assay {command}: exit code {code}, {told.splitlines()[-1]}", flush=True)
        if command != "import":
            with (bench / f"{command}.csv").open(newline="") as stream:
                found[command] = {row["instance"]: _row(row) for row in csv.DictReader(stream)}
    return found


def _row(row: Mapping[str, str]) -> str:
    if row["status"] != "ok":
        return _reason(row["note"], row["instance"])
    return BLACK_BOX if "did not run" in row["note"] else WORKS


def _reason(told: str, name: str) -> str:
    """The sentence without the model's own names, so that equal reasons are equal."""
    line = [line for line in told.splitlines() if line.strip()][-1]
    text = re.sub(rf"(assay: )?[^ ]*{re.escape(name)}(\.onnx)?:? ?", "", line)
    return _NODE.sub("", text).strip(" :").replace(" ;", ";")


def page(said: Said) -> str:
    """A row for each model, a column for each command, and the reasons below by number."""
    reasons: dict[str, int] = {}

    def cell(words: str) -> str:
        if words in (WORKS, BLACK_BOX):
            return words
        return f"no ({reasons.setdefault(words, len(reasons) + 1)})"

    rows = [
        f"| `{name}` | {' | '.join(cell(answers[command]) for command in COMMANDS)} |"
        for name, answers in said.items()
    ]
    works = [
        sum(answers[command] in (WORKS, BLACK_BOX) for answers in said.values())
        for command in COMMANDS
    ]
    head = [f"| model | {' | '.join(COMMANDS)} |", f"|---|{'---|' * len(COMMANDS)}"]
    total = f"| **works** | {' | '.join(f'**{n} of {len(said)}**' for n in works)} |"
    notes = [f"{number}. {reason}" for reason, number in reasons.items()]
    return "\n".join([*head, *rows, total, "", "Why not:", "", *notes])


def main(folder: Path, target: Path) -> None:
    names = list(json.loads((folder / "models.json").read_text()))
    (folder / "certified").mkdir(exist_ok=True)
    kept = folder / "results.json"
    said: Said = json.loads(kept.read_text()) if kept.exists() else {name: {} for name in names}
    for _ in ask_all(folder, said):
        kept.write_text(json.dumps(said, indent=1) + "\n")
    text = target.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    target.write_text(f"{before}{BEGIN}\n\n{page(said)}\n\n{END}{after}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
