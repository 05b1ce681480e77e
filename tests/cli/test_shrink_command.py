"""`assay shrink` as a person meets it: on tools that lie, on mutants, and on bad input."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import assay

LIAR = """import sys, time
onnx, result = open(sys.argv[1], "rb").read(), sys.argv[2]
time.sleep(float(sys.argv[4]))
open(result, "w").write("unsat\\n" if onnx.count(b"Relu_") >= int(sys.argv[3]) else "unknown\\n")
"""


def liar(folder: Path, *, relus: int = 0, pause: float = 0.0) -> str:
    """A command that says `unsat` of networks with enough ReLU nodes (each is named twice)."""
    script = folder / "liar.py"
    script.write_text(LIAR)
    words = [sys.executable, "-I", "-S", str(script)]
    return f"liar={shlex.join(words)} {{onnx}} {{result}} {relus} {pause} {{vnnlib}}"


@pytest.fixture(scope="module")
def lied(bench: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run in which the liar is wrong about the violated instance."""
    folder = tmp_path_factory.mktemp("lied")
    command = liar(folder, relus=1)
    done = assay("run", bench, "--verifier-command", command, "-o", folder / "run")
    assert done.returncode == 0, done.stderr
    return folder / "run", command


VIOLATED, ROBUST = "meap-00-000-violated", "meap-00-000-robust"


