"""`assay import`, `export`, `seal` and `unseal` as a person uses them."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import assay

SUITE = """name: t
timeout: 30
families:
  - {family: meap, fixed: {pairs: 2, inputs: 3, classes: 2, gamma: 1.0}}
"""
COMMAND = [sys.executable, "-m", "assay.cli.main"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `bench`, and `out`, which is its export."""
    folder = tmp_path_factory.mktemp("cli-exchange")
    (folder / "t.yaml").write_text(SUITE)
    assert assay("build", folder / "t.yaml", "-o", folder / "bench").returncode == 0
    done = assay("export", folder / "bench", "-o", folder / "out", "--gzip")
    assert done.returncode == 0, done.stderr
    assert "out/1.0: 2 instances, questions copied byte by byte." in done.stdout
    assert "out/2.0: 2 instances, questions 2 written anew and compared exactly." in done.stdout
    assert "No truths were written" in done.stdout
    return folder


@pytest.fixture(scope="module")
def imported(made: Path) -> Path:
    done = assay("import", made / "out", "--version", "1.0", "-o", made / "imported")
    assert done.returncode == 0, done.stderr
    assert "2 instances, 2 networks, VNN-LIB 1.0; no truths" in done.stdout
    return made / "imported"


def test_an_imported_benchmark_is_run_and_compared_but_not_scored(
    imported: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    done = assay("run", imported, "-v", "milp", "--timeout", 60, "-o", run)
    assert done.returncode == 0, done.stderr
    scored = assay("score", run)
    assert scored.returncode == 0, scored.stderr
    assert "soundness is not scored" in scored.stdout
    assert {row["guard"] for row in json.loads(assay("score", run, "--json").stdout)["rows"]} == {
        "no truth"
    }
    reported = assay("report", run, "-o", tmp_path / "report.html")
    assert reported.returncode == 0, reported.stderr
    page = (tmp_path / "report.html").read_text()
    assert "There is no truth to hold its answers against." in page
    checked = assay("check", imported)
    assert checked.returncode == 2
    assert "no instance in it has a truth" in checked.stderr


def test_sealed_questions_are_run_and_scored_after_they_are_opened(
    made: Path, tmp_path: Path
) -> None:
    sealed, run, opened = tmp_path / "sealed", tmp_path / "run", tmp_path / "opened"
    done = assay("seal", made / "bench", "-o", sealed)
    assert done.returncode == 0, done.stderr
    assert f"publish {sealed / 'questions'}: 2 questions" in done.stdout
    assert "sha256" in done.stdout
    assert "careful: it holds twins" in done.stdout
    done = assay("run", sealed / "questions", "-v", "milp", "--timeout", 60, "-o", run)
    assert done.returncode == 0, done.stderr
    truths = sealed / "truths.tar"
    done = assay("unseal", sealed / "questions", "--truths", truths, "-o", opened)
    assert done.returncode == 0, done.stderr
    assert "2 instances; the commitment was kept." in done.stdout
    assert assay("check", opened).returncode == 0
    scored = assay("score", run, "--benchmark", opened, "--json")
    assert scored.returncode == 0, scored.stderr
    assert {row["guard"] for row in json.loads(scored.stdout)["rows"]} == {"float32"}
    with truths.open("ab") as stream:
        stream.write(b"x")
    done = assay("unseal", sealed / "questions", "--truths", truths, "-o", tmp_path / "no")
    assert done.returncode == 2
    assert "one of the two was changed" in done.stderr
    assert not (tmp_path / "no").exists()


def test_json(made: Path, tmp_path: Path) -> None:
    done = assay("import", made / "out", "--version", "2.0", "-o", tmp_path / "i", "--json")
    assert [i["readable"] for i in json.loads(done.stdout)["instances"]] == [True, True]
    done = assay("export", tmp_path / "i", "-o", tmp_path / "e", "--version", "1.0", "--json")
    assert json.loads(done.stdout)["rewritten"] == {"1.0": 2}
    done = assay("seal", made / "bench", "-o", tmp_path / "s", "--one-of-twins", "--json")
    document = json.loads(done.stdout)
    assert (document["instances"], document["dropped"]) == (1, 1)
    parts = document["questions"], "--truths", document["truths"]
    done = assay("unseal", *parts, "-o", tmp_path / "u", "--json")
    assert json.loads(done.stdout)["truths_sha256"] == document["truths_sha256"]


def failure(done: subprocess.CompletedProcess[str]) -> str:
    """The one line that is no progress."""
    assert done.returncode == 2
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if line.startswith("assay: ")]
    assert len(lines) == 1
    assert "Traceback" not in done.stderr
    return lines[0]


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["import", "nowhere", "-o", "x"], "no such folder"),
        (["import", "{made}/out", "-o", "x"], "choose one with --version"),
        (["import", "{made}/bench/truth", "-o", "x"], "has no instances.csv; is it a benchmark?"),
        (["export", "nowhere", "-o", "x"], "not a folder"),
        (["export", "{made}/bench", "-o", "x", "--version", "3"], "give 1.0 or 2.0"),
        (["export", "{made}/bench", "-o", "{made}/out"], "is not overwritten"),
        (["seal", "{made}/imported", "-o", "x"], "has no truth; there is nothing to seal"),
        (["unseal", "{made}/bench", "--truths", "t", "-o", "x"], "give a folder of sealed"),
    ],
)
@pytest.mark.usefixtures("imported")
def test_bad_input_is_one_sentence(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert sentence in failure(assay(*(part.format(made=made) for part in command)))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "command",
    [
        ["import", "{made}/out/1.0"],
        ["export", "{made}/bench"],
        ["seal", "{made}/bench"],
    ],
)
def test_a_disk_that_takes_no_more(made: Path, tmp_path: Path, command: list[str]) -> None:
    filled = [part.format(made=made) for part in command]
    done = subprocess.run(
        [*COMMAND, *map(str, filled), "-o", str(tmp_path / "x")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )
    assert "cannot write" in failure(done)
    assert not list(tmp_path.iterdir())


def test_of_two_at_once_one_wins(made: Path, tmp_path: Path) -> None:
    command = [*COMMAND, "seal", str(made / "bench"), "-o", str(tmp_path / "sealed")]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    both = [subprocess.Popen(command, text=True, **pipes) for _ in range(2)]
    errors = [process.communicate(timeout=300)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2]
    assert any("choose a new folder" in error for error in errors)
    assert [path.name for path in tmp_path.iterdir()] == ["sealed"]
    parts = tmp_path / "sealed/questions", "--truths", tmp_path / "sealed/truths.tar"
    assert assay("unseal", *parts, "-o", tmp_path / "opened").returncode == 0


def test_ctrl_c_leaves_nothing(made: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "import", str(made / "out/1.0"), "-o", str(tmp_path / "x")],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 240
    while not list(tmp_path.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 130
    assert "stopped; nothing was written" in errors
    assert "Traceback" not in errors
    assert not list(tmp_path.iterdir())
