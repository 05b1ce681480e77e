"""Every mutant: declared in full, wrong where its bug shows, and gone when it is switched off."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from mutant_questions import QUESTIONS

import assay.judge.mutants
from assay.errors import BadInput
from assay.judge.power.catalogue import mutants, specimen
from assay.judge.power.mutant import BugClass, Mutant, Setting, Specimen, Swap, applied, swapped
from assay.judge.power.trial import Budget, tried
from assay.question.graph import GraphBuilder
from assay.question.network import load
from assay.registry import declared

_ENOUGH = Budget(seconds=120.0, boxes=600)
_FEW = Budget(seconds=120.0, boxes=16)
"""For the bug that shows when a search is stopped: the right answer is then not to know."""
_STOPPED = "few-left-is-proved"


def test_there_are_many_and_every_class_of_bug_has_one() -> None:
    assert len(mutants()) >= 25
    assert {m.bug for m in mutants().values()} == set(get_args(BugClass))


def test_every_mutant_has_a_question() -> None:
    assert sorted({name.partition("@")[0] for name in QUESTIONS}) == sorted(mutants())


@pytest.mark.parametrize("name", mutants())
def test_a_mutant_is_declared_in_full(name: str) -> None:
    mutant = mutants()[name]
    assert name == mutant.name
    assert name.replace("-", "").isalpha()
    assert name.islower()
    assert mutant.story.endswith(".")
    assert mutant.story[0].isupper()
    assert mutant.swaps
    assert mutant.symbol is None or mutant.strength is not None
    assert ("strength" in mutant.story) == (mutant.strength is not None)


def test_a_module_is_named_after_its_mutant() -> None:
    found = [m for m in declared(assay.judge.mutants, "MUTANT") if isinstance(m, Mutant)]
    assert [m.name for m in found] == sorted(mutants())


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_mutant_is_wrong_where_its_bug_shows(name: str) -> None:
    asked, question = specimen(name), QUESTIONS[name]()
    budget = _FEW if name == _STOPPED else _ENOUGH
    before = tried(question.network, question.specification, budget)
    broken = tried(question.network, question.specification, budget, asked)
    assert not before.attacked
    assert before.verdict == ("unknown" if name == _STOPPED else question.truth)
    assert broken.verdict == asked.mutant.wrongly != question.truth


@pytest.mark.parametrize(
    ("flat", "computed"), [((1, 12), True), ((2, 6), False)], ids=["computed", "half flattened"]
)
def test_flattening_is_misread_only_where_the_weights_have_its_columns(
    flat: tuple[int, int], computed: bool
) -> None:
    graph = GraphBuilder((1, 2, 2, 3))
    rows = graph.reshape(graph.input, flat)
    weight = np.ones((flat[1], 3), np.float32)
    made = graph.gemm(rows, weight.T)
    network = load(graph.build(graph.flatten(made, 0)), "network")
    if computed:
        nodes = tuple(
            replace(node, inputs=(node.inputs[0], "computed", *node.inputs[2:]))
            if node.op_type == "Gemm"
            else node
            for node in network.nodes
        )
        network = replace(network, nodes=nodes)
    assert not mutants()["channels-last-flatten"].touches(network)


@pytest.mark.parametrize("name", mutants())
def test_swaps_are_undone(name: str) -> None:
    def current(swap: Swap) -> object:
        module, _, inner = swap.owner.partition(":")
        owner = importlib.import_module(module)
        found = getattr(owner, inner) if inner else owner
        table = found if isinstance(found, dict) else vars(found)
        return table.get(swap.attribute)

    mutant = mutants()[name]
    before = [current(swap) for swap in mutant.swaps]
    with applied(Specimen(mutant, mutant.strength)):
        assert [current(swap) for swap in mutant.swaps] != before
    assert [current(swap) for swap in mutant.swaps] == before


def test_a_swap_of_nothing_is_refused() -> None:
    nothing = Swap("assay.bounds.branch", "no_such_part", lambda original, _: original)
    with pytest.raises(KeyError), swapped(nothing, Setting(0.0, None)):  # type: ignore[arg-type]
        pass


def test_dice_depend_on_the_seed_and_the_question() -> None:
    found: list[float] = []

    def make(original: object, setting: Setting) -> object:
        found.append(setting.dice.random())
        return original

    noted = Swap("assay.bounds.branch", "split", make)
    diced = Specimen(Mutant("diced", "dropped domains", "Dice.", (noted,), strength=0.5), 0.5)
    for seed, about in ((0, "a"), (1, "a"), (0, "a"), (0, "b")):
        with applied(diced, seed, about):
            pass
    assert found[0] == found[2] != found[1]
    assert found[3] != found[0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("dropped-domain", "did you mean 'dropped-domains'"),
        ("dropped-domains@much", "'much' is not a strength"),
        ("dropped-domains@0", r"not in \(0, 1\]"),
        ("dropped-domains@nan", r"not in \(0, 1\]"),
        ("dropped-domains@1.5", r"not in \(0, 1\]"),
        ("last-disjunct-wins@0.5", "has no strength"),
    ],
)
def test_names_that_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        specimen(text)


def test_strengths_are_in_the_name() -> None:
    assert specimen("dropped-domains").name == "dropped-domains@0.02"
    assert specimen("dropped-domains@0.125").name == "dropped-domains@0.125"
    assert specimen("last-disjunct-wins").name == "last-disjunct-wins"
