"""`assay explain` on a real benchmark with a real run, and where it must refuse."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path

import pytest
from command_line import assay

SUITE = """name: boxes
timeout: 30
families:
  - family: constant_box
    grid: {depth: [1, 2], collapse: [gates, hinges]}
    fixed: {width: 8, inputs: 8, latent: 8, classes: 2}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a benchmark, its profile, and a run of `interval`."""
    folder = tmp_path_factory.mktemp("explain")
    (folder / "boxes.yaml").write_text(SUITE)
    for command in (
        ("build", "boxes.yaml", "-o", "bench"),
        ("profile", "bench", "--samples", 50),
        ("run", "bench", "-v", "interval", "--timeout", 60, "-o", "run"),
    ):
        done = assay(*command, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def test_a_table_and_a_diagnosis(place: Path) -> None:
    done = assay("explain", "bench", "--run", "run", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    assert "boxes: AUC of unsolved against solved instances, 95% interval" in done.stdout
    assert all(name in done.stdout for name in ("M_min", "G_IBP", "U", "A_tau", "d_eff", "●"))
    assert "interval (2 solved, 6 unknown):" in done.stdout
    assert "too few solved instances (2, 6 unknown answers) to say why." in done.stdout
    assert "it solved 2 of 4 robust and 0 of 4 violated instances" in done.stdout
    assert "unsolved: 6 unknown" in done.stdout


def test_one_document_with_everything_and_the_same_for_the_same_seed(place: Path) -> None:
    command = ("explain", "bench", "--run", "run", "--resamples", 199, "--json")
    first, second = assay(*command, cwd=place), assay(*command, cwd=place)
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    document = json.loads(first.stdout)
    assert (document["benchmark"], document["resamples"], document["incomplete"]) == (
        "boxes",
        199,
        None,
    )
    (trajectory,) = document["trajectories"]
    assert (trajectory["family"], trajectory["knob"]) == ("constant_box", "depth")
    assert trajectory["steps"] == [1.0] * 4 + [2.0] * 4
    (verifier,) = document["verifiers"]
    assert (verifier["verifier"], verifier["counts"]["unsolved"]) == ("interval", 6)
    assert (verifier["maps"][0]["x"], verifier["maps"][0]["y"]) == ("U", "d_eff")
    assert len(verifier["maps"]) == 10
    assert {point["answer"] for point in document["points"]} == {"robust", "violated"}


def test_a_page_and_charts_are_written(place: Path, tmp_path: Path) -> None:
    page, charts = tmp_path / "why.html", tmp_path / "charts"
    done = assay("explain", "bench", "--run", "run", "-o", page, "--charts", charts, cwd=place)
    assert done.returncode == 0, done.stderr
    assert page.read_text().lstrip().lower().startswith("<!doctype html")
    written = sorted(charts.glob("*.svg"))
    assert written
    assert all(str(path) in done.stdout for path in (page, *written))


def test_what_was_not_run_or_not_profiled_is_told(place: Path, tmp_path: Path) -> None:
    bench, run = tmp_path / "bench", tmp_path / "run"
    shutil.copytree(place / "bench", bench)
    shutil.copytree(place / "run", run)
    header, first, *rows = (bench / "profile.csv").read_text().splitlines(keepends=True)
    (bench / "profile.csv").write_text("".join([header, *rows]))
    lines = (run / "results.jsonl").read_text().splitlines(keepends=True)
    (run / "results.jsonl").write_text("".join(lines[:-1]))
    done = assay("explain", bench, "--run", run)
    assert done.returncode == 0, done.stderr
    assert "1 of 8 tasks were not run" in done.stderr
    name = first.split(",")[0]
    assert f"Without a profile, and not counted: 1 ({name})." in done.stdout
    (run / "results.jsonl").write_text("")
    nothing = assay("explain", bench, "--run", run)
    assert nothing.returncode == 2
    assert "has no profile of an instance that was run" in nothing.stderr


def test_a_benchmark_without_truths_is_explained_in_the_order_of_its_list(
    place: Path, tmp_path: Path
) -> None:
    bench = tmp_path / "bench"
    shutil.copytree(place / "bench", bench, ignore=shutil.ignore_patterns("truth"))
    done = assay("explain", bench, "--run", place / "run", "--resamples", 99, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    (trajectory,) = document["trajectories"]
    listed = [line.split(",")[1] for line in (bench / "instances.csv").read_text().split()]
    assert trajectory["knob"] is None
    assert trajectory["instances"] == [Path(vnnlib).stem for vnnlib in listed]
    assert document["verifiers"][0]["counts"]["solved"] == 2
    assert {point["answer"] for point in document["points"]} == {None}


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("bench", "--run", "nowhere"), "has no readable run.json"),
        (("bench", "--run", "run", "--run", "run"), "is named twice"),
        (("bench", "--run", "run", "--resamples", 5), "--resamples 5 is too few or too many"),
        (("bench", "--run", "run", "--png"), "name their folder with --charts"),
        (("other", "--run", "run"), "ran another benchmark than other"),
        (("bare", "--run", "run"), "run `assay profile bare` first"),
        (("stale", "--run", "run"), "the benchmark has no instance 'gone'"),
        (("swapped", "--run", "run"), "is about other bytes than its files; run `assay profile"),
    ],
)
def test_bad_input_is_one_sentence(
    place: Path, tmp_path: Path, command: tuple[object, ...], sentence: str
) -> None:
    for name in ("bench", "run"):
        shutil.copytree(place / name, tmp_path / name)
    for name in ("other", "bare", "stale", "swapped"):
        shutil.copytree(place / "bench", tmp_path / name)
    (tmp_path / "bare" / "profile.csv").unlink()
    network = next((tmp_path / "swapped" / "onnx").iterdir()).read_bytes()
    swapped = tmp_path / "swapped" / "profile.csv"
    swapped.write_text(swapped.read_text().replace(sha256(network).hexdigest(), "0" * 64))
    with (tmp_path / "stale" / "profile.csv").open("a") as stream:
        columns = (tmp_path / "bench" / "profile.csv").read_text().splitlines()[0].count(",")
        stream.write("gone,failed" + "," * (columns - 1) + "\n")
    listing = tmp_path / "other" / "instances.csv"
    listing.write_text("".join(listing.read_text().splitlines(keepends=True)[:-1]))
    kept = [line.rsplit("/", 1)[1].split(".vnnlib")[0] for line in listing.read_text().split()]
    profile = tmp_path / "other" / "profile.csv"
    rows = profile.read_text().splitlines(keepends=True)
    profile.write_text("".join([rows[0], *(r for r in rows[1:] if r.split(",")[0] in kept)]))
    done = assay("explain", *command, cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_run_is_needed(place: Path) -> None:
    done = assay("explain", "bench", cwd=place)
    assert done.returncode == 2
    assert "--run" in done.stderr
