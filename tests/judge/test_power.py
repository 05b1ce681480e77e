"""The power of small benchmarks: who is caught where, floors, resuming, refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
from needles import Question, needle

from assay.errors import BadInput
from assay.judge.power.catalogue import specimen
from assay.judge.power.floor import GRID, Step, find_floor, most_misses
from assay.judge.power.measure import Power, Settings, measure
from assay.judge.power.memory import Memory
from assay.judge.power.mutant import Specimen
from assay.judge.power.trial import Budget, tried
from assay.question import vnnlib
from assay.suite.workers import Watcher
from assay.truth.instance import sha256
from assay.truth.record import Truth

BUDGET = Budget(seconds=60.0, boxes=60)
QUESTIONS = {
    "hidden": ("planted", "soft", needle((0.3, -0.55), 0.06)),
    "shallow": ("planted", "lock", needle((0.3, -0.55), 0.06, peak=0.5)),
    "plain": ("broad", None, needle((0.3, -0.55), 2.0)),
}


def write(path: Path, names: Sequence[str] = tuple(QUESTIONS), **changed: str) -> Path:
    """A benchmark folder of needles with truths."""
    for part in ("onnx", "vnnlib", "truth"):
        (path / part).mkdir(parents=True)
    for name in names:
        family, kind, question = QUESTIONS[name]
        text = _text(question)
        truth = Truth(
            answer=changed.get(name, question.truth),  # type: ignore[arg-type]
            margin=Fraction(1 if question.truth == "robust" else -1),
            guard="float32",
            family=family,
            parameters={} if kind is None else {"kind": kind},
            seed=0,
            twin=None,
            onnx_sha256=sha256(question.network.onnx),
            vnnlib_sha256=sha256(text),
            certificate={"kind": "none"},
        )
        (path / "onnx" / f"{name}.onnx").write_bytes(question.network.onnx)
        (path / "vnnlib" / f"{name}.vnnlib").write_bytes(text)
        (path / "truth" / f"{name}.json").write_text(truth.to_json())
    rows = [f"onnx/{name}.onnx,vnnlib/{name}.vnnlib,30\n" for name in names]
    (path / "instances.csv").write_text("".join(rows))
    return path


def _text(question: Question) -> bytes:
    case = question.specification.cases[0]
    return vnnlib.write(case.box, case.violation).encode()


class Heard(Watcher):
    def __init__(self) -> None:
        self.names: list[str] = []

    def finished(self, name: str, seconds: float, note: str = "") -> None:
        del seconds, note
        self.names.append(name)


def measured(folder: Path, *names: str, seeds: int = 0, heard: Heard | None = None) -> Power:
    @contextmanager
    def watched(_: str) -> Iterator[Watcher]:
        yield heard or Watcher()

    specimens = [specimen(name) for name in names]
    settings = Settings(BUDGET, jobs=1, seeds=seeds)
    return measure(folder, specimens, settings, folder / "power.jsonl", watched)


def test_a_hidden_counterexample_catches_what_a_plain_one_does_not(tmp_path: Path) -> None:
    folder = write(tmp_path / "bench")
    found = measured(folder, "first-disjunct-wins", "pool-counts-padding", "full-queue")
    assert found.families == ("planted/soft", "planted/lock", "broad")
    caught = found.catches["first-disjunct-wins", "planted/soft"]
    assert (caught.by, caught.outcome) == ("hidden", "unsound")
    # A robust instance cannot show a wrong 'robust', nor can one that the attack breaks.
    assert set(found.catches) == {
        ("first-disjunct-wins", "planted/soft"),
        ("full-queue", "planted/soft"),
    }
    assert [s.name for s in found.survivors] == ["pool-counts-padding", "full-queue"]
    assert found.accusations == []
    assert [b.attacked for b in found.baselines] == [False, False, True]


def test_what_the_verifier_leaves_open_is_asked_of_survivors(tmp_path: Path) -> None:
    names = [f"open{number}" for number in range(4)]
    places = ((0.3, -0.55, 0.1), (-0.3, 0.55, 0.2), (0.4, 0.2, -0.6), (0.7, -0.3, -0.2))
    for name, place in zip(names, places, strict=True):
        QUESTIONS[name] = ("open", None, needle(place, 0.06, skew=0.1))
    folder = write(tmp_path / "bench", names)
    found = measured(folder, "first-disjunct-wins", "pads-at-one-side", "few-left-is-proved")
    assert {b.verdict for b in found.baselines} == {"unknown"}
    places_asked = {
        (line["specimen"], line["place"]): line["tried"]
        for line in map(json.loads, (folder / "power.jsonl").read_text().splitlines()[1:])
        if line["kind"] == "catch"
    }
    assert places_asked == {
        ("first-disjunct-wins", "open"): 1,
        ("few-left-is-proved", "open"): 1,
        ("few-left-is-proved", "what the verifier leaves open"): 3,
    }


@pytest.mark.parametrize("name", ["dropped-domains@0.3", "same-half-twice", "near-zero-is-proved"])
def test_a_search_that_remembers_says_the_same(name: str) -> None:
    question, memory = needle((0.3, -0.55), 0.06, skew=0.1), Memory()
    ask = partial(tried, question.network, question.specification, Budget(60.0, 100))
    for seed in range(3):
        plain = ask(specimen(name), seed=seed)
        assert ask(specimen(name), seed=seed, memory=memory).verdict == plain.verdict
        assert ask(seed=seed, memory=memory).verdict == ask(seed=seed).verdict == "violated"


def test_a_mutant_that_reads_a_network_right_is_not_asked_about_it(tmp_path: Path) -> None:
    folder = write(tmp_path / "bench", ["hidden"])
    found = measured(folder, "square-gemm-transposed", "tiny-weights-dropped")
    # No matrix is square, and all weights of a layer are of one size.
    assert [catch.tried for catch in found.catches.values()] == [0, 0]


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    folder, first, second = write(tmp_path / "bench"), Heard(), Heard()
    before = measured(folder, "first-disjunct-wins", heard=first)
    assert len(first.names) == 4
    journal = folder / "power.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-9])  # a kill while the last line was written
    after = measured(folder, "first-disjunct-wins", heard=second)
    assert second.names == ["first-disjunct-wins planted/soft"]
    assert after.catches.keys() == before.catches.keys()
    assert [json.loads(line)["kind"] for line in journal.read_text().splitlines()[1:]] == [
        *("baseline",) * 3,
        "catch",
    ]


def test_a_wrong_label_shows_as_a_false_accusation(tmp_path: Path) -> None:
    folder = write(tmp_path / "bench", ["shallow"], shallow="violated")
    found = measured(folder, "full-queue")
    assert [(b.instance, b.outcome) for b in found.accusations] == [("shallow", "unsound")]


def test_floors_are_sought_among_the_mutants_that_have_a_symbol(tmp_path: Path) -> None:
    folder = write(tmp_path / "bench", ["hidden"])
    found = measured(folder, "shrunk-bounds", "full-queue", seeds=2)
    (floor,) = found.floors
    assert (floor.mutant, floor.symbol, floor.seeds) == ("shrunk-bounds", "alpha", 2)
    assert [step.strength for step in floor.steps][:1] == [GRID[len(GRID) // 2]]


@pytest.mark.parametrize("least", range(len(GRID) + 1))
def test_the_floor_is_found_by_bisection(least: int) -> None:
    asked: list[float] = []

    def catches(at: Specimen, seeds: Sequence[int]) -> Step:
        assert at.strength is not None
        asked.append(at.strength)
        caught = GRID.index(at.strength) >= least
        return Step(at.strength, len(seeds) - (1 if caught else 2), len(seeds))

    floor = find_floor(specimen("dropped-domains"), "beta", 20, catches)
    assert floor.strength == (GRID[least] if least < len(GRID) else None)
    assert len(asked) == len(set(asked)) <= 3


def test_nineteen_of_twenty_is_enough() -> None:
    assert most_misses(20) == 1
    assert most_misses(19) == 0
    assert most_misses(40) == 2


def test_a_journal_of_something_else_is_left_alone(tmp_path: Path) -> None:
    folder = write(tmp_path / "bench", ["plain"])
    (folder / "power.jsonl").write_text('{"assay": "other"}\n')
    with pytest.raises(BadInput, match="another benchmark, budget or version"):
        measured(folder, "full-queue")
    assert (folder / "power.jsonl").read_text() == '{"assay": "other"}\n'


def test_truths_are_needed(tmp_path: Path) -> None:
    folder = write(tmp_path / "bench", ["plain"])
    (folder / "truth" / "plain.json").unlink()
    with pytest.raises(BadInput, match="plain has no truth"):
        measured(folder, "full-queue")
