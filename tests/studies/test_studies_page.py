"""The page of the studies: put together from small results that were made up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from studies.driving import Document, Row, Study
from studies.label_sets import STUDY as LABEL_SETS
from studies.misclassified import STUDY as MISCLASSIFIED

from studies import page


def _document(study: str, rows: list[list[object]], **more: object) -> Document:
    head = {"study": study, "device": "cuda", "quick": False, "machine": "GPU", "torch": "2"}
    return {**head, "date": "2026-11-16", "jobs": 4, "seconds": 12.0, "rows": rows, **more}


def _radius(radius: float, bounded: bool = True) -> Document:
    return {"image": 6, "radius": radius, "bounded": bounded}


def _cars(*radii: tuple[float, bool]) -> list[list[object]]:
    return [
        [{"model": "m", "car": car, "eps": 0.1, "kept": kept}, _radius(*radius), 1.0]
        for car, radius in enumerate(radii)
        for kept in ("car", "car or truck")
    ]


def test_a_section_names_its_command_and_shows_its_pictures() -> None:
    document = _document("label_sets", _cars((12.0, True)), images=1)
    text, pictures = page.section("Label sets", LABEL_SETS, document, "What is said.\n")
    assert "`python -m studies.label_sets --device cuda --jobs 4 --images 1`: 12 s" in text
    assert text.startswith("## Label sets\n")
    assert "\nWhat is said.\n" in text
    for name in pictures:
        assert f"](../images/analysers/{name})" in text


def test_a_result_without_a_cap_on_images_names_none() -> None:
    for more in ({}, {"images": None}):
        document = _document("label_sets", _cars((12.0, True)), **more)
        assert "--images" not in page.section("Label sets", LABEL_SETS, document, "")[0]


def test_a_far_radius_does_not_move_the_median() -> None:
    document = _document("label_sets", _cars((12.0, True), (14.0, True), (512.0, False)))
    text, _ = page.section("Label sets", LABEL_SETS, document, "")
    assert "| median | car | 14.0 |" in text
    assert "at least 512.0" in text


def test_shares_of_wrong_images_come_with_intervals() -> None:
    found = {"radii": [20.0, 30.0], "wrong": 100, "robust": 2, "unsettled": 1}
    row = Row({"model": "m", "eps": 0.01, "correct": 2}, found, 1.0)
    text, _ = MISCLASSIFIED.report([row])
    assert "| m | 25.0 ± 9.8 |" in text
    assert "| m | 100 | 2.0 % (0.2 to 7.0 %, 1 open) |" in text


def test_the_page_takes_whole_results_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Quick results stay out, a study without a result is named, what is kept is used again."""
    results, kept, pictures = tmp_path / "results", tmp_path / "kept", tmp_path / "pictures"
    results.mkdir()
    kept.mkdir()
    (kept / "README.md").write_text("# Title\n")
    tried = Study("tried", LABEL_SETS.parts, LABEL_SETS.measure, LABEL_SETS.report)
    monkeypatch.setattr(page, "KEPT", kept)
    monkeypatch.setattr(page, "PICTURES", pictures)
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(page, "TITLES", {"Cars": LABEL_SETS, "Tried": tried})
    for study, quick in (("label_sets", False), ("tried", True)):
        (kept / f"{study}.md").write_text("Said.\n")
        document = _document(study, _cars((12.0, True)), quick=quick)
        (results / f"{study}.json").write_text(json.dumps(document))
    monkeypatch.setattr("sys.argv", ["page", "--results", str(results)])
    assert page.main() == 0
    assert "tried.json: not there" in capsys.readouterr().err
    text = (tmp_path / "page.md").read_text()
    assert text.startswith("# Title\n\n## Cars\n")
    assert "## Tried" not in text
    assert (pictures / "label-sets.svg").read_text().startswith("<svg")
    monkeypatch.setattr("sys.argv", ["page", "--results", str(tmp_path / "none")])
    assert page.main() == 0
    assert (tmp_path / "page.md").read_text() == text
