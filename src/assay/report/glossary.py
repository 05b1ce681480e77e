"""Every word of the pages that a newcomer may not know, in a sentence or two."""

from __future__ import annotations

from collections.abc import Mapping

from assay.report.wording import OUTCOME_MEANING

_OUTCOMES: dict[str, str] = {
    str(outcome): f"An answer: {meaning}" for outcome, meaning in OUTCOME_MEANING.items()
}

GLOSSARY: Mapping[str, str] = {
    "instance": "One question: a network, a box of inputs and a property of its outputs.",
    "robust": "The property holds on the whole box; VNN-COMP says unsat.",
    "violated": "Some input of the box breaks the property; VNN-COMP says sat.",
    "truth": "The proven answer of an instance, with a certificate that an independent checker "
    "proves again by exact arithmetic.",
    "checker": "A small program of its own (python -m assay.proof) that proves the label of an "
    "instance from its files alone.",
    "certificate": "What the proof of a truth rests on; its kind names the rule of the checker.",
    "margin": "How far the outputs are from a violation: positive where the property holds, zero "
    "or below where it is violated.",
    "guard": "In which arithmetic the truth decides. float32: the margin exceeds every rounding "
    "error, so floating point gives the same answer. real: it does not (see knife-edge).",
    "knife-edge": "An instance whose margin is smaller than float32 rounding errors (guard real): "
    "only real arithmetic decides it. It is scored apart and makes no tool unsound.",
    "witness": "The input that a tool gives as its counterexample when it says violated.",
    "counterexample": "An input of the box whose outputs violate the property.",
    "twin": "The same network and box with the other answer: a robust instance and its violated "
    "twin are easily confused by a tool that guesses.",
    "hidden": "A counterexample that attacks do not find: they gave up, although it exists.",
    "family": "Instances made by one construction, such as meap or residual; VNN-COMP would call "
    "it a benchmark.",
    "solved": "Proved, or falsified with a witness that needs no tolerance.",
    "PAR2": "The mean time an instance, where every unsolved one costs twice its limit.",
    "virtual best": "What all tools together reach: on each instance the fastest that solves it.",
    "fastest": "How many instances it solves before all others.",
    "alone": "How many instances only it solves.",
    "p (Holm)": "The chance of so large a difference by luck alone, corrected for the number of "
    "pairs by Holm's method.",
    "AUC": "The chance that an unsolved instance has a larger value than a solved one; 0.5 tells "
    "nothing.",
    **_OUTCOMES,
}
