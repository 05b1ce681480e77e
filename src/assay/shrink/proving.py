"""The truth of a draft, proved on its bytes, or None: what cannot be proved is not a step.

A violated truth needs an exact witness: the point as it moved along, or one that a quick search
meets. A robust one needs a certificate that the checker accepts: of the kind that the original
had, of one that needs no search, or a tree of ReLU phases. The checker has the last word on all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from assay.bounds.counterexample import Falsifier
from assay.bounds.inequalities import Excesses
from assay.errors import AssayError
from assay.proof import arithmetic
from assay.proof.checker import check, proven_margin
from assay.question import vnnlib
from assay.question.point_evaluation import PointEvaluation
from assay.shrink.draft import Draft
from assay.shrink.phase_proof import phase_proof
from assay.truth.dyadic import short, short_above, short_below
from assay.truth.instance import Instance, sha256
from assay.truth.record import Answer, Guard, Truth

FAMILY = "shrunk"
_WITHOUT_SEARCH = ("planted", "constant_box", "contractive_cnn")
"""Certificates without arrays that speak of any chain, or of many."""
_WITNESS_BITS = (1, 2, 3, 4, 6, 8, 12, 16)
_LESS = 1 - Fraction(1, 1 << 30)
"""What is stated of a margin that is known as a ball only."""


@dataclass(frozen=True)
class Proved:
    """A draft with its truth; the point may be another than the one that was tried."""

    draft: Draft
    instance: Instance


@dataclass(frozen=True)
class Prover:
    """The truth that every step must keep: its answer, and its guard if that was float32."""

    name: str
    answer: Answer
    guard: Guard
    kind: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def proved(self, draft: Draft) -> Proved | None:
        try:
            found = self._violated(draft) if self.answer == "violated" else self._robust(draft)
        except (AssayError, OverflowError):
            return None  # a network that some part of Assay does not follow
        return found

    def _violated(self, draft: Draft) -> Proved | None:
        found = self._at_point(draft)
        if found is not None:
            return found
        case = draft.case
        point = Falsifier(draft.network, case, Excesses.of(case.violation), 0).attack()
        return None if point is None else self._at_point(replace(draft, point=point))

    def _at_point(self, draft: Draft) -> Proved | None:
        margin = _highest_margin(draft)
        if margin is None or margin > 0:
            return None
        witness = tuple(vnnlib.decimal(value) for value in draft.point)
        return self._checked(draft, margin, {"kind": "witness"}, witness=witness)

    def shorter_witness(self, found: Proved) -> Proved:
        """The same question with a witness that is shorter to write, where there is one."""
        if self.answer == "robust":
            return found
        for i in range(len(found.draft.point)):
            for bits in _WITNESS_BITS:
                point = list(found.draft.point)
                point[i] = short(point[i], bits)
                moved = replace(found.draft, point=tuple(point))
                inside = found.draft.case.box.contains(point)
                shorter = self._at_point(moved) if inside else None
                if shorter is not None:
                    found = shorter
                    break
        return found

    def _robust(self, draft: Draft) -> Proved | None:
        kinds = dict.fromkeys((self.kind, *_WITHOUT_SEARCH))
        for kind in kinds:
            try:
                margin = proven_margin(draft.onnx, draft.vnnlib, kind, None)
            except (arithmetic.Rejected, arithmetic.Unsupported):
                continue
            found = self._checked(draft, margin, {"kind": kind}) if margin > 0 else None
            if found is not None:
                return found
        arrays = phase_proof(draft)
        if arrays is None:
            return None
        try:
            margin = proven_margin(draft.onnx, draft.vnnlib, "relu_tree", arrays)
        except (arithmetic.Rejected, arithmetic.Unsupported):
            return None
        certificate = {"kind": "relu_tree", "arrays_sha256": sha256(arrays)}
        return self._checked(draft, margin, certificate, arrays=arrays)

    def _checked(
        self,
        draft: Draft,
        margin: Fraction,
        certificate: dict[str, str],
        *,
        witness: tuple[str, ...] | None = None,
        arrays: bytes | None = None,
    ) -> Proved | None:
        """The truth with the best guard that the checker verifies; None if it is not enough."""
        onnx, question = draft.key
        truth = Truth(
            answer=self.answer,
            margin=short_below(margin) if self.answer == "robust" else short_above(margin),
            guard="float32",
            family=FAMILY,
            parameters=dict(self.parameters),
            seed=0,
            twin=None,
            onnx_sha256=onnx,
            vnnlib_sha256=question,
            certificate=certificate,
            witness=witness,
        )
        guards: tuple[Guard, ...] = ("float32", "real")
        for guard in guards[:1] if self.guard == "float32" else guards:
            stated = replace(truth, guard=guard)
            verdict = check(draft.onnx, draft.vnnlib, stated.to_json().encode(), arrays)
            if verdict.status == "verified":
                return Proved(draft, Instance(self.name, draft.onnx, draft.vnnlib, stated, arrays))
        return None


def _highest_margin(draft: Draft) -> Fraction | None:
    """The margin at the point, or what a ball about it does not exceed."""
    bounds = PointEvaluation(draft.network, draft.point).margin(draft.case.violation)
    if bounds is None:
        return None
    low, high = bounds
    return high if low == high or high > 0 else high * _LESS
