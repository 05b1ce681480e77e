"""Results on disk: `results.jsonl`, append-only, one line for each finished task."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, get_args

from assay.errors import BadInput
from assay.judge.task import Ending, Verdict, WitnessClass

LONGEST_LINE = 64 * 1024 * 1024
REMEDY = "remove the line, and the same `assay run` does its task again"
_TEXTS = ("instance", "verifier", "version", "onnx_sha256", "vnnlib_sha256", "log", "detail")
_MEASURED = ("wall_s", "cpu_s", "memory_mb")


@dataclass(frozen=True)
class Result:
    """One finished task. `verdict` is kept even where the ending says that it does not count."""

    instance: str
    verifier: str
    version: str
    verdict: Verdict | None
    ending: Ending
    wall_s: float
    cpu_s: float
    memory_mb: float
    repeat: int
    onnx_sha256: str
    vnnlib_sha256: str
    command: tuple[str, ...] = ()
    log: str = ""
    detail: str = ""
    witness: tuple[str, ...] | None = None
    witness_class: WitnessClass | None = None
    witness_check: Mapping[str, Any] | None = None
    """The numbers behind the class: `WitnessReport.document()`."""

    @property
    def counts(self) -> bool:
        """Whether the verdict counts: only an orderly answer within the limits does."""
        return self.ending == "answered" and self.verdict is not None

    def to_line(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":")) + "\n"


@dataclass(frozen=True)
class ResultLine:
    """A result and where it stands in its file: the number of its line, the bytes before it."""

    result: Result
    number: int
    offset: int


def read_results(path: Path) -> Iterator[Result]:
    """The results of a run; a torn last line (the runner was killed) is left out."""
    for line in read_result_lines(path):
        yield line.result


def read_result_lines(path: Path) -> Iterator[ResultLine]:
    """Like `read_results`, with the place of each."""
    number, offset = 0, 0
    try:
        with path.open("rb") as stream:
            while (line := stream.readline(LONGEST_LINE)).endswith(b"\n"):
                number += 1
                yield ResultLine(parse_result(line, f"{path}:{number}"), number, offset)
                offset += len(line)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); check the run") from None
    if len(line) == LONGEST_LINE:
        raise BadInput(f"{path}:{number + 1}: is longer than {LONGEST_LINE} bytes; {REMEDY}")


def parse_result(line: str | bytes, place: str) -> Result:
    try:
        document = json.loads(line)
        known = {field.name for field in fields(Result)}
        if not isinstance(document, dict) or set(document) - known:
            raise ValueError("it is not an object with the known keys")
        for key in ("witness", "command"):
            if document.get(key) is not None:
                document[key] = _texts(document[key], key)
        result = Result(**document)
        _refuse_wrong_values(result)
    except (ValueError, TypeError, RecursionError) as error:
        raise BadInput(f"{place}: not a readable result ({error}); {REMEDY}") from None
    for value, allowed in (
        (result.verdict, (*get_args(Verdict), None)),
        (result.ending, get_args(Ending)),
        (result.witness_class, (*get_args(WitnessClass), None)),
    ):
        if value not in allowed:
            raise BadInput(f"{place}: {value!r} is not a known word; {REMEDY}")
    return result


def _texts(value: Any, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{key} is not a list of texts")
    return tuple(value)


def _refuse_wrong_values(result: Result) -> None:
    for name in _TEXTS:
        if not isinstance(getattr(result, name), str):
            raise ValueError(f"{name} is not a text")
    for name in _MEASURED:
        value = getattr(result, name)
        if type(value) not in (int, float) or not 0 <= value < math.inf:
            raise ValueError(f"{name} is not a number from 0 up")
    if type(result.repeat) is not int or result.repeat < 0:
        raise ValueError("repeat is not a whole number from 0 up")
    if result.witness_check is not None and not isinstance(result.witness_check, dict):
        raise ValueError("witness_check is not an object")


def light(result: Result) -> Result:
    """Without command and witness, equal texts being one object: 10^5 of these fit in memory."""
    return replace(
        result,
        instance=sys.intern(result.instance),
        verifier=sys.intern(result.verifier),
        version=sys.intern(result.version),
        onnx_sha256=sys.intern(result.onnx_sha256),
        vnnlib_sha256=sys.intern(result.vnnlib_sha256),
        command=(),
        witness=None,
        witness_check=None,
    )
