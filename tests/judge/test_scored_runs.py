"""Which runs are scored together, and which lines of results are no results of theirs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripted_tools import LIAR_SAT, LIAR_UNSAT
from small_instances import instance, write_folder

from assay.errors import BadInput
from assay.judge.run_folder import RESULTS_FILE
from assay.judge.runner import Settings, run
from assay.judge.scored_runs import score_runs
from assay.judge.task import Invocation, Question
from assay.judge.tool_environment import with_environment
from assay.judge.verifier import Verifier
from assay.report.material import gather
from assay.suite.folder import BenchmarkFolder

SETTINGS = Settings(timeout_s=20)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> BenchmarkFolder:
    made = [instance("meap", "robust"), instance("meap", "violated")]
    return BenchmarkFolder.open(write_folder(tmp_path_factory.mktemp("scored") / "bench", made))


@pytest.fixture
def ran(bench: BenchmarkFolder, tmp_path: Path) -> Callable[..., Path]:
    """Runs tools into a folder of this name."""

    def begin(name: str, *tools: Verifier, **settings: Any) -> Path:
        run(bench, tools, replace(SETTINGS, **settings), tmp_path / name)
        return tmp_path / name

    return begin


def keep_lines(path: Path, chosen: Callable[[dict[str, Any]], bool]) -> None:
    lines = (path / RESULTS_FILE).read_text().splitlines(keepends=True)
    kept = [line for line in lines if chosen(json.loads(line))]
    (path / RESULTS_FILE).write_text("".join(kept))


def change_line(path: Path, **changes: Any) -> None:
    """Change the second line."""
    first, second = (path / RESULTS_FILE).read_text().splitlines()
    changed = json.dumps(json.loads(second) | changes)
    (path / RESULTS_FILE).write_text(f"{first}\n{changed}\n")


def test_what_was_not_run_counts_as_unsolved(ran: Callable[..., Path]) -> None:
    path = ran("run", LIAR_UNSAT, LIAR_SAT)
    assert score_runs([path], None, "2026").incomplete == ""
    keep_lines(path, lambda line: line["verifier"] == "liar-unsat" and "robust" in line["instance"])
    scores = score_runs([path], None, "2026")
    assert (scores.tasks, scores.not_run) == (4, 3)
    row = scores.row("liar-unsat")
    assert (row.solved, row.instances, row.not_run) == (1, 2, 1)
    assert row.par2_s is not None
    assert row.par2_s > 20
    assert scores.row("liar-sat").not_run == 2


def test_repeats_are_tasks(ran: Callable[..., Path]) -> None:
    path = ran("run", LIAR_UNSAT, repeat=3)
    keep_lines(path, lambda line: line["repeat"] == 0)
    scores = score_runs([path], None, "2026")
    assert (scores.tasks, scores.not_run) == (6, 4)
    row = scores.row("liar-unsat")
    assert dict(row.counts) == {"unsound": 1}, "wrong once is wrong, right once of three is open"
    assert row.not_run == 1


def test_others_can_be_left_out(ran: Callable[..., Path]) -> None:
    path = ran("run", LIAR_UNSAT, LIAR_SAT)
    scores = score_runs([path], None, "2026", {"liar-sat"})
    assert scores.verifiers == ("liar-sat",)
    assert (scores.tasks, scores.not_run, scores.unsound) == (2, 0, ())


def test_a_run_counts_once(ran: Callable[..., Path], tmp_path: Path) -> None:
    path = ran("run", LIAR_UNSAT)
    (tmp_path / "link").symlink_to(path)
    for other in (path, tmp_path / "link"):
        with pytest.raises(BadInput, match="is named twice; name each run once"):
            score_runs([path, other], None, "2026")
    shutil.copytree(path, tmp_path / "copy")
    with pytest.raises(BadInput, match="both hold results of liar-unsat 1; score them one by one"):
        score_runs([path, tmp_path / "copy"], None, "2026")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"timeout_s": 5}, "run with timeout 20 s and .*other with timeout 5 s"),
        ({"timeout_s": None}, "timeout 20 s and .*other with the timeouts of instances.csv"),
        ({"memory_mb": 512}, "memory 4 GiB and .*other with memory 0.5 GiB"),
        ({"cpu_s": 9}, "no limit on CPU time and .*other with CPU time 9 s"),
    ],
)
def test_runs_with_other_limits_are_not_mixed(
    ran: Callable[..., Path], settings: dict[str, Any], words: str
) -> None:
    runs = [ran("run", LIAR_UNSAT), ran("other", LIAR_SAT, **settings)]
    for scored in (lambda: score_runs(runs, None, "2026"), lambda: gather(runs, None)):
        with pytest.raises(BadInput, match=f"{words}; score them one by one"):
            scored()


def test_versions_are_kept_apart(ran: Callable[..., Path]) -> None:
    loud = with_environment(LIAR_UNSAT, {"LOUD": "1"})
    runs = [ran("plain", LIAR_UNSAT), ran("loud", loud)]
    names = ("liar-unsat 1", "liar-unsat 1 with LOUD=1")
    assert score_runs(runs, None, "2026").verifiers == names
    material = gather(runs, None)
    assert tuple(material.tools) == names
    assert {task.settled.verifier for task in material.tasks} == set(names)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"wall_s": -1.0}, "not a readable result .wall_s is not a number from 0 up"),
        ({"wall_s": float("nan")}, "wall_s is not a number from 0 up"),
        ({"wall_s": float("inf")}, "wall_s is not a number from 0 up"),
        ({"cpu_s": "1"}, "cpu_s is not a number from 0 up"),
        ({"memory_mb": True}, "memory_mb is not a number from 0 up"),
        ({"repeat": -1}, "repeat is not a whole number from 0 up"),
        ({"repeat": 1}, "the run has no repeat number 1"),
        ({"instance": "nobody"}, "the benchmark has no instance 'nobody'"),
        ({"verifier": "nobody"}, "run.json does not name the verifier nobody 1"),
        ({"version": "2"}, "run.json does not name the verifier liar-unsat 2"),
        ({"witness": "0.5"}, "witness is not a list of texts"),
        ({"witness_check": []}, "witness_check is not an object"),
    ],
)
def test_lines_that_are_no_results(
    ran: Callable[..., Path], changes: dict[str, Any], words: str
) -> None:
    path = ran("run", LIAR_UNSAT)
    change_line(path, **changes)
    for scored in (lambda: score_runs([path], None, "2026"), lambda: gather([path], None)):
        with pytest.raises(BadInput, match=f"{RESULTS_FILE}:2: .*{words}.*remove the line"):
            scored()


def test_a_task_with_two_lines(ran: Callable[..., Path]) -> None:
    path = ran("run", LIAR_UNSAT)
    first = json.loads((path / RESULTS_FILE).read_text().splitlines()[0])
    change_line(path, instance=first["instance"])
    with pytest.raises(BadInput, match=f"{RESULTS_FILE}:2: repeats the task of line 1"):
        score_runs([path], None, "2026")


@pytest.mark.parametrize(
    "changes", [{"verifiers": None}, {"verifiers": {"a": 1}}, {"repeat": 0}, {"timeout_s": "20"}]
)
def test_a_damaged_record_is_told(ran: Callable[..., Path], changes: dict[str, Any]) -> None:
    path = ran("run", LIAR_UNSAT)
    record = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps(record | changes))
    with pytest.raises(BadInput, match=r"run\.json: .*restore it"):
        score_runs([path], None, "2026")


def test_results_that_are_gone_are_told(ran: Callable[..., Path]) -> None:
    path = ran("run", LIAR_UNSAT)
    (path / RESULTS_FILE).unlink()
    with pytest.raises(BadInput, match="cannot be read"):
        score_runs([path], None, "2026")


def test_a_truth_about_other_bytes_stops_run_and_score(
    bench: BenchmarkFolder, ran: Callable[..., Path], tmp_path: Path
) -> None:
    path = ran("run", LIAR_UNSAT)
    spoiled = tmp_path / "spoiled"
    shutil.copytree(bench.path, spoiled)
    truth = spoiled / "truth" / "meap-0-robust.json"
    document = json.loads(truth.read_text())
    truth.write_text(json.dumps(document | {"vnnlib_sha256": "0" * 64}))
    started = []

    def invoke(question: Question, folder: Path) -> Invocation:
        started.append(question.name)
        return LIAR_UNSAT.invoke(question, folder)

    words = "truth/meap-0-robust.json: is about other bytes than the files of meap-0-robust"
    with pytest.raises(BadInput, match=words):
        run(
            BenchmarkFolder.open(spoiled),
            [replace(LIAR_UNSAT, invoke=invoke)],
            SETTINGS,
            tmp_path / "new",
        )
    assert not started
    with pytest.raises(BadInput, match=words):
        score_runs([path], spoiled, "2026")
