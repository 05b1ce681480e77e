"""The truth of a question as it lies on disk: `truth/NAME.json`."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from assay.errors import BadInput

SCHEMA = 1
LARGEST_TRUTH = 256 * 1024 * 1024
_RATIONAL = re.compile(r"-?\d{1,4000}(?:/(?=0*[1-9])\d{1,4000})?", re.ASCII)
"""As the checker takes it: a short text such as 1e30000000 can stand for a number of 12 MB."""
Answer = Literal["robust", "violated"]
Guard = Literal["float32", "real"]


@dataclass(frozen=True)
class Truth:
    """The proven answer of a question, bound to the exact bytes of both files.

    `margin` is a certified bound: the property's margin is at least this everywhere in the
    region (robust, positive) or at most this at the witness (violated, not positive).
    `facts` holds exact statements that the constructor proved when it made the instance (for
    example the radius below which the network is robust). These files need not prove them again,
    and the checker does not look at them.
    """

    answer: Answer
    margin: Fraction
    guard: Guard
    family: str
    parameters: dict[str, Any]
    seed: int
    twin: str | None
    onnx_sha256: str
    vnnlib_sha256: str
    certificate: dict[str, Any]
    witness: tuple[str, ...] | None = None
    violation_probability: dict[str, str] | None = None
    facts: dict[str, str] = field(default_factory=dict)
    schema: int = SCHEMA

    def to_json(self) -> str:
        document = asdict(self)
        document["margin"] = str(self.margin)
        for optional in ("witness", "violation_probability"):
            if document[optional] is None:
                del document[optional]
        return json.dumps(document, indent=1, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, text: str, place: str) -> Truth:
        """Read a truth; `place` names the file in error messages."""
        try:
            document = json.loads(text)
            if not isinstance(document, dict):
                raise BadInput(f"{place}: a truth must be a JSON object; rebuild the benchmark")
            known = set(cls.__dataclass_fields__)
            unknown = sorted(set(document) - known)
            if unknown:
                raise BadInput(f"{place}: unknown key {unknown[0]!r}; remove it")
            document["margin"] = _rational(document["margin"])
            if document.get("witness") is not None:
                document["witness"] = tuple(document["witness"])
            truth = cls(**document)
        except (ValueError, TypeError, KeyError, ZeroDivisionError) as error:
            raise BadInput(f"{place}: not a readable truth ({error}); rebuild it") from None
        if truth.schema != SCHEMA:
            raise BadInput(f"{place}: schema {truth.schema} is not {SCHEMA}; rebuild it")
        if truth.answer not in ("robust", "violated") or truth.guard not in ("float32", "real"):
            raise BadInput(f"{place}: answer or guard is not a known word; rebuild it")
        return truth


def _rational(text: object) -> Fraction:
    if not isinstance(text, str) or len(text) > 8002 or not _RATIONAL.fullmatch(text):
        raise ValueError("its margin is not a rational number of reasonable length")
    return Fraction(text)


def truth_bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST_TRUTH:
            raise BadInput(f"{path}: larger than {LARGEST_TRUTH} bytes; rebuild the benchmark")
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); restore it") from None


def parse_truth(data: bytes, place: str) -> Truth:
    """What a file says. Nothing may rest on it before the checker verifies those very bytes."""
    try:
        return Truth.from_json(data.decode("utf-8"), place)
    except (UnicodeDecodeError, RecursionError):
        raise BadInput(f"{place}: not a readable truth; rebuild the benchmark") from None
