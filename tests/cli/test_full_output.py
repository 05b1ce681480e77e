"""Output that cannot be written: one sentence and an exit code, whatever the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import assay

FULL = "/dev/full"
pytestmark = pytest.mark.skipif(not Path(FULL).exists(), reason="this system has no /dev/full")


@pytest.fixture(scope="module")
def judged(bench: Path) -> Path:
    run = bench.parent / "run"
    assert assay("run", bench, "-v", "interval", "-o", run).returncode == 0
    return run


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("--version",),
        ("families",),
        ("families", "--json"),
        ("suites",),
        ("verifiers", "--json"),
        ("check", "BENCH"),
        ("check", "BENCH", "--json"),
        ("score", "RUN", "--fail-on", "none"),
        ("score", "RUN", "--fail-on", "none", "--json"),
        ("score", "RUN", "--fail-on", "none", "--csv"),
        ("run", "BENCH", "-v", "interval", "-o", "RUN", "--json"),
        ("report", "RUN", "-o", "TEMPORARY/report.html"),
    ],
    ids=" ".join,
)
def test_a_full_standard_output_is_one_sentence(
    words: tuple[str, ...], bench: Path, judged: Path, tmp_path: Path
) -> None:
    places = {"BENCH": bench, "RUN": judged, "TEMPORARY/report.html": tmp_path / "report.html"}
    done = assay(*(places.get(word, word) for word in words), stdout=FULL)
    said = [line for line in done.stderr.splitlines() if line.startswith("assay: ")]
    assert said == [
        "assay: cannot write to standard output: No space left on device; make room, or send it "
        "elsewhere and run the same command again"
    ]
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert done.returncode == 2


def test_a_full_standard_error_does_not_stop_the_work(bench: Path, tmp_path: Path) -> None:
    done = assay("run", bench, "-v", "interval", "-o", tmp_path / "run", "--json", stderr=FULL)
    assert done.returncode == 0
    assert len(json.loads(done.stdout)["results"]) == 2
    assert len((tmp_path / "run" / "results.jsonl").read_text().splitlines()) == 2


def test_a_closed_standard_output_is_not_taken_for_a_file() -> None:
    command = [sys.executable, "-m", "assay.cli.main", "suites", "--json"]
    done = subprocess.run(
        command, stderr=subprocess.PIPE, text=True, preexec_fn=lambda: os.close(1), timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
