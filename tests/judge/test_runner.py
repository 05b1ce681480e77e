"""The runner: every task once, endings by what happened, liars found out, runs resumed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from scripted_tools import (
    COIN,
    CRASHER,
    GARBAGE,
    LIAR_SAT,
    LIAR_UNSAT,
    NO_RELU,
    REFUSER,
    SILENT,
    SLEEPER,
    TIMED_OUT,
    says,
    tool,
)

from assay.errors import BadInput
from assay.judge.catalogue import verifier as named_verifier
from assay.judge.catalogue import verifiers
from assay.judge.run_folder import RESULTS_FILE
from assay.judge.runner import Settings, run
from assay.judge.scored_runs import score_runs
from assay.suite.build import build
from assay.suite.folder import BenchmarkFolder
from assay.suite.spec import parse_suite

SUITE = """name: t
timeout: 30
families:
  - {family: meap, fixed: {pairs: 2, inputs: 4, classes: 3, gamma: 0.5}}
  - {family: exact_radius, fixed: {hidden: [4], inputs: 3, classes: 2, fractions: [0.5]}}
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> BenchmarkFolder:
    folder = tmp_path_factory.mktemp("judged") / "bench"
    build(parse_suite(SUITE, "t.yaml"), folder, seed=None, jobs=1)
    return BenchmarkFolder.open(folder)


def test_endings_say_what_happened(bench: BenchmarkFolder, tmp_path: Path) -> None:
    tools = [CRASHER, GARBAGE, SILENT, REFUSER, TIMED_OUT, NO_RELU, SLEEPER, LIAR_UNSAT]
    results = run(bench, tools, Settings(timeout_s=3, jobs=4), tmp_path / "run")
    assert len(results) == len(tools) * 4
    endings = {tool.name: {r.ending for r in results if r.verifier == tool.name} for tool in tools}
    assert endings == {
        "crasher": {"crashed"},
        "garbage": {"garbled"},
        "silent": {"garbled"},
        "refuser": {"refused"},
        "timed-out": {"timeout"},
        "no-relu": {"unsupported"},
        "sleeper": {"timeout"},
        "liar-unsat": {"answered"},
    }
    crashed = [r for r in results if r.verifier == "crasher"]
    assert {r.verdict for r in crashed} == {"robust"}, "the verdict is kept"
    assert not any(r.counts for r in crashed), "and does not count"
    assert all((tmp_path / "run" / r.log).exists() for r in results)


def test_liars_are_found_out(bench: BenchmarkFolder, tmp_path: Path) -> None:
    target = tmp_path / "run"
    run(bench, [LIAR_UNSAT, LIAR_SAT, COIN], Settings(timeout_s=20, jobs=2), target)
    scores = score_runs([target], None, "2026")
    assert {finding.verifier for finding in scores.unsound} >= {"liar-unsat"}
    assert scores.row("liar-unsat").count("unsound") == 2
    assert scores.row("liar-unsat").count("proved") == 2
    assert scores.row("liar-sat").count("bogus") == 2
    assert scores.row("liar-sat").count("unwitnessed") == 2


@pytest.mark.slow
def test_built_in_tools_never_contradict_the_truth(bench: BenchmarkFolder, tmp_path: Path) -> None:
    target = tmp_path / "run"
    tools = [named_verifier("milp"), named_verifier("attack")]
    results = run(bench, tools, Settings(timeout_s=60, jobs=2), target)
    scores = score_runs([target], None, "2026")
    assert not scores.findings
    milp = [r for r in results if r.verifier == "milp"]
    assert [r.ending for r in milp] == ["answered"] * 4
    assert {r.verdict for r in milp} == {"robust", "violated"}
    assert all(r.witness_class == "exact" for r in results if r.verdict == "violated")


