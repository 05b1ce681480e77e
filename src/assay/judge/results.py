"""Results on disk: `results.jsonl`, append-only, one line for each finished task."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import get_args

from assay.errors import BadInput
from assay.judge.task import Ending, Verdict, WitnessClass


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

    @property
    def counts(self) -> bool:
        """Whether the verdict counts: only an orderly answer within the limits does."""
        return self.ending == "answered" and self.verdict is not None

    def to_line(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":")) + "\n"


def read_results(path: Path) -> Iterator[Result]:
    """The results of a run; a torn last line (the runner was killed) is left out."""
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            if not line.endswith("\n"):
                return
            yield parse_result(line, f"{path}:{number}")


def parse_result(line: str, place: str) -> Result:
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
        raise BadInput(f"{place}: not a readable result ({error}); run that task again") from None
    for value, allowed in (
        (result.verdict, (*get_args(Verdict), None)),
        (result.ending, get_args(Ending)),
        (result.witness_class, (*get_args(WitnessClass), None)),
    ):
        if value not in allowed:
            raise BadInput(f"{place}: {value!r} is not a known word; run that task again")
    return result
