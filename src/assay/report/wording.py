"""The words of the page: what each outcome and each class of witness means, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping

from assay.judge.outcome import Outcome
from assay.judge.score_table import Group

OUTCOME_MEANING: Mapping[Outcome, str] = {
    "unsound": "It says robust, but the truth is violated: a wrong proof.",
    "contradicted": "It says robust, but another tool has an exact counterexample.",
    "bogus": "It says violated, but the truth is robust: a false alarm.",
    "unwitnessed": "It says violated, but its witness shows no violation.",
    "inconsistent": "Its repeats do not agree; no outcome holds the majority.",
    "proved": "It says robust, and that is the truth.",
    "falsified": "It says violated, rightly, with a witness that needs no tolerance.",
    "falsified unchecked": "It says violated, rightly; nobody has looked at its witness.",
    "falsified within tolerance": "It says violated, rightly, but its witness lies outside the box "
    "by up to the tolerance.",
    "says robust": "It says robust; there is no truth to compare with.",
    "says violated": "It says violated; there is no truth to compare with.",
    "unknown": "It gave up in an orderly way.",
    "timeout": "It met the time limit.",
    "out-of-memory": "It met the memory limit.",
    "crashed": "It crashed; a verdict that it wrote before does not count.",
    "refused": "It declined the question.",
    "unsupported": "The network has an operator that it does not take; it was not run.",
    "garbled": "Its result file could not be read as an answer.",
}
WORST_FIRST: tuple[Outcome, ...] = tuple(OUTCOME_MEANING)

WITNESS_MEANING: Mapping[str, str] = {
    "exact": "as written it lies in the box and violates over the real numbers",
    "float32 only": "rounded to float32 it lies in the box, and ONNX Runtime computes a violation",
    "within tolerance only": "outside the box by at most 1e-4; the replay there violates",
    "no violation": "near enough to the box, but nothing shows a violation",
    "outside box": "farther outside the box than any tolerance allows",
    "missing": "no usable point: absent, not finite, or of the wrong length",
    "unchecked": "nobody has looked at it",
}

GROUP_TITLE: Mapping[Group, str] = {
    "float32": "Answers that hold in floating point too",
    "real": "Knife-edge instances, scored apart",
    "no truth": "Instances without a known truth",
}
GROUP_NOTE: Mapping[Group, str] = {
    "float32": "The certified margin exceeds every float32 rounding error: real and float32 "
    "execution agree on the answer.",
    "real": "Only real arithmetic decides these (guard real). A wrong answer here makes no tool "
    "unsound.",
    "no truth": "These can be compared, not judged.",
}
