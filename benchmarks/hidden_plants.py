"""Which planted counterexamples the battery finds: found / tried by kind, inputs and strength.

    python benchmarks/hidden_plants.py [--seeds 3]

The table of docs/attack.md; about four minutes on one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import torch

from assay.attack.battery import Budget, attacks, run
from assay.question.network import load
from assay.question.vnnlib2 import read_any
from assay.truth.families import family

QUIET = ("quiet-units",)
OTHERS = tuple(name for name in attacks() if name not in QUIET)
WIDTHS = (0.1, 0.25)


def found(
    knobs: Sequence[dict[str, object]], seeds: int, names: Sequence[str], strength: int
) -> str:
    planted = family("planted")
    hits, tried = 0, 0
    for chosen in knobs:
        for seed in range(1, seeds + 1):
            made = planted.make(planted.knobs.model_validate(chosen), seed)
            violated = next(i for i in made if i.truth.answer == "violated")
            question = load(violated.onnx, violated.name), read_any(violated.vnnlib.decode(), "")
            results = run(*question, Budget(strength, 0, tuple(names)), "cpu")
            hits, tried = hits + any(r.found is not None for r in results), tried + 1
    return f"{hits}/{tried}"


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--seeds", type=int, default=3)
    seeds = options.parse_args().seeds
    torch.set_num_threads(1)
    plants: list[tuple[str, int, list[dict[str, object]]]] = [
        (kind, inputs, [{"kind": kind, "inputs": inputs, "width": w} for w in WIDTHS])
        for kind in ("soft_box", "rotated_box", "simplex", "tent")
        for inputs in (10, 25)
    ]
    plants += [
        ("xor_lock", n, [{"kind": "xor_lock", "inputs": n, "parities": n + 1}])
        for n in (12, 16, 20, 25)
    ]
    print("| kind | inputs | all others | quiet-units | quiet-units, strength 10 |")
    print("|---|---|---|---|---|")
    for kind, inputs, knobs in plants:
        cells = [
            found(knobs, seeds, names, n) for names, n in ((OTHERS, 1), (QUIET, 1), (QUIET, 10))
        ]
        print(f"| {kind} | {inputs} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
