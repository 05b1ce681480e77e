"""The record of a run: sessions, verifiers that join, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from scripted_tools import LIAR_SAT, LIAR_UNSAT
from small_instances import instance, write_folder

from assay.errors import BadInput
from assay.judge.run_folder import RESULTS_FILE, RUN_FILE, open_run
from assay.judge.runner import Settings, run
from assay.suite.folder import BenchmarkFolder

SETTINGS = Settings(timeout_s=20, cpu_s=15)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> BenchmarkFolder:
    made = [instance("meap", "robust")]
    return BenchmarkFolder.open(write_folder(tmp_path_factory.mktemp("record") / "bench", made))


def test_the_record_says_what_where_and_when(bench: BenchmarkFolder, tmp_path: Path) -> None:
    run(bench, [LIAR_UNSAT], SETTINGS, tmp_path / "run")
    record = json.loads((tmp_path / "run" / RUN_FILE).read_text())
    assert record["verifiers"] == {"liar-unsat": "1"}
    assert (record["timeout_s"], record["cpu_s"], record["memory_mb"]) == (20, 15, 4096)
    assert record["benchmark"] == str(bench.path)
    (session,) = record["sessions"]
    assert session["engine"] == {"kind": "local", "jobs": 1}
    assert set(session["host"]) == {"name", "processor", "cores", "memory_mb", "system", "python"}
    assert session["host"]["memory_mb"] > 0
    assert session["started"].endswith("+00:00")


def test_a_verifier_joins_and_a_session_is_added(bench: BenchmarkFolder, tmp_path: Path) -> None:
    target = tmp_path / "run"
    run(bench, [LIAR_UNSAT], SETTINGS, target)
    run(bench, [LIAR_SAT], replace(SETTINGS, jobs=2), target)
    record = json.loads((target / RUN_FILE).read_text())
    assert record["verifiers"] == {"liar-unsat": "1", "liar-sat": "1"}
    assert [session["engine"]["jobs"] for session in record["sessions"]] == [1, 2]
    run(bench, [LIAR_UNSAT, LIAR_SAT], SETTINGS, target)
    assert json.loads((target / RUN_FILE).read_text()) == record, "there was nothing to do"


def test_another_version_or_limit_is_refused(bench: BenchmarkFolder, tmp_path: Path) -> None:
    target = tmp_path / "run"
    run(bench, [LIAR_UNSAT], SETTINGS, target)
    newer = replace(LIAR_UNSAT, version=lambda: "2")
    with pytest.raises(BadInput, match="holds results of liar-unsat 1 where 2 is here"):
        run(bench, [newer], SETTINGS, target)
    with pytest.raises(BadInput, match="was run with CPU time 15 s, now with CPU time 16 s; give"):
        run(bench, [LIAR_UNSAT], replace(SETTINGS, cpu_s=16), target)


@pytest.mark.parametrize("left", [(RESULTS_FILE,), (RESULTS_FILE, f"{RUN_FILE}.new")])
def test_a_start_that_was_killed_at_once(
    bench: BenchmarkFolder, tmp_path: Path, left: tuple[str, ...]
) -> None:
    target = tmp_path / "run"
    target.mkdir()
    for name in left:
        (target / name).write_text("" if name == RESULTS_FILE else '{"torn')
    assert len(run(bench, [LIAR_UNSAT], SETTINGS, target)) == 1


def test_results_without_a_record_are_left_alone(bench: BenchmarkFolder, tmp_path: Path) -> None:
    (tmp_path / RESULTS_FILE).write_text("precious\n")
    with pytest.raises(BadInput, match="something else"):
        run(bench, [LIAR_UNSAT], SETTINGS, tmp_path)
    assert (tmp_path / RESULTS_FILE).read_text() == "precious\n"


def test_two_runs_do_not_write_at_once(bench: BenchmarkFolder, tmp_path: Path) -> None:
    with (
        open_run(tmp_path / "run", bench.path, {}, {}),
        pytest.raises(BadInput, match="another run is writing"),
        open_run(tmp_path / "run", bench.path, {}, {}),
    ):
        pass
