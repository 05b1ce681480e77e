"""`assay power` and the mutants among the verifiers, as a person meets them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command_line import assay


@pytest.fixture
def folder(bench: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bench, tmp_path / "bench"))


def test_prints_the_matrix_and_the_verdict(folder: Path) -> None:
    names = ("--mutants", "full-queue", "--mutants", "nearly-violated-is-violated@1")
    done = assay("power", folder, *names, "--mutants", "full-queue", "--jobs", 1)
    assert done.returncode == 0, done.stderr
    assert "1 of 2 mutants are caught." in done.stdout
    assert "Survivors: full-queue." in done.stdout
    assert "a  meap" in done.stdout
    assert "falsely accused 0 times" in done.stdout
    assert (
        "Floors not measured: beta needs dropped-domains and alpha needs shrunk-bounds"
        in done.stdout
    )
    assert "power, unmutated: 2/2" in done.stderr
    again = assay("power", folder, *names, "--json")
    document = json.loads(again.stdout)
    assert document["survivors"] == ["full-queue"]
    assert document["false_accusations"] == []
    caught = document["mutants"][1]["families"]["meap"]
    assert caught["outcome"] == "bogus"
    assert caught["by"].endswith("-robust")


def test_floors_are_printed_unless_declined(folder: Path) -> None:
    # The second is the first at its usual strength.
    names = ("--mutants", "shrunk-bounds", "--mutants", "shrunk-bounds@0.02", "--seeds", 1)
    done = assay("power", folder, *names, "--jobs", 1)
    assert done.returncode == 0, done.stderr
    assert "of 1 mutants are caught" in done.stdout
    assert done.stdout.count("Floor in alpha (shrunk-bounds):") == 1
    assert "Floors not measured: beta needs dropped-domains among the --mutants." in done.stdout
    assert "Floor" not in assay("power", folder, *names, "--no-floors").stdout


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--mutants", "full-que"], "there is no mutant 'full-que'; did you mean 'full-queue'?"),
        (["--mutants", "shrunk-box@2"], "strength 2 of shrunk-box is not in (0, 1]"),
        (["--timeout", "0"], "--timeout"),
        (["--output", "/no/such/folder/p.jsonl", "--mutants", "full-queue"], "cannot write"),
    ],
)
def test_refusals(folder: Path, options: list[str], sentence: str) -> None:
    done = assay("power", folder, *options)
    assert done.returncode == 2
    assert sentence in done.stderr


def test_a_folder_that_is_no_benchmark(tmp_path: Path) -> None:
    done = assay("power", tmp_path)
    assert done.returncode == 2
    assert "instances.csv" in done.stderr


def test_mutants_are_listed_when_asked_for() -> None:
    plain, broken = (assay("verifiers", "--json", *more) for more in ([], ["--mutants"]))
    assert "mutant-" not in plain.stdout
    names = [entry["name"] for entry in json.loads(broken.stdout)]
    assert "mutant-dropped-domains@0.02" in names
    assert all(name.startswith("mutant-") for name in names)


def test_a_mutant_runs_like_any_verifier(folder: Path, tmp_path: Path) -> None:
    name = "mutant-nearly-violated-is-violated@1"
    done = assay("run", folder, "-v", name, "-v", "linear", "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    scored = json.loads(assay("score", tmp_path / "run", "--json").stdout)
    text = json.dumps(scored)
    assert name in text
    assert "bogus" in text
