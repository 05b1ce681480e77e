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
from assay.proof.arithmetic import Rejected, Unsupported, Vector, decimal, rational
from assay.proof.ball_network import highest_margin
from assay.proof.claim import Claim, Proof
from assay.proof.guard import check_float32
from assay.proof.interval import Interval
from assay.proof.reader import Graph
from assay.proof.rules import RULES, WITH_ARRAYS
from assay.proof.violating_share import violating_share
from assay.proof.vnnlib import Question
from assay.proof.work import limited

_SCHEMA = 1
LARGEST_FILE = 1 << 28
"""In bytes, of what is read at all."""
_KEYS: dict[str, type | tuple[type, ...]] = {
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
    "witness": list,
    "violation_probability": dict,
    "facts": dict,
}
_OPTIONAL = ("witness", "violation_probability", "facts")
_LARGEST_TRUTH = 1 << 25


@dataclass(frozen=True)
class Verdict:
    """`margin` is the claimed one: the proof reaches it or does better."""

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


def read_files(onnx: Path, vnnlib_file: Path, truth: Path) -> list[tuple[Path, bytes]]:
    """The bytes that are checked, of each file in one read; arrays, in TRUTH.bin, come last."""
    arrays = truth.with_suffix(".bin")
    found = []
    for path in (onnx, vnnlib_file, truth, *([arrays] if arrays.exists() else [])):
        with path.open("rb") as stream:
            found.append((path, stream.read(LARGEST_FILE + 1)))
        if len(found[-1][1]) > LARGEST_FILE:
            raise Unsupported(f"{shown(path)} is larger than the checker reads")
    return found


def shown(path: Path) -> str:
    """A path that stays on its line, whatever characters are in it."""
    text = str(path)
    return text if text.isascii() and text.isprintable() else ascii(text)


def check(onnx: bytes, vnnlib_text: bytes, truth: bytes, arrays: bytes | None = None) -> Verdict:
    try:
        claim = _read_truth(truth)
        _check_digests(claim, onnx, vnnlib_text, arrays)
        with limited():
            question, graph = _read_question(onnx, vnnlib_text)
            decide = _check_robust if claim["answer"] == "robust" else _check_violated
            margin = decide(claim, Claim(question, graph, arrays))
        return Verdict("verified", claim["answer"], margin, claim["guard"])
    except Rejected as reason:
        return Verdict("rejected", reason=str(reason))
    except Unsupported as reason:
        return Verdict("unsupported", reason=str(reason))


def proven_margin(onnx: bytes, vnnlib_text: bytes, kind: str, arrays: bytes | None) -> Fraction:
    """The margin that a robust certificate proves; raises Rejected or Unsupported if none."""
    with limited():
        return _rule(kind)(Claim(*_read_question(onnx, vnnlib_text), arrays)).margin


def _read_question(onnx: bytes, vnnlib_text: bytes) -> tuple[Question, Graph]:
    question = vnnlib.read(vnnlib_text)
    graph = reader.read(onnx)
    if prod(graph.input_shape) != len(question.lower):
        raise Rejected("the network and the VNN-LIB file differ in the number of inputs")
    if prod(graph.output_shape) != question.outputs:
        raise Rejected("the network and the VNN-LIB file differ in the number of outputs")
    return question, graph


def _rule(kind: str) -> Callable[[Claim], Proof]:
    if kind not in RULES:
        raise Unsupported(f"no rule proves certificates of kind {kind[:40]!a}")
    return RULES[kind]