def test_the_reproducer_is_a_benchmark_that_shows_the_error(
    lied: tuple[Path, str], tmp_path: Path
) -> None:
    run, command = lied
    options = ("--verifier-command", command, "--jobs", 2)
    done = assay("shrink", run, VIOLATED, *options, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["outcome"] == "unsound"
    assert document["ended"] == "fixpoint"
    assert document["confirmed"] == 2
    assert document["after"]["inputs"] == 1
    assert document["after"]["units"] == 1, "one ReLU is what the liar needs"
    assert document["after"]["bytes"] < document["before"]["bytes"]
    folder = run / "shrunk" / f"{VIOLATED}-liar"
    assert document["folder"] == str(folder)
    assert "says **robust**" in (folder / "REPRODUCE.md").read_text()
    checked = assay("check", folder)
    assert checked.returncode == 0, checked.stdout
    assert "s VERIFIED violated" in checked.stdout
    again = assay("run", folder, "--verifier-command", command, "-o", tmp_path / "again")
    assert again.returncode == 0, again.stderr
    scored = assay("score", tmp_path / "again")
    assert scored.returncode == 1
    assert f"unsound: liar on {VIOLATED}" in scored.stdout

    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    refused = assay("shrink", run, VIOLATED, *options)
    assert refused.returncode == 2
    assert "exists already and is not overwritten; choose a new folder" in refused.stderr
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    known = assay("shrink", run, VIOLATED, *options, "-o", tmp_path / "known", "--json")
    assert json.loads(known.stdout)["calls"] == 3, "only what is asked afresh"
    name = f"onnx/{VIOLATED}.onnx"
    assert (tmp_path / "known" / name).read_bytes() == (folder / name).read_bytes()


def test_a_budget_of_calls_is_kept(bench: Path, tmp_path: Path) -> None:
    command = liar(tmp_path)
    assert assay("run", bench, "--verifier-command", command, "-o", "run", cwd=tmp_path)
    options = ("--verifier-command", command, "--calls", 3, "-o", "out")
    done = assay("shrink", "run", VIOLATED, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "the budget is spent" in done.stdout
    assert "confirmed 2 times" in done.stdout


def test_ctrl_c_keeps_the_best_so_far(bench: Path, tmp_path: Path) -> None:
    command = liar(tmp_path, pause=0.5)
    assay("run", bench, "--verifier-command", command, "-o", "run", cwd=tmp_path)
    words = ["shrink", "run", VIOLATED, "--verifier-command", command, "-o", "out"]
    process = subprocess.Popen(
        [sys.executable, "-m", "assay.cli.main", *words],
        cwd=tmp_path,
        env=dict(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    answers = tmp_path / "run" / "shrunk" / f"{VIOLATED}-liar.answers.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if answers.exists() and len(answers.read_text().splitlines()) > 4:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "stopped; this is the best so far" in out
    assert assay("check", "out", cwd=tmp_path).returncode == 0
    assert "not confirmed" in (tmp_path / "out" / "REPRODUCE.md").read_text()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([VIOLATED[:-1]], f"did you mean '{VIOLATED}'?"),
        (["quite-another"], "`assay score` names the wrong answers"),
        ([ROBUST], f"no verifier is wrong about {ROBUST}: nothing to shrink"),
        ([ROBUST, "-v", "liar"], f"liar is not wrong about {ROBUST} (proved): nothing to shrink"),
        ([VIOLATED, "-v", "lier"], "holds no verifier 'lier'; did you mean 'liar'?"),
        ([VIOLATED], "name it as `assay run` did, with --verifier-dir or --verifier-command"),
        ([VIOLATED, "--budget", "0"], "--budget 0 is not a limit"),
    ],
)
def test_refusals(lied: tuple[Path, str], words: list[str], sentence: str) -> None:
    done = assay("shrink", lied[0], *words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    done = assay("shrink", tmp_path, VIOLATED)
    assert done.returncode == 2
    assert "has no readable run.json; give the folder of a run" in done.stderr


def test_another_version_of_the_tool_is_refused(lied: tuple[Path, str], tmp_path: Path) -> None:
    other = liar(tmp_path, relus=2)
    done = assay("shrink", lied[0], VIOLATED, "--verifier-command", other)
    assert done.returncode == 2
    assert "answered in the run, but" in done.stderr


def test_a_truth_that_is_not_proved_accuses_nobody(bench: Path, tmp_path: Path) -> None:
    command = liar(tmp_path)
    copy = tmp_path / "bench"
    subprocess.run(["cp", "-r", bench, copy], check=True)
    truth = copy / "truth" / f"{VIOLATED}.json"
    document = json.loads(truth.read_text())
    document["margin"] = "-1000"
    truth.write_text(json.dumps(document))
    assay("run", copy, "--verifier-command", command, "-o", tmp_path / "run")
    done = assay("shrink", tmp_path / "run", VIOLATED, "--verifier-command", command)
    assert done.returncode == 2
    assert "the checker does not verify it" in done.stderr
    truth.unlink()
    done = assay("shrink", tmp_path / "run", VIOLATED, "--verifier-command", command)
    assert "has no truth, so that no answer can be called wrong" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutant", "instance", "outcome"),
    [
        ("mutant-last-disjunct-wins", "planted-01-000-violated", "unsound"),
        ("mutant-nearly-violated-is-violated@1", ROBUST, "bogus"),
    ],
)
def test_mutants_are_shrunk(mutant: str, instance: str, outcome: str, tmp_path: Path) -> None:
    suite = tmp_path / "two.yaml"
    meap = "{family: meap, fixed: {pairs: 2, inputs: 3, classes: 3, gamma: 0.5}}"
    suite.write_text(f"name: two\ntimeout: 20\nfamilies:\n  - {meap}\n  - {{family: planted}}\n")
    for words in (("build", suite, "-o", "bench"), ("run", "bench", "-v", mutant, "-o", "run")):
        assert assay(*words, cwd=tmp_path).returncode == 0
    done = assay(
        "shrink", "run", instance, "--calls", 35, "--jobs", 2, "-o", "out", "--json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["outcome"] == outcome
    assert document["confirmed"] == 2
    before, after = document["before"], document["after"]
    # a slow machine gives candidates up, so that 35 calls do not always go as far
    assert after["units"] < before["units"]
    assert after["inputs"] <= before["inputs"]
    assert 2 * after["weights"] < before["weights"]
    assert assay("check", "out", cwd=tmp_path).returncode == 0
    assert assay("run", "out", "-v", mutant, "-v", "linear", "-o", "again", cwd=tmp_path)
    assert f"{outcome}: {mutant} on {instance}" in assay("score", "again", cwd=tmp_path).stdout
