"""From a suite and a seed to the list of tasks: a pure, stable function.

The cells of an entry are its grid, once for every listed seed. `count` below the number of cells
is a seeded draw without repetition that takes every value of a knob about equally often, so that
a few draws still cover the grid's ranges; above it, the grid is cycled with new seeds. Every random
number is a sha256 of what it is for, so it depends on no library's generator.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import ValidationError

from assay.errors import BadInput
from assay.suite.spec import MAX_DRAWS, MAX_SEED, Entry, Range, Suite, describe, suggestion
from assay.truth.constructor import Constructor, Knobs
from assay.truth.families import families

_NEVER_AGAIN = 1 << 60


@dataclass(frozen=True)
class Task:
    """One draw: call the family's constructor with these knobs and the first seed that works.

    `place` is the line of its entry in the suite's file.
    """

    place: str
    entry: int
    draw: int
    family: str
    knobs: Knobs
    seed: int
    replacements: tuple[int, ...]
    twins: bool
    timeout: int | float

    @property
    def stem(self) -> str:
        """The name that all instances of this task begin with."""
        return f"{self.family}-{self.entry:02d}-{self.draw:03d}"


def draw_tasks(suite: Suite, seed: int | None = None, *, first: int = 0) -> list[Task]:
    """Draw every task of a suite, each validated against the knobs of its family.

    `first` is the number of its first entry in the names, where other suites come before it.
    """
    base = suite.spec.seed if seed is None else seed
    if not 0 <= base <= MAX_SEED:
        raise BadInput(f"seed {base} is not between 0 and {MAX_SEED}; choose another")
    validators = [_Validator(suite, index) for index in range(len(suite.spec.families))]
    for validator in validators:
        validator.check_values()
    tasks = [
        task for validator in validators for task in _draw_entry(suite, validator, base, first)
    ]
    if len(tasks) > MAX_DRAWS:
        raise BadInput(f"{suite.at()}: {len(tasks)} draws are too many; at most {MAX_DRAWS}")
    return tasks


def _draw_entry(suite: Suite, validator: _Validator, base: int, first: int) -> Iterator[Task]:
    entry, index = validator.entry, validator.index
    grid = list(_products(entry))
    listed_seeds: list[int | None] = [*entry.seeds] if entry.seeds else [None]
    cells = [(seed, cell) for seed in listed_seeds for cell in grid]
    count = entry.count or len(cells)
    if entry.seeds and count > len(cells):
        raise BadInput(
            f"{suite.at('families', index, 'count')}: count {count} is more than the {len(cells)} "
            "combinations of grid and seeds; list more seeds or leave them out"
        )
    sizes = [len(listed_seeds), *map(len, entry.grid.values())]
    for draw, chosen in enumerate(_choose(sizes, count, base, index)):
        listed, cell = cells[chosen]
        drawn = {
            knob: _draw_value(range_, _uniform("value", base, index, draw, knob))
            for knob, range_ in entry.range.items()
        }
        seed = _seed(base, index, draw, 0) if listed is None else listed
        yield Task(
            place=suite.at("families", index),
            entry=first + index,
            draw=draw,
            family=entry.family,
            knobs=validator.knobs({**cell, **drawn}),
            seed=seed,
            replacements=tuple(_seed(base, index, draw, 1 + i) for i in range(entry.replace)),
            twins=entry.twins,
            timeout=entry.timeout or suite.spec.timeout,
        )


def _products(entry: Entry) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*entry.grid.values()):
        yield dict(zip(entry.grid, values, strict=True))


def _choose(sizes: Sequence[int], count: int, base: int, entry: int) -> list[int]:
    """The numbers of `count` cells of a grid whose sides have these sizes, in the grid's order."""
    cells = math.prod(sizes)
    if count >= cells:
        return [draw % cells for draw in range(count)]
    shuffled = sorted(range(cells), key=lambda cell: _uniform("cell", base, entry, cell))
    order = np.array(shuffled)
    sides = np.unravel_index(order, sizes)
    # how often the values of a cell were taken before; the first of the least used is next
    used = np.zeros(cells, dtype=np.int64)
    chosen = []
    for _ in range(count):
        position = int(used.argmin())
        chosen.append(int(order[position]))
        for side in sides:
            used += side == side[position]
        used[position] = _NEVER_AGAIN
    return sorted(chosen)


