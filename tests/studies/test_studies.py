"""The studies of the analysers: their driver, their tables, and each of them in small."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path

import numpy as np
import pytest
from real_models.cache import FOLDER_VARIABLE
from studies.asking import equal_noise, search_of
from studies.chart_lines import columns_of_dots, lines_over_eps
from studies.curves import decisions_of
from studies.defects import report as defects_report
from studies.driving import Document, Row, Size, Study, chunks, main, rows_of, run
from studies.published import TABLE_2, TABLE_4

from assay.analyse.regions import NORMS, Ball, Norm
from assay.analyse.sampling import Sampler
from assay.errors import BadInput

IN_SMALL = ("curves", "norms", "label_sets", "defects", "misclassified", "cost")
CACHE = Path(os.environ.get(FOLDER_VARIABLE, "~/.cache/assay-studies")).expanduser()


def _parts(size: Size) -> list[Document]:
    return [{"number": number} for number in range(size.of(5, 2))]


def _square(part: Document, device: str) -> Document:
    if part["number"] > 2 and os.environ.get("STOP_AT_THREE"):
        raise KeyboardInterrupt
    return {"square": part["number"] ** 2, "device": device}


def _report(rows: list[Row]) -> tuple[str, dict[str, str]]:
    return " ".join(str(row.found["square"]) for row in rows), {}


SQUARES = Study("squares", _parts, _square, _report)  # type: ignore[arg-type]


def test_a_stopped_study_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STOP_AT_THREE", "1")
    with pytest.raises(KeyboardInterrupt):
        run(SQUARES, Size(), "cpu", 1, tmp_path)
    assert not (tmp_path / "squares.json").exists()
    monkeypatch.delenv("STOP_AT_THREE")
    document = run(SQUARES, Size(), "cpu", 1, tmp_path)
    lines = (tmp_path / "squares.jsonl").read_text().splitlines()
    assert len(lines) == 1 + 5
    assert [row.found["square"] for row in rows_of(document)] == [0, 1, 4, 9, 16]
    kept = json.loads((tmp_path / "squares.json").read_text())
    assert kept == document


def test_jobs_do_not_change_what_is_found(tmp_path: Path) -> None:
    found = [run(SQUARES, Size(), "cpu", jobs, tmp_path / str(jobs))["rows"] for jobs in (1, 2)]
    assert [row[:2] for row in found[0]] == [row[:2] for row in found[1]]


def test_a_missing_gpu_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert main(SQUARES, ["--device", "cuda", "-o", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("--device cuda: torch sees no GPU")


def test_a_finished_study_needs_no_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a GPU found is made into a whole elsewhere, and never thrown away for lack of one."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    head = {"study": "squares", "device": "cuda", "quick": False, "machine": "GPU", "torch": "2"}
    lines = [{"part": {"number": n}, "found": {"square": n * n}, "seconds": 1.0} for n in (0, 1)]
    journal = tmp_path / "squares.jsonl"
    journal.write_text("".join(json.dumps(line) + "\n" for line in (head, *lines)))
    kept = journal.read_bytes()
    document = run(SQUARES, Size(images=2), "cuda", 4, tmp_path)
    assert (document["machine"], document["images"]) == ("GPU", 2)
    assert [row.found["square"] for row in rows_of(document)] == [0, 1]
    with pytest.raises(BadInput, match="no GPU"):
        run(SQUARES, Size(images=3), "cuda", 4, tmp_path)
    assert journal.read_bytes() == kept


def test_another_machine_begins_anew(tmp_path: Path) -> None:
    """Results of two machines are not mixed."""
    head = {"study": "squares", "device": "cpu", "quick": False, "machine": "other", "torch": "2"}
    line = {"part": {"number": 0}, "found": {"square": 99}, "seconds": 1.0}
    journal = tmp_path / "squares.jsonl"
    journal.write_text("".join(json.dumps(one) + "\n" for one in (head, line)))
    document = run(SQUARES, Size(images=2), "cpu", 1, tmp_path)
    assert [row.found["square"] for row in rows_of(document)] == [0, 1]


def test_sizes_and_chunks() -> None:
    assert Size().of(100, 5) == 100
    assert Size(quick=True).of(100, 5) == 5
    assert Size(images=30).of(100, 5) == 30
    assert list(chunks(25, 10)) == [(0, 10), (10, 20), (20, 25)]


@pytest.mark.parametrize("norm", NORMS)
def test_equal_noise_has_equal_variance(norm: Norm) -> None:
    """So that one search suits all norms: coordinates vary as much as at radius 1 in l_inf."""
    dimension = 200
    ball = Ball(np.zeros(dimension), equal_noise(norm, dimension), norm)
    points = Sampler(ball, 0).take(4000)
    assert float(points.var()) == pytest.approx(1 / 3, rel=0.03)


def test_a_search_takes_its_scale_from_the_norm() -> None:
    part = {"eps": 0.02, "finest": 1.0, "budget": 1000}
    searches = {norm: search_of(norm, 784, part) for norm in NORMS}
    assert len({search.halvings for search in searches.values()}) == 1
    assert searches["2"].upto == pytest.approx(512 * (784 / 3) ** 0.5)


def test_letters_are_read_back_in_order() -> None:
    part = {"radii": [1.0, 2.0], "eps": [0.1, 0.2]}
    row = Row(part, {"verdicts": {"7": "rrnu"}}, 0.0)
    found = [(d.radius, d.eps, d.verdict) for d in decisions_of(row)]
    assert found == [
        (1.0, 0.1, "robust"),
        (1.0, 0.2, "robust"),
        (2.0, 0.1, "not robust"),
        (2.0, 0.2, "undecided"),
    ]


def test_a_flaw_that_is_there_is_found() -> None:
    """Radii smaller by a tenth, in one class by half: both tests must see it."""
    draw = np.random.default_rng(0)
    radii = draw.uniform(50, 150, 300)
    labels = np.arange(300) % 10

    def row(model: str, values: np.ndarray) -> Row:
        part = {"model": model, "norm": "2", "eps": 0.02, "images": [0, 300]}
        found = {
            "labels": labels.tolist(),
            "radii": {str(n): float(v) for n, v in enumerate(values)},
            "unbounded": 0,
            "unconfirmed": 0,
            "robust_again": 0,
        }
        return Row(part, found, 0.0)

    flawed = np.where(labels == 5, 0.5 * radii, 0.9 * radii)
    text, pictures = defects_report([row("conv-base", radii), row("conv-imbalanced", flawed)])
    assert "300 of 300" in text
    assert text.count("< 1e-12") == 2
    assert set(pictures) == {"defects.svg", "imbalanced-l2.svg"}


def test_pictures_hold_every_line_and_column() -> None:
    lines = lines_over_eps({"one": [(0.001, 3.0), (0.8, 9.0)], "two": [(0.01, 1.0)]}, "title")
    assert lines.count("<polyline") == 2
    columns = columns_of_dots({"a": [1.0, 2.0], "b": []}, "title")
    assert columns.count("<circle") == 2


def test_the_published_numbers_are_whole() -> None:
    assert [len(row) for row in TABLE_2.values()] == [4] * 4
    assert len(TABLE_4) == 9
    assert all(t.radius_s[e] > t.decide_s[e] for t in TABLE_4 for e in t.decide_s)


@pytest.mark.parametrize("name", IN_SMALL)
def test_a_study_in_small(name: str, tmp_path: Path) -> None:
    if not (CACHE / "images" / "mnist-test.npz").exists():
        pytest.skip("the models of the studies are not in the cache")
    study = importlib.import_module(f"studies.{name}").STUDY
    assert study.name == name
    document = run(study, Size(quick=True, images=2), "cpu", 1, tmp_path)
    text, _ = study.report(rows_of(document))
    assert text.count("\n|") >= 2
