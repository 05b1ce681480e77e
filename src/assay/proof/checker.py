"""From three files to one verdict: verified, rejected or unsupported."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any, Literal

from assay.proof import reader, vnnlib
from assay.proof.arithmetic import Rejected, Unsupported, Vector, decimal, is_float32, rational
from assay.proof.chain import Chain, read_chain
from assay.proof.claim import Claim, Proof
from assay.proof.evaluate import evaluate
from assay.proof.guard import survives_float32
from assay.proof.interval import Interval
from assay.proof.reader import Graph
from assay.proof.rules import RULES
from assay.proof.vnnlib import Question

_SCHEMA = 1
_REQUIRED: dict[str, type | tuple[type, ...]] = {
    "schema": int,
    "answer": str,
    "margin": str,
    "guard": str,
    "family": str,
    "parameters": dict,
    "seed": int,
    "twin": (str, type(None)),
    "onnx_sha256": str,
    "vnnlib_sha256": str,
    "certificate": dict,
}
_OPTIONAL: dict[str, type | tuple[type, ...]] = {"witness": list, "facts": dict}


@dataclass(frozen=True)
class Verdict:
    """`margin` is what was proved, which may be better than what was claimed."""

    status: Literal["verified", "rejected", "unsupported"]
    answer: str | None = None
    margin: Fraction | None = None
    guard: str | None = None
    reason: str = ""

    def line(self) -> str:
        if self.status != "verified":
            return f"s {self.status.upper()} {self.reason}"
        relation = ">=" if self.answer == "robust" else "<="
        return f"s VERIFIED {self.answer} margin{relation}{self.margin} guard={self.guard}"


def check_files(onnx: Path, vnnlib_file: Path, truth: Path) -> Verdict:
    """Check the truth in a file; its arrays, if any, lie beside it with the suffix .bin."""
    try:
        arrays = truth.with_suffix(".bin")
        return check(
            onnx.read_bytes(),
            vnnlib_file.read_bytes(),
            truth.read_bytes(),
            arrays.read_bytes() if arrays.exists() else None,
        )
    except OSError as error:
        return Verdict("rejected", reason=f"{error.filename}: {error.strerror}")


def check(onnx: bytes, vnnlib_text: bytes, truth: bytes, arrays: bytes | None) -> Verdict:
    try:
        claim = _read_truth(truth)
        _check_digests(claim, onnx, vnnlib_text, arrays)
        question = vnnlib.read(vnnlib_text)
        graph = reader.read(onnx)
        if prod(graph.input_shape) != len(question.lower):
            raise Rejected("the network and the VNN-LIB file differ in the number of inputs")
        if prod(graph.output_shape) != question.outputs:
            raise Rejected("the network and the VNN-LIB file differ in the number of outputs")
        if claim["answer"] == "robust":
            margin = _check_robust(claim, graph, question, arrays)
        else:
            margin = _check_violated(claim, graph, question)
        return Verdict("verified", claim["answer"], margin, claim["guard"])
    except Rejected as reason:
        return Verdict("rejected", reason=str(reason))
    except Unsupported as reason:
        return Verdict("unsupported", reason=str(reason))


def proven_margin(onnx: bytes, vnnlib_text: bytes, kind: str, arrays: bytes | None) -> Fraction:
    """The margin that a robust certificate proves; raises Rejected or Unsupported if none."""
    question = vnnlib.read(vnnlib_text)
    return _rule(kind)(Claim(question, read_chain(reader.read(onnx)), arrays)).margin


def _rule(kind: str) -> Callable[[Claim], Proof]:
    if kind not in RULES:
        raise Unsupported(f"no rule proves certificates of kind {kind!r}")
    return RULES[kind]


def _read_truth(data: bytes) -> dict[str, Any]:
    try:
        claim = json.loads(data)
    except (ValueError, RecursionError):
        raise Rejected("the truth is not JSON") from None
    if not isinstance(claim, dict):
        raise Rejected("the truth is not a JSON object")
    for key in claim:
        if key not in _REQUIRED and key not in _OPTIONAL:
            raise Unsupported(f"the truth makes a claim {key!r} that the checker does not prove")
    for key, kind in (*_REQUIRED.items(), *_OPTIONAL.items()):
        if key not in claim and key in _OPTIONAL:
            continue
        if not isinstance(claim.get(key), kind) or (key in claim and isinstance(claim[key], bool)):
            raise Rejected(f"{key!r} of the truth is missing or of the wrong type")
    if claim["schema"] != _SCHEMA:
        raise Unsupported(f"truth schema {claim['schema']} is not {_SCHEMA}")
    if claim["answer"] not in ("robust", "violated") or claim["guard"] not in ("float32", "real"):
        raise Rejected("the answer or the guard of the truth is not a known word")
    if set(claim["certificate"]) - {"kind", "arrays_sha256"} or "kind" not in claim["certificate"]:
        raise Rejected("the certificate has no kind, or a key that is not known")
    return claim


def _check_digests(
    claim: dict[str, Any], onnx: bytes, vnnlib_text: bytes, arrays: bytes | None
) -> None:
    for key, data in (("onnx_sha256", onnx), ("vnnlib_sha256", vnnlib_text)):
        if claim[key] != hashlib.sha256(data).hexdigest():
            raise Rejected(f"{key} does not match: the truth is about another file")
    stated = claim["certificate"].get("arrays_sha256")
    found = None if arrays is None else hashlib.sha256(arrays).hexdigest()
    if stated != found:
        raise Rejected("arrays_sha256 does not match: the certificate's arrays are other ones")


def _check_robust(
    claim: dict[str, Any], graph: Graph, question: Question, arrays: bytes | None
) -> Fraction:
    if "witness" in claim:
        raise Rejected("a robust truth carries a witness")
    rule = _rule(claim["certificate"]["kind"])
    claimed = rational(claim["margin"], "the margin")
    chain = read_chain(graph)
    proof = rule(Claim(question, chain, arrays))
    proved = proof.margin
    if claimed <= 0 or proved < claimed:
        raise Rejected(
            f"the margin {claim['margin'][:60]} is claimed, {float_free(proved)} is proved"
        )
    box = Interval.of(question.lower, question.upper)
    _check_guard(claim, chain, question, box, proof)
    return proved


def _check_violated(claim: dict[str, Any], graph: Graph, question: Question) -> Fraction:
    if claim["certificate"] != {"kind": "witness"}:
        raise Rejected("a violated truth needs a certificate of kind 'witness' and nothing more")
    texts = claim.get("witness")
    if texts is None or len(texts) != len(question.lower):
        raise Rejected("the witness is missing or has not one number for each input")
    if not all(isinstance(text, str) for text in texts):
        raise Rejected("the witness is not a list of decimal texts")
    point = [decimal(text) for text in texts]
    for i, (low, value, high) in enumerate(zip(question.lower, point, question.upper, strict=True)):
        if not low <= value <= high:
            raise Rejected(f"the witness leaves the box at input {i}")
    vector = Vector.of(point)
    found = question.margin(evaluate(graph, vector).fractions())
    claimed = rational(claim["margin"], "the margin")
    if claimed > 0 or found > claimed:
        raise Rejected(
            f"the witness has margin {float_free(found)}, which is no violation as claimed"
        )
    if claim["guard"] == "float32":
        _check_guard(claim, read_chain(graph), question, Interval(vector, vector), Proof(found))
        if not all(map(is_float32, point)):
            raise Rejected("the guard is float32 but the witness is not a float32 point")
    return found


def _check_guard(
    claim: dict[str, Any], chain: Chain, question: Question, box: Interval, proof: Proof
) -> None:
    if claim["guard"] == "float32" and not survives_float32(chain, question, box, proof):
        raise Rejected("the guard float32 does not hold: rounding could change the answer")


def float_free(value: Fraction) -> str:
    """A short decimal text of a rational, rounded towards minus infinity."""
    scaled = (value.numerator * 10**12) // value.denominator
    sign, digits = ("-" if scaled < 0 else ""), str(abs(scaled)).rjust(13, "0")
    return f"{sign}{digits[:-12]}.{digits[-12:]}"