def _digest(*parts: object) -> int:
    text = "/".join(str(part) for part in ("assay", *parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _seed(base: int, entry: int, draw: int, attempt: int) -> int:
    return _digest("seed", base, entry, draw, attempt) % (MAX_SEED + 1)


def _uniform(*parts: object) -> float:
    return (_digest(*parts) >> 11) / 2.0**53


def _draw_value(source: Range, u: float) -> int | float:
    low, high = source.low, source.high
    if isinstance(low, int) and isinstance(high, int):
        width = high - low + 1
        if source.log:
            return min(high, max(low, math.floor(low * math.exp(u * math.log((high + 1) / low)))))
        return min(high, low + math.floor(u * width))
    value = low * math.exp(u * math.log(high / low)) if source.log else low + u * (high - low)
    # Six digits: readable in the truth, and the last bits of libm stay out of the bytes.
    return min(float(high), max(float(low), float(f"{value:.6g}")))


class _Validator:
    """Turns values of one entry into knobs, naming the line of a value that is refused."""

    def __init__(self, suite: Suite, index: int) -> None:
        self.suite = suite
        self.index = index
        self.entry = suite.spec.families[index]
        self.constructor = self._family()

    def _family(self) -> Constructor:
        known = families()
        if self.entry.family not in known:
            where = self.suite.at("families", self.index, "family")
            hint = suggestion(self.entry.family, known, "known families")
            raise BadInput(f"{where}: unknown family {self.entry.family!r}{hint}")
        return known[self.entry.family]

    def check_values(self) -> None:
        """Validate every grid cell with both ends of all ranges, also those never drawn."""
        known = self.constructor.knobs.model_fields
        for section in ("grid", "range", "fixed"):
            for knob in getattr(self.entry, section):
                if knob not in known:
                    where = self.suite.at("families", self.index, section, knob)
                    hint = suggestion(knob, known, "its knobs")
                    raise BadInput(f"{where}: {self.entry.family} has no knob {knob!r}{hint}")
        cells = math.prod(len(values) for values in self.entry.grid.values())
        if cells * len(self.entry.seeds or [0]) > MAX_DRAWS:
            where = self.suite.at("families", self.index, "grid")
            raise BadInput(f"{where}: the grid has {cells} cells; at most {MAX_DRAWS} draws")
        for cell in _products(self.entry):
            for end in ("low", "high"):
                self.knobs({**cell, **{k: getattr(r, end) for k, r in self.entry.range.items()}})

    def knobs(self, values: Mapping[str, Any]) -> Knobs:
        given = {**self.entry.fixed, **values}
        try:
            # Through JSON, because its strict mode takes a list for a tuple but not "3" for 3.
            return self.constructor.knobs.model_validate_json(json.dumps(given), strict=True)
        except ValidationError as error:
            problem = error.errors()[0]
        except BadInput as refused:
            raise BadInput(f"{self.suite.at('families', self.index)}: {refused}") from None
        if not problem["loc"]:
            where = self.suite.at("families", self.index)
            raise BadInput(f"{where}: {self.entry.family}: {describe(problem)}; correct it")
        knob = str(problem["loc"][0])
        if problem["type"] == "missing":
            where = self.suite.at("families", self.index)
            raise BadInput(f"{where}: {self.entry.family} needs the knob {knob!r}; add it")
        raise BadInput(
            f"{self._where(knob, given.get(knob))}: {knob!r} of {self.entry.family} "
            f"{describe(problem)}; see `assay families {self.entry.family}`"
        )

    def _where(self, knob: str, value: object) -> str:
        path: tuple[str | int, ...] = ("families", self.index)
        if knob in self.entry.grid:
            cells = self.entry.grid[knob]
            at = next((i for i, v in enumerate(cells) if v is value), 0)
            return self.suite.at(*path, "grid", knob, at)
        return self.suite.at(*path, "range" if knob in self.entry.range else "fixed", knob)
