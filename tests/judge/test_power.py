"""The power of small benchmarks: who is caught where, floors, resuming, refusals."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from needles import Question, needle

from assay.engine.processes import Jobs
from assay.engine.work import Outcome, Watcher, Work
from assay.errors import BadInput
from assay.judge.power import kept
from assay.judge.power import measure as measuring
from assay.judge.power.catalogue import specimen
from assay.judge.power.floor import GRID, Step, find_floor, most_misses
from assay.judge.power.hunt import Hunt, Subject, hunted
from assay.judge.power.measure import Power, Settings
from assay.judge.power.memory import Memory
from assay.judge.power.mutant import Mutant, Specimen
from assay.judge.power.trial import Budget, tried
from assay.judge.run_folder import benchmark_sha256
from assay.question import vnnlib
from assay.suite.folder import BenchmarkFolder
from assay.truth.instance import sha256
from assay.truth.record import Truth, parse_truth

BUDGET = Budget(seconds=60.0, boxes=60)
QUESTIONS = {
    "hidden": ("planted", "soft", needle((0.3, -0.55), 0.06)),
    "shallow": ("planted", "lock", needle((0.3, -0.55), 0.06, peak=0.5)),
    "plain": ("broad", None, needle((0.3, -0.55), 2.0)),
}


def write(path: Path, names: Sequence[str] = tuple(QUESTIONS), **changed: str) -> Path:
    """A benchmark folder of needles, with truths that hold without a certificate."""
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


def measured(
    folder: Path, *names: str, seeds: int = 0, heard: Heard | None = None, jobs: Jobs = 1
) -> Power:
    @contextmanager
    def watched(_: str) -> Iterator[Watcher]:
        yield heard or Watcher()

    specimens = [specimen(name) for name in names]
    settings = Settings(BUDGET, jobs=jobs, seeds=seeds)
    return measured_by(folder, specimens, settings, watched)


def measured_by(
    folder: Path, specimens: Sequence[Specimen], settings: Settings, watched: measuring.Watched
) -> Power:
    digest = benchmark_sha256(BenchmarkFolder.open(folder))
    journal = folder / "power.jsonl"
    return measuring.measure_subjects(
        subjects_in(folder), digest, specimens, settings, journal, watched
    )


def subjects_in(folder: Path) -> list[Subject]:
    """Its questions, with truths that these tests vouch for."""
    found = []
    for entry in BenchmarkFolder.open(folder).entries:
        assert entry.truth is not None
        truth = parse_truth(entry.truth.read_bytes(), entry.name)
        family, kind = truth.family, truth.parameters.get("kind")
        name = f"{family}/{kind}" if kind else family
        found.append(Subject(entry.name, name, entry.onnx, entry.vnnlib, truth))
    return found


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


def test_a_truth_that_changes_makes_another_benchmark(tmp_path: Path) -> None:
    folder = write(tmp_path / "bench", ["shallow"])
    assert measured(folder, "full-queue").accusations == []
    path = folder / "truth" / "shallow.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "answer": "violated", "margin": "-1"}))
    with pytest.raises(BadInput, match="another benchmark, truth, budget, seed or version"):
        measured(folder, "full-queue")


def test_a_journal_depends_on_the_judge_and_the_packages(tmp_path: Path) -> None:
    folder = write(tmp_path / "bench", ["plain"])
    measured(folder, "full-queue")
    head = json.loads((folder / "power.jsonl").read_text().splitlines()[0])
    assert set(head["packages"]) >= {"torch", "scipy"}
    assert {"judge/power", "judge/outcome.py"} <= set(kept._SOURCES)


def test_damaged_lines_are_asked_again(tmp_path: Path) -> None:
    folder, heard = write(tmp_path / "bench"), Heard()
    measured(folder, "first-disjunct-wins")
    journal = folder / "power.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    del lines[1]["verdict"]
    lines[2]["seconds"] = "long"
    lines[4]["by"] = "nobody"
    journal.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    measured(folder, "first-disjunct-wins", heard=heard)
    assert heard.names == ["hidden", "shallow", "first-disjunct-wins planted/soft"]


class Dying:
    """An engine in this process, some of whose workers die when they hunt."""

    def __init__(self, names: Callable[[Hunt], bool]) -> None:
        self._names = names

    def describe(self) -> dict[str, Any]:
        return {}

    def outcomes(
        self, work: Work[Any, Any], items: Sequence[Any], *_: Any
    ) -> Generator[Outcome[Any, Any], None, None]:
        for item in items:
            if work.function is hunted and self._names(item):
                yield Outcome(item, 0.1, death="it was killed")
            else:
                yield Outcome(item, 0.1, result=work.function(item))


def test_hunts_that_die_decide_nothing(tmp_path: Path) -> None:
    folder = write(tmp_path / "bench", ["hidden"])
    names = ("dropped-domains", "first-disjunct-wins")
    dying = Dying(lambda h: h.specimen.startswith("dropped"))
    found = measured(folder, *names, seeds=20, jobs=dying)
    assert found.survivors == []
    assert [s.name for s in found.undecided] == ["dropped-domains@0.02"]
    assert found.died == {("dropped-domains@0.02", "planted/soft")}
    (floor,) = found.floors
    assert floor.strength is None
    assert floor.undecided == "20 of 20 hunts at 0.05 died"
    assert measured(folder, *names).undecided == [], "what died is asked again"


@pytest.mark.parametrize(
    ("step", "caught"),
    [
        (Step(0.1, 0, 0, 20), None),
        (Step(0.1, 0, 0, 0), False),
        (Step(0.1, 19, 19, 1), True),
        (Step(0.1, 18, 18, 2), None),
        (Step(0.1, 18, 18, 0), False),
        (Step(0.1, 3, 5, 1), False),
    ],
)
def test_only_what_was_caught_counts_as_caught(step: Step, caught: bool | None) -> None:
    assert step.is_caught(20) is caught


def test_a_mutant_that_breaks_down_over_a_network_has_crashed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(_self: Mutant, _network: object) -> bool:
        raise KeyError("weight")

    monkeypatch.setattr(Mutant, "touches", breaks)
    (subject,) = subjects_in(write(tmp_path / "bench", ["hidden"]))
    catch = hunted(Hunt("full-queue", subject.family, 0, (subject,), BUDGET))
    assert (catch.by, catch.tried, catch.crashed) == (None, 1, 1)


def test_the_seed_decides_the_dice(tmp_path: Path) -> None:
    folder = write(tmp_path / "bench", ["hidden"])

    @contextmanager
    def watched(_: str) -> Iterator[Watcher]:
        yield Watcher()

    settings = Settings(BUDGET, jobs=1, seed=7)
    found = measured_by(folder, [specimen("full-queue")], settings, watched)
    asked = [(c.seed, c.by is None) for c in found.catches.values()]
    assert asked == [(7, True)]
    with pytest.raises(BadInput, match="seed or version"):
        measured(folder, "full-queue")


def test_what_was_cut_short_is_not_remembered() -> None:
    memory = Memory()
    assert memory.recalled(b"key", lambda: "cut short", 0.0) == "cut short"
    assert memory.recalled(b"key", lambda: "whole") == "whole"
    assert memory.recalled(b"key", lambda: "again") == "whole"


def test_truths_are_hashed_with_their_families(tmp_path: Path) -> None:
    subjects = subjects_in(write(tmp_path / "bench"))
    first = subjects[0]
    others: list[Subject] = [
        replace(first, name="other"),
        replace(first, family="other"),
        replace(first, truth=replace(first.truth, answer="robust")),
    ]
    found = {kept.truths_sha256([other, *subjects[1:]]) for other in [first, *others]}
    assert len(found) == 4


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
    lines = '{"assay": "other"}\n{"kind": "baseline"}\n'
    (folder / "power.jsonl").write_text(lines)
    with pytest.raises(BadInput, match="another benchmark, truth, budget, seed or version"):
        measured(folder, "full-queue")
    assert (folder / "power.jsonl").read_text() == lines


@pytest.mark.parametrize("text", ["my notes", "my notes\nof today\n", "\nmy notes", '{"assay"'])
def test_a_file_of_somebody_else_is_left_alone(text: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "bench", ["plain"])
    (folder / "power.jsonl").write_text(text)
    if text == '{"assay"':  # a kill while the head was written
        assert measured(folder, "full-queue").accusations == []
        return
    with pytest.raises(BadInput, match=r"was not written by .*; choose another file"):
        measured(folder, "full-queue")
    assert (folder / "power.jsonl").read_text() == text


def test_truths_are_needed(tmp_path: Path) -> None:
    folder = write(tmp_path / "bench", ["plain"])
    (folder / "truth" / "plain.json").unlink()
    with pytest.raises(BadInput, match="plain has no truth"):
        measuring.subjects_of(folder)


def test_truths_are_proved(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"plain\.json: the checker does not verify it"):
        measuring.subjects_of(write(tmp_path / "bench", ["plain"]))