def _read_truth(data: bytes) -> dict[str, Any]:
    if len(data) > _LARGEST_TRUTH:
        raise Unsupported("the truth is larger than the checker reads")
    try:
        claim = json.loads(data.decode(), object_pairs_hook=_object, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Rejected("the truth is not JSON") from None
    if not isinstance(claim, dict):
        raise Rejected("the truth is not a JSON object")
    for key in claim:
        if key not in _KEYS:
            raise Unsupported(f"the truth makes a claim {key[:40]!a} that the checker cannot prove")
    for key, kind in _KEYS.items():
        if key in _OPTIONAL and key not in claim:
            continue
        if key not in claim or not isinstance(claim[key], kind) or isinstance(claim[key], bool):
            raise Rejected(f"{key!r} of the truth is missing or of the wrong type")
    if claim["schema"] != _SCHEMA:
        raise Unsupported(f"the truth's schema is not {_SCHEMA}")
    if claim["answer"] not in ("robust", "violated") or claim["guard"] not in ("float32", "real"):
        raise Rejected("the answer or the guard of the truth is not a known word")
    certificate = claim["certificate"]
    if set(certificate) - {"arrays_sha256"} != {"kind"} or not isinstance(certificate["kind"], str):
        raise Rejected("the certificate has no kind, or a key that is not known")
    return claim


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; other readers may take the other one of two equal keys."""
    if len(dict(pairs)) != len(pairs):
        raise Rejected("the truth states a key twice")
    return dict(pairs)


def _no_constant(name: str) -> None:
    raise Rejected(f"the truth holds {name}, which is not JSON")


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


def _check_robust(truth: dict[str, Any], claim: Claim) -> Fraction:
    kind = truth["certificate"]["kind"]
    if "witness" in truth or (claim.arrays is not None and kind not in WITH_ARRAYS):
        raise Rejected("the truth carries a witness or arrays that its certificate has no use for")
    if "violation_probability" in truth:
        raise Rejected("the truth of a robust network states a probability of violation")
    claimed = rational(truth["margin"], "the margin")
    proof = _rule(kind)(claim)
    if claimed <= 0 or proof.margin < claimed:
        raise Rejected(f"the margin {_short(claimed)} is claimed, {_short(proof.margin)} is proved")
    if truth["guard"] == "float32":
        check_float32(claim.network, claim.question, claim.box, proof)
    return claimed


def _check_violated(truth: dict[str, Any], claim: Claim) -> Fraction:
    if truth["certificate"] != {"kind": "witness"}:
        raise Rejected("a violated truth needs a certificate of kind 'witness' and nothing more")
    claimed = rational(truth["margin"], "the margin")
    texts, question = truth.get("witness", []), claim.question
    if len(texts) != len(question.lower) or not all(isinstance(text, str) for text in texts):
        raise Rejected("the witness is not one decimal text for each input")
    point = [decimal(text) for text in texts]
    for i, (low, value, high) in enumerate(zip(question.lower, point, question.upper, strict=True)):
        if not low <= value <= high:
            raise Rejected(f"the witness leaves the box at input {i}")
    vector = Vector.of(point)
    found = _margin_at(claim, vector)
    if claimed > 0 or found > claimed:
        raise Rejected(f"the margin {_short(claimed)} is claimed, the witness has {_short(found)}")
    if truth["guard"] == "float32":
        check_float32(claim.network, question, Interval(vector, vector), Proof(found))
    if "violation_probability" in truth:
        _check_probability(truth["violation_probability"], claim)
    return claimed


def _check_probability(stated: dict[str, Any], claim: Claim) -> None:
    """An exact probability must be the share of the box that violates, an enclosure hold it."""
    if set(stated) not in ({"exact"}, {"lower", "upper"}):
        raise Rejected("the probability is not stated as 'exact', or as 'lower' and 'upper'")
    if not all(isinstance(text, str) for text in stated.values()):
        raise Rejected("the probability is not stated as text")
    ends = {key: rational(text, "the probability") for key, text in stated.items()}
    low, high = violating_share(claim)
    if "exact" in ends and not low == high == ends["exact"]:
        raise Rejected("the exact probability that is claimed is not the one that is proved")
    if "lower" in ends and not 0 <= ends["lower"] <= low <= high <= ends["upper"] <= 1:
        raise Rejected("the claimed bounds of the probability do not hold the ones that are proved")


def _margin_at(claim: Claim, point: Vector) -> Fraction:
    """The margin at a point: exact on layers, otherwise the upper end of a small ball."""
    try:
        outputs = claim.network.outputs(point).fractions()
    except Unsupported:
        return highest_margin(claim.graph, claim.question, point)
    return claim.question.margin(outputs)


def _short(value: Fraction) -> str:
    """A short decimal text of a rational, rounded towards minus infinity."""
    scaled = (value.numerator * 10**12) // value.denominator
    if scaled.bit_length() > 1000:
        return "a number too large to print"
    digits = str(abs(scaled)).rjust(13, "0")
    return f"{'-' if scaled < 0 else ''}{digits[:-12]}.{digits[-12:]}"
