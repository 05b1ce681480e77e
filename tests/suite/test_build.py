"""Building in this process: bytes, records, replacements, refusals."""

from __future__ import annotations

import csv
import fcntl
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from small_disk import Disk

from assay.engine import processes
from assay.engine.work import WorkerFault
from assay.errors import BadInput, CannotCertify
from assay.suite.build import BuildReport, build
from assay.suite.folder import BenchmarkFolder
from assay.suite.spec import parse_suite
from assay.suite.verified import require_verified
from assay.truth.families import family
from assay.truth.record import Truth

pytestmark = pytest.mark.usefixtures("tiny")


def built(folder: Path, entry: str, *, jobs: int = 1, seed: int | None = None) -> BuildReport:
    text = f"name: a\nfamilies:\n  - {{family: tiny, {entry}}}\n"
    return build(parse_suite(text, "a.yaml"), folder, seed=seed, jobs=jobs)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder; suite.json without its timings."""
    files = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    document = json.loads(files["suite.json"])
    del document["timings"]
    return files | {"suite.json": json.dumps(document).encode()}


def test_a_folder_is_a_benchmark_with_truths(tmp_path: Path) -> None:
    report = built(tmp_path / "out", "count: 3, timeout: 2.5")
    folder = BenchmarkFolder.open(tmp_path / "out")
    assert report.counts == {"tiny": {"robust": 3, "violated": 3}}
    assert report.instances == len(folder.entries) == 6
    assert not folder.without_truth()
    assert not folder.strays()
    assert {entry.timeout for entry in folder.entries} == {2.5}
    names = [entry.name for entry in folder.entries]
    assert names == [
        f"tiny-00-00{i}-{answer}" for i in range(3) for answer in ("robust", "violated")
    ]
    for entry in folder.entries:
        assert entry.truth is not None
        truth = Truth.from_json(entry.truth.read_text(), entry.name)
        assert truth.twin in names
        assert truth.twin != entry.name
    assert (tmp_path / "out/truth/tiny-00-000-robust.bin").stat().st_size == 20
    assert not (tmp_path / "out/.build").exists()
    with (tmp_path / "out/instances.csv").open(newline="") as stream:
        assert next(csv.reader(stream))[2] == "2.5"


def test_the_number_of_jobs_changes_no_byte(tmp_path: Path) -> None:
    entry = "count: 6, range: {level: {low: 0.1, high: 1.0}, sleep: {low: 1e-3, high: 3e-2}}"
    built(tmp_path / "one", entry, jobs=1)
    built(tmp_path / "three", entry, jobs=3)
    built(tmp_path / "other", entry, jobs=3, seed=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "three")
    assert contents(tmp_path / "one") != contents(tmp_path / "other")


def test_suites_built_together_have_the_bytes_they_have_apart(tmp_path: Path) -> None:
    texts = (
        "name: a\nseed: 3\nfamilies:\n  - {family: tiny, count: 2}\n  - {family: tiny}\n",
        "name: b\nseed: 5\nfamilies:\n  - {family: tiny, count: 2}\n",
    )
    first, second = (parse_suite(text, "x.yaml") for text in texts)
    for suite, name in ((first, "a"), (second, "b")):
        build(suite, tmp_path / name, seed=None, jobs=1)
    together = build(first, tmp_path / "both", seed=None, jobs=1, also=[second])
    assert together.instances == 10
    assert json.loads((tmp_path / "both" / "suite.json").read_text())["name"] == "a + b"
    apart = [contents(tmp_path / name) for name in ("a", "b")]
    both = contents(tmp_path / "both")
    for name in ("tiny-00-001-robust", "tiny-01-000-violated"):
        assert both[f"onnx/{name}.onnx"] == apart[0][f"onnx/{name}.onnx"]
    for draw in ("000-robust", "001-violated"):
        assert both[f"onnx/tiny-02-{draw}.onnx"] == apart[1][f"onnx/tiny-00-{draw}.onnx"]


def test_no_more_processes_than_there_is_work_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    real = processes.WorkerProcess
    monkeypatch.setattr(processes, "WorkerProcess", lambda work: made.append(work) or real(work))
    built(tmp_path / "out", "count: 2", jobs=10**9)
    assert len(made) == 2


def test_workers_are_single_threaded(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    calls.mkdir()
    built(tmp_path / "out", f"fixed: {{calls: {calls}}}")
    assert [path.read_text() for path in calls.iterdir()] == ["1"]


def test_without_twins(tmp_path: Path) -> None:
    report = built(tmp_path / "out", "count: 2, twins: false")
    assert report.counts == {"tiny": {"robust": 2, "violated": 0}}
    for path in (tmp_path / "out/truth").glob("*.json"):
        assert Truth.from_json(path.read_text(), path.name).twin is None


def test_a_seed_without_proof_is_replaced_and_said(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    calls.mkdir()
    report = built(tmp_path / "out", f"fixed: {{refuse: 2, calls: {calls}}}")
    assert report.instances == 2
    assert [item["task"] for item in report.replacements] == ["tiny-00-000"] * 2
    assert "has no proof" in report.replacements[0]["reason"]
    seeds = [path.name.split("-")[1] for path in sorted(calls.iterdir())]
    assert len(set(seeds)) == 3
    truth = json.loads((tmp_path / "out/truth/tiny-00-000-robust.json").read_text())
    assert str(truth["seed"]) == seeds[2] == str(report.replacements[0]["used"])


def test_no_seed_with_a_proof_fails_that_draw_only(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    calls.mkdir()
    text = (
        "name: a\nfamilies:\n  - {family: tiny}\n"
        f"  - {{family: tiny, replace: 1, fixed: {{refuse: 99, calls: {calls}}}}}\n"
    )
    report = build(parse_suite(text, "a.yaml"), tmp_path / "out", seed=None, jobs=1)
    assert report.instances == 2
    assert [failure["task"] for failure in report.failures] == ["tiny-01-000"]
    assert "none of 2 seeds could be certified" in report.failures[0]["reason"]
    assert len(list(calls.iterdir())) == 2
    assert len(BenchmarkFolder.open(tmp_path / "out").entries) == 2


@pytest.mark.parametrize(
    ("failure", "reason"),
    [("input", "a.yaml:3: tiny: this level is not possible"), ("death", "ended by SIGKILL")],
)
def test_a_failing_draw_keeps_the_rest(tmp_path: Path, failure: str, reason: str) -> None:
    report = built(tmp_path / "out", f"grid: {{failure: ['', {failure}, '']}}")
    assert report.instances == 4
    assert reason in report.failures[0]["reason"]


def test_a_defect_is_not_hidden(tmp_path: Path) -> None:
    with pytest.raises(WorkerFault, match="a defect of the family"):
        built(tmp_path / "out", "fixed: {failure: defect}")


def test_duplicates_are_refused_by_name(tmp_path: Path) -> None:
    report = built(tmp_path / "out", "count: 3, fixed: {same: true}", jobs=2)
    assert report.instances == 2
    assert [failure["task"] for failure in report.failures] == ["tiny-00-001", "tiny-00-002"]
    reason = report.failures[0]["reason"]
    assert reason == "tiny-00-001-violated is the same question as tiny-00-000-violated"
    assert not BenchmarkFolder.open(tmp_path / "out").strays()


def test_a_finished_folder_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = built(out, "count: 2")
    times = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    second = built(out, "count: 2")
    assert second.already == second.tasks == first.tasks == 2
    assert times == {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    with pytest.raises(BadInput, match="finished build with a different suite text"):
        built(out, "count: 3")
    with pytest.raises(BadInput, match=r"different seed \(1, now 5\)"):
        built(out, "count: 2", seed=5)


def test_failed_draws_are_tried_again_and_only_those(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    calls.mkdir()
    entry = f"count: 2, replace: 0, fixed: {{refuse: 1, calls: {calls}}}"
    assert len(built(tmp_path / "out", entry).failures) == 1
    again = built(tmp_path / "out", entry)
    assert (again.already, again.failures, again.instances) == (1, [], 4)
    assert len(list(calls.iterdir())) == 3


def test_a_record_whose_files_changed_is_not_believed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    entry = "count: 2, grid: {failure: ['', death]}"
    built(out, entry)
    target = out / "onnx/tiny-00-000-robust.onnx"
    whole = target.read_bytes()
    target.write_bytes(whole[:10])
    assert built(out, entry).already == 0
    assert target.read_bytes() == whole


def test_foreign_folders_are_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(BadInput, match="not empty and not a build"):
        built(tmp_path, "count: 1")
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("content", ["[]", "{", '{"a": 1}'])
def test_a_foreign_suite_json_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "suite.json").write_text(content)
    with pytest.raises(BadInput, match="choose"):
        built(tmp_path, "count: 1")
    assert [path.name for path in tmp_path.iterdir()] == ["suite.json"]


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(BadInput, match="is a file"):
        built(tmp_path / "out", "count: 1")
    with pytest.raises(BadInput, match="cannot write"):
        built(tmp_path / "out" / "below", "count: 1")


def test_two_builds_at_once(tmp_path: Path) -> None:
    (tmp_path / ".build").mkdir()
    with (tmp_path / ".build/lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(BadInput, match="another build is writing here"):
            built(tmp_path, "count: 1")
    assert built(tmp_path, "count: 1").instances == 2


def test_a_full_disk_is_one_sentence_and_can_be_resumed(tmp_path: Path, small_disk: Disk) -> None:
    disk = small_disk(56)
    with pytest.raises(BadInput, match="No space left on device; make room"):
        built(disk.path / "out", "count: 3")
    disk.grow(4096)
    again = built(disk.path / "out", "count: 3")
    assert 0 < again.already < 3
    built(tmp_path / "whole", "count: 3")
    assert contents(disk.path / "out") == contents(tmp_path / "whole")


def test_what_the_checker_does_not_verify_is_refused() -> None:
    constructor = family("tiny")
    unproved = [
        replace(instance, truth=replace(instance.truth, margin=Fraction(1000)))
        for instance in constructor.make(constructor.knobs(), 1)
        if instance.truth.answer == "robust"
    ]
    with pytest.raises(CannotCertify, match="the checker does not verify robust"):
        require_verified(unproved[0])
