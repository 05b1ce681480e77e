"""A calibration on disk: the same for any number of jobs, resumable, read back as it was."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from assay.analyse.broken import broken_analysers
from assay.analyse.calibration import calibrating
from assay.analyse.calibration import power as calibration_power
from assay.analyse.calibration.calibrating import (
    PROGRESS,
    MeasureTask,
    Subject,
    built_questions,
    calibrate,
    subjects_of,
)
from assay.analyse.calibration.files import DOCUMENT, TABLE, Calibration, read_calibration
from assay.analyse.calibration.known import Effort
from assay.analyse.calibration.measured import Measured
from assay.analyse.calibration.power import Hunt, hunt
from assay.engine.work import Watcher
from assay.errors import BadInput
from assay.suite.build import build
from assay.suite.spec import parse_suite

SUITE = """
name: known
description: Two failure rates.
seed: 1
timeout: 10
families:
  - family: planted
    grid: {kind: [soft_box, xor_lock]}
    fixed: {inputs: 5, width: 0.3, height: 8, parities: 6, neurons: 2, dilution: 0}
"""
EFFORT = Effort(repeats=5, samples=20_000)
NAMES = ("decide-sprt", "decide-paper", "interval-clopper-pearson", "roma")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calibrating") / "bench"
    build(parse_suite(SUITE, "known.yaml"), folder, seed=None, jobs=1)
    return folder


@pytest.fixture(scope="module")
def subjects(bench: Path) -> list[Subject]:
    return subjects_of(bench, 1, Watcher())


@pytest.fixture(scope="module")
def made(subjects: list[Subject], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    calibrate(subjects, EFFORT, NAMES, folder, 2)
    return folder


def rows_of(folder: Path) -> object:
    return read_calibration(folder / DOCUMENT).rows


def test_only_questions_with_a_rate_are_taken(subjects: list[Subject]) -> None:
    assert [(s.kind, s.inputs) for s in subjects] == [("soft_box", 5), ("xor_lock", 5)]
    assert all(s.name.endswith("-violated") and 0 < s.rate < 0.1 for s in subjects)
    assert [s.lower == s.upper for s in subjects] == [True, False]


def test_jobs_do_not_matter(subjects: list[Subject], made: Path, tmp_path: Path) -> None:
    calibrate(subjects, EFFORT, NAMES, tmp_path, 1)
    assert rows_of(tmp_path) == rows_of(made)
    assert (tmp_path / TABLE).read_text() == (made / TABLE).read_text()


def test_a_stopped_calibration_goes_on(
    subjects: list[Subject], made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (made / PROGRESS).read_bytes().splitlines(keepends=True)
    (tmp_path / PROGRESS).write_bytes(b"".join(lines[:2]) + lines[2][:40])
    found = calibrate(subjects, EFFORT, NAMES, tmp_path, 1)
    assert found.already == 1
    assert rows_of(tmp_path) == rows_of(made)

    def none_left(*_: object) -> None:
        raise AssertionError("measured again")

    monkeypatch.setattr(calibrating, "measure_task", none_left)
    assert calibrate(subjects, EFFORT, NAMES, tmp_path, 1).already == 2


def test_another_effort_needs_another_folder(subjects: list[Subject], made: Path) -> None:
    before = (made / DOCUMENT).read_bytes()
    with pytest.raises(BadInput, match="another effort; choose another folder"):
        calibrate(subjects, Effort(repeats=6), NAMES, made, 1)
    assert (made / DOCUMENT).read_bytes() == before


def test_the_document_is_read_back_and_the_table_agrees(made: Path) -> None:
    found = read_calibration(made / DOCUMENT)
    document = json.loads((made / DOCUMENT).read_bytes())
    assert json.loads(json.dumps(found.document)) == document
    assert document["effort"]["repeats"] == 5
    assert all(len(q["onnx_sha256"]) == 64 for q in document["questions"])
    with (made / TABLE).open() as stream:
        table = list(csv.DictReader(stream))
    assert [(r["analyser"], r["question"], r["errors"]) for r in table] == [
        (r.analyser, r.question, str(r.errors)) for r in found.rows
    ]
    assert {summary.analyser for summary in found.summaries} <= set(NAMES)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": 3}', '{"schema": 1, "rows": [{}]}', "\0"]
)
def test_other_documents_are_refused(text: str, tmp_path: Path) -> None:
    place = tmp_path / "other.json"
    with pytest.raises(BadInput, match="cannot be read"):
        read_calibration(place)
    place.write_text(text)
    with pytest.raises(BadInput, match=r"calibration\.json|calibrate again"):
        read_calibration(place)


def test_documents_of_before_are_read_with_their_exact_errors(made: Path, tmp_path: Path) -> None:
    """Schema 1 kept them among the figures: an SPRT with doubled errors was called kept."""
    document = json.loads((made / DOCUMENT).read_bytes())
    document["schema"] = 1
    del document["accusations"]
    for row in document["rows"]:
        exact = row.pop("exact")
        del row["chance"]
        if row["event"].startswith("says"):
            row["figures"] = {"exact error": 0.0175 if row["analyser"] == "decide-sprt" else exact}
    place = tmp_path / DOCUMENT
    place.write_text(json.dumps(document))
    found = read_calibration(place)
    assert {one.ground for one in found.broken} == {"exact"}
    assert {one.group[0] for one in found.broken} == {"decide-sprt"}


def test_the_table_says_kept_only_of_what_was_computed(made: Path) -> None:
    with (made / TABLE).open() as stream:
        table = list(csv.DictReader(stream))
    said = {(r["analyser"], r["event"]): r["verdict"] for r in table if r["runs"] != "0"}
    assert said["decide-sprt", "says robust at eps = p"] == "kept"
    assert said["roma", "counted interval misses p"] == "kept"
    assert said["decide-sprt", "stops after other numbers of samples"] == "not contradicted"
    assert said["roma", "claims less than p/10"] == "no promise"
    assert said["decide-paper", "says robust at eps = p"] == "BROKEN"


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Subject, ...]:
    folder = tmp_path_factory.mktemp("default")
    return tuple(subjects_of(built_questions(folder, 1, Watcher()), 1, Watcher()))


@pytest.mark.nightly
@pytest.mark.parametrize("name", broken_analysers())
def test_a_default_run_catches_every_broken_analyser(
    name: str, bundled: tuple[Subject, ...]
) -> None:
    """On the bundled suite with the usual effort, in its order."""
    assert hunt(Hunt(name, bundled, Effort())).caught


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1, 4))
def test_other_seeds_accuse_nobody(seed: int, bundled: tuple[Subject, ...], tmp_path: Path) -> None:
    found = calibrate(bundled, Effort(50, 500_000, seed=seed), (), tmp_path, 1)
    assert found.broken == []


def test_hunts_stop_at_the_first_accusation(subjects: list[Subject]) -> None:
    found = hunt(Hunt("sprt-spends-twice", tuple(subjects), Effort(5, 100_000)))
    assert (found.caught, found.ground, found.questions) == (True, "exact", 1)
    assert "computed exactly" in found.said
    spared = hunt(Hunt("narrow-failures-forgiven", tuple(subjects), Effort(1, 10_000)))
    assert (spared.caught, spared.questions) == (False, 2)


def test_a_refusal_that_a_bug_does_not_declare_catches_nothing(
    subjects: list[Subject], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(task: MeasureTask) -> list[Measured]:
        raise BadInput(f"{task.subject.name}: no memory for it")

    monkeypatch.setattr(calibration_power, "measure_task", refuse)
    found = hunt(Hunt("sprt-spends-twice", tuple(subjects), Effort(5, 100_000)))
    assert not found.caught
    assert "no memory for it" in found.said


def test_a_false_truth_is_not_used(bench: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    for path in sorted(bench.rglob("*")):
        if path.is_file():
            target = copy / path.relative_to(bench)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    truth = next(p for p in (copy / "truth").glob("*violated.json") if "exact" in p.read_text())
    document = json.loads(truth.read_text())
    document["violation_probability"] = {"exact": "1/100"}
    truth.write_text(json.dumps(document))
    with pytest.raises(BadInput, match="rejected"):
        subjects_of(copy, 1, Watcher())


def test_a_benchmark_without_rates_is_refused(bench: Path, tmp_path: Path) -> None:
    (tmp_path / "instances.csv").write_text("a.onnx,a.vnnlib,10\n")
    for suffix in ("onnx", "vnnlib"):
        source = next((bench / suffix).glob(f"*robust.{suffix}"))
        (tmp_path / f"a.{suffix}").write_bytes(source.read_bytes())
    with pytest.raises(BadInput, match="no truth in it has a failure rate"):
        subjects_of(tmp_path, 1, Watcher())


def test_a_broken_theorem_is_told_from_a_broken_claim(made: Path) -> None:
    found = read_calibration(made / DOCUMENT)
    paper = [row.analyser for row in found.rows if not row.holds]
    assert "decide-paper" in paper
    assert isinstance(found, Calibration)
    assert found.broken == []
