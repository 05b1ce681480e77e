"""A suite: a YAML list of families with the parameters to draw from, read and validated.

Only the shape is validated here; `assay.suite.draw` validates the values against the knobs of
each family, because only then is a family's module imported.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from assay.errors import BadInput
from assay.suite.yaml_lines import LinedYaml, read_yaml
from assay.suite.yaml_lines import Path as KeyPath

MAX_BYTES = 128 * 1024  # PyYAML took up to 3 s for this much on a shared core
MAX_DRAWS = 100_000
MAX_SEED = 2**31 - 1


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Range(_Part):
    """A seeded draw for every instance; whole numbers when both ends are whole."""

    low: int | float
    high: int | float
    log: bool = False

    @model_validator(mode="after")
    def _ordered(self) -> Range:
        if self.low > self.high:
            raise ValueError(f"low {self.low} is above high {self.high}")
        if self.log and self.low <= 0:
            raise ValueError(f"a logarithmic range needs low above 0, not {self.low}")
        return self


class Entry(_Part):
    """One family of a suite and where its parameters come from."""

    family: str
    count: int | None = Field(default=None, ge=1, le=MAX_DRAWS)
    seeds: list[int] | None = Field(default=None, min_length=1, max_length=MAX_DRAWS)
    twins: bool = True
    replace: int = Field(default=5, ge=0, le=1000)
    timeout: int | float | None = Field(default=None, gt=0, le=10_000_000)
    grid: dict[str, list[Any]] = Field(default_factory=dict)
    range: dict[str, Range] = Field(default_factory=dict)
    fixed: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _consistent(self) -> Entry:
        sources = [*self.grid, *self.range, *self.fixed]
        for knob in sources:
            if sources.count(knob) > 1:
                raise ValueError(f"{knob!r} is given twice, in two of grid, range and fixed")
        for knob, values in self.grid.items():
            if not values:
                raise ValueError(f"the grid of {knob!r} is empty")
        if self.seeds and any(not 0 <= seed <= MAX_SEED for seed in self.seeds):
            raise ValueError(f"a seed must lie between 0 and {MAX_SEED}")
        if self.seeds and len(set(self.seeds)) < len(self.seeds):
            raise ValueError("a seed is listed twice")
        return self


class SuiteSpec(_Part):
    """What a suite file holds."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    description: str = ""
    seed: int = Field(default=1, ge=0, le=MAX_SEED)
    timeout: int | float = Field(default=60, gt=0, le=10_000_000)
    families: list[Entry] = Field(min_length=1, max_length=100)


@dataclass(frozen=True)
class Suite:
    """A validated suite with its text, so that errors found later can still name a line."""

    spec: SuiteSpec
    text: str
    document: LinedYaml

    def at(self, *path: str | int) -> str:
        return self.document.at(path)


def bundled_suites() -> list[str]:
    folder = resources.files("assay.suite") / "bundled"
    return sorted(f.name[:-5] for f in folder.iterdir() if f.name.endswith(".yaml"))


def load_suite(reference: str) -> Suite:
    """Read a suite by its bundled name or by the path of its file."""
    if reference in bundled_suites():
        bundled = resources.files("assay.suite") / "bundled" / f"{reference}.yaml"
        return parse_suite(bundled.read_text(encoding="utf-8"), f"{reference}.yaml")
    path = Path(reference)
    if not path.exists():
        hint = suggestion(reference, bundled_suites(), "bundled suites")
        raise BadInput(f"{reference}: no such suite file or bundled suite{hint}")
    if not path.is_file():
        raise BadInput(f"{reference}: not a file; give a suite's YAML file or a bundled name")
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadInput(f"{reference}: cannot be read ({error.strerror}); check the file") from None
    if len(data) > MAX_BYTES:
        raise BadInput(f"{reference}: larger than {MAX_BYTES} bytes; a suite is a short list")
    try:
        return parse_suite(data.decode("utf-8"), reference)
    except UnicodeDecodeError:
        raise BadInput(f"{reference}: not UTF-8 text; give a suite's YAML file") from None


def parse_suite(text: str, place: str) -> Suite:
    """Validate the text of a suite; `place` names the file in error messages."""
    document = read_yaml(text, place)
    if not isinstance(document.value, dict):
        raise BadInput(f"{place}:1: a suite must be a mapping with name, seed and families")
    try:
        spec = SuiteSpec.model_validate(document.value)
    except ValidationError as error:
        raise BadInput(_sentence(error, document)) from None
    return Suite(spec, text, document)


def suggestion(word: str, known: Iterable[str], what: str) -> str:
    """Return the end of a sentence that says what `word` may have been meant to be."""
    options = sorted(known)
    close = difflib.get_close_matches(word, options, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; {what}: {', '.join(options)}" if options else f"; there are no {what}"


def describe(problem: Any) -> str:
    """Put one pydantic problem into words that follow the name of the value."""
    message = str(problem["msg"]).removeprefix("Value error, ")
    if message.startswith("Input should"):
        return f"should{message.removeprefix('Input should')}, not {str(problem['input'])[:60]!r}"
    return message


def _sentence(error: ValidationError, document: LinedYaml) -> str:
    # Unknown keys first: a misspelt key is the likely cause of a missing one.
    problems = sorted(error.errors(), key=lambda p: p["type"] != "extra_forbidden")
    problem = problems[0]
    path: KeyPath = problem["loc"]
    where = document.at(path)
    name = ".".join(str(part) for part in path if part not in ("int", "float"))
    if problem["type"] == "extra_forbidden":
        hint = suggestion(str(path[-1]), _fields(path), "known keys")
        return f"{where}: unknown key {name!r}{hint}"
    if problem["type"] == "missing":
        return f"{where}: key {name!r} is missing; add it"
    return f"{where}: {name + ': ' if name else ''}{describe(problem)}; correct it"


def _fields(path: KeyPath) -> list[str]:
    """Return the keys that are known where the last part of `path` stands."""
    if len(path) == 1:
        return list(SuiteSpec.model_fields)
    return list(Entry.model_fields if len(path) == 3 else Range.model_fields)
