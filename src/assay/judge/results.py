"""Results on disk: `results.jsonl`, append-only, one line for each finished task."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, get_args

from assay.errors import BadInput
from assay.judge.task import Ending, Verdict, WitnessClass

_REMEDY = "remove the line, and the same `assay run` does its task again"


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


def read_results(path: Path) -> Iterator[Result]:
    """The results of a run; a torn last line (the runner was killed) is left out."""
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            if not line.endswith(b"\n"):
                return
            yield parse_result(line, f"{path}:{number}")


def parse_result(line: str | bytes, place: str) -> Result:
    try:
        document = json.loads(line)
        known = {field.name for field in fields(Result)}
        if not isinstance(document, dict) or set(document) - known:
            raise ValueError("it is not an object with the known keys")
        for key in ("witness", "command"):
            if document.get(key) is not None:
                document[key] = tuple(document[key])
        result = Result(**document)
    except (ValueError, TypeError) as error:
        raise BadInput(f"{place}: not a readable result ({error}); {_REMEDY}") from None
    for value, allowed in (
        (result.verdict, (*get_args(Verdict), None)),
        (result.ending, get_args(Ending)),
        (result.witness_class, (*get_args(WitnessClass), None)),
    ):
        if value not in allowed:
            raise BadInput(f"{place}: {value!r} is not a known word; {_REMEDY}")
    return result


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