def test_a_tool_gets_a_core_for_each_of_its_threads(
    bench: BenchmarkFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # other runs have other locks
    asked = says("unknown\n") + "; import os; print(len(os.sched_getaffinity(0)))"
    most = len(os.sched_getaffinity(0))
    tools = [replace(tool(f"threads-{n}", asked), threads=n) for n in range(1, most + 1)]
    for result in run(bench, tools, Settings(timeout_s=20), tmp_path / "run"):
        log = (tmp_path / "run" / result.log).read_text()
        assert log.splitlines()[1] == result.verifier.removeprefix("threads-")


def test_cpu_time_is_a_limit(bench: BenchmarkFolder, tmp_path: Path) -> None:
    busy = tool("busy", "while True: pass")
    results = run(bench, [busy], Settings(timeout_s=60, cpu_s=0.2, jobs=2), tmp_path / "run")
    assert {(r.ending, r.detail) for r in results} == {("timeout", "met the CPU time limit")}


def test_a_finished_run_runs_nothing_again(bench: BenchmarkFolder, tmp_path: Path) -> None:
    target = tmp_path / "run"
    first = run(bench, [LIAR_UNSAT], Settings(timeout_s=20), target)
    again = run(bench, [LIAR_UNSAT], Settings(timeout_s=20, jobs=2), target)
    assert again == first
    more = run(bench, [LIAR_UNSAT, LIAR_SAT], Settings(timeout_s=20), target)
    assert more[: len(first)] == first
    assert len(more) == 2 * len(first)


def test_a_torn_line_is_run_again(bench: BenchmarkFolder, tmp_path: Path) -> None:
    target = tmp_path / "run"
    run(bench, [LIAR_UNSAT], Settings(timeout_s=20), target)
    file = target / RESULTS_FILE
    file.write_bytes(file.read_bytes()[:-20])
    results = run(bench, [LIAR_UNSAT], Settings(timeout_s=20), target)
    keys = [(r.instance, r.verifier, r.repeat) for r in results]
    assert len(keys) == len(set(keys)) == 4
    assert len(file.read_text().splitlines()) == 4


@pytest.mark.parametrize(
    ("settings", "what"),
    [(Settings(timeout_s=21), "timeout"), (Settings(timeout_s=20, seed=1), "seed")],
)
def test_other_settings_are_refused(
    bench: BenchmarkFolder, tmp_path: Path, settings: Settings, what: str
) -> None:
    run(bench, [LIAR_UNSAT], Settings(timeout_s=20), tmp_path / "run")
    with pytest.raises(BadInput, match=what):
        run(bench, [LIAR_UNSAT], settings, tmp_path / "run")


def test_other_bytes_are_refused(bench: BenchmarkFolder, tmp_path: Path) -> None:
    run(bench, [LIAR_UNSAT], Settings(timeout_s=20), tmp_path / "run")
    other = tmp_path / "other"
    build(parse_suite(SUITE + "seed: 9\n", "t.yaml"), other, seed=None, jobs=1)
    with pytest.raises(BadInput, match="another benchmark"):
        score_runs([tmp_path / "run"], other, "2026")


def test_a_foreign_folder_is_left_alone(bench: BenchmarkFolder, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(BadInput, match="something else"):
        run(bench, [LIAR_UNSAT], Settings(timeout_s=20), tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


def test_a_tool_that_is_not_here_says_how_to_get_it(bench: BenchmarkFolder, tmp_path: Path) -> None:
    absent = type(LIAR_UNSAT)(**{**vars(LIAR_UNSAT), "version": lambda: None})
    with pytest.raises(BadInput, match="get it with"):
        run(bench, [absent], Settings(), tmp_path / "run")


def test_every_declared_verifier_is_complete() -> None:
    known = verifiers()
    assert {"milp", "attack", "marabou"} <= set(known)
    for name, entry in known.items():
        assert entry.name == name
        assert entry.summary
        assert entry.install_hint
    with pytest.raises(BadInput, match="did you mean 'marabou'"):
        named_verifier("marabu")
