"""`assay shrink` as a person meets it: on tools that lie, on mutants, and on bad input."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import assay

from assay.report.material import gather
from assay.report.next_steps import next_steps
from assay.shrink.wrong_answer import BroughtTools, called_with

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


def begun(*words: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "assay.cli.main", *words],
        cwd=cwd,
        env=dict(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def reproduce_options(folder: Path) -> list[str]:
    """What `assay run .` is given in REPRODUCE.md, without -o."""
    lines = (folder / "REPRODUCE.md").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("$ assay run . ")]
    words = shlex.split(line)[4:]
    assert words[-2] == "-o"
    return words[:-2]


def test_the_command_on_the_page_runs_as_it_is(lied: tuple[Path, str], tmp_path: Path) -> None:
    run, _ = lied
    (steps,) = next_steps(gather([run], None)).values()
    assert steps.remark == ""
    words = shlex.split(steps.shrink)
    assert words[:4] == ["assay", "shrink", str(run), VIOLATED]
    done = assay(*words[1:], "--calls", 1, "-o", tmp_path / "small")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "small" / "REPRODUCE.md").is_file()


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

    words = reproduce_options(folder)
    assert words[:2] == ["--verifier-command", command]
    assert words[2:] == ["--timeout", "30", "--memory", "4"]

    (folder / "notes.txt").write_text("mine")
    before = contents(folder)
    refused = assay("shrink", run, VIOLATED, *options)
    assert refused.returncode == 2
    assert "holds what `assay shrink` did not put there (notes.txt)" in refused.stderr
    assert before == contents(folder)

    known = assay("shrink", run, VIOLATED, *options, "-o", tmp_path / "known", "--json")
    assert json.loads(known.stdout)["calls"] == 3, "only what is asked afresh"
    name = f"onnx/{VIOLATED}.onnx"
    assert (tmp_path / "known" / name).read_bytes() == (folder / name).read_bytes()


def test_the_same_command_goes_on_where_its_calls_ended(bench: Path, tmp_path: Path) -> None:
    command = liar(tmp_path)
    assay("run", bench, "--verifier-command", command, "-o", "run", cwd=tmp_path)
    words = ("shrink", "run", VIOLATED, "--verifier-command", command)
    more = ("--calls", 2, "-o", "out", "--json")
    done = json.loads(assay(*words, *more, cwd=tmp_path).stdout)
    assert (done["ended"], done["calls"], done["confirmed"]) == ("calls", 1 + 2 + 2, 2)
    again = json.loads(assay(*words, *more, cwd=tmp_path).stdout)
    assert again["calls"] == 5
    assert again["after"]["bytes"] < done["after"]["bytes"]
    assert assay("check", "out", cwd=tmp_path).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["liar.py", "out", "run"]

    smallest = contents(tmp_path / "out")
    (tmp_path / "run" / "shrunk" / f"{VIOLATED}-liar.answers.jsonl").unlink()
    done = assay(*words, "--calls", 1, "-o", "out", cwd=tmp_path)
    assert "the --calls are spent; the same command goes on from here" in done.stdout
    assert "already holds one as small or smaller; it stays as it is" in done.stdout
    assert contents(tmp_path / "out") == smallest


def test_what_cannot_be_shrunk_keeps_its_certificate(tmp_path: Path) -> None:
    suite = tmp_path / "er.yaml"
    knobs = "{inputs: 4, hidden: [6], classes: 2, fractions: [0.9]}"
    suite.write_text(f"name: er\nfamilies:\n  - {{family: exact_radius, fixed: {knobs}}}\n")
    assert assay("build", suite, "-o", "bench", cwd=tmp_path).returncode == 0
    (truth,) = (tmp_path / "bench" / "truth").glob("*-robust.json")
    assert truth.with_suffix(".bin").exists(), "a certificate with arrays"
    script = tmp_path / "once.py"
    # Wrong about the very bytes of the original only.
    script.write_text(
        "import sys, hashlib\n"
        "text = open(sys.argv[1], 'rb').read() + open(sys.argv[2], 'rb').read()\n"
        "same = hashlib.sha256(text).hexdigest() == sys.argv[4]\n"
        "open(sys.argv[3], 'w').write('sat\\n' if same else 'unknown\\n')\n"
    )
    bench, name = tmp_path / "bench", truth.stem
    both = [(bench / part / f"{name}.{part}").read_bytes() for part in ("onnx", "vnnlib")]
    words = shlex.join([sys.executable, "-I", "-S", str(script)])
    digest = hashlib.sha256(b"".join(both)).hexdigest()
    command = f"once={words} {{onnx}} {{vnnlib}} {{result}} {digest}"
    assay("run", "bench", "--verifier-command", command, "-o", "run", cwd=tmp_path)
    options = ("--verifier-command", command, "--calls", 1, "-o", "out")
    done = assay("shrink", "run", name, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Nothing could be shrunk" in done.stdout
    assert "Nothing could be shrunk" in (tmp_path / "out" / "REPRODUCE.md").read_text()
    checked = assay("check", "out", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout
    assert json.loads((tmp_path / "out" / "truth" / truth.name).read_text())["twin"] is None


def test_reproduce_names_the_options_of_a_liar(bench: Path, tmp_path: Path) -> None:
    brought = BroughtTools(variables={"DEPTH": "3 4"})
    words = called_with("liar-unsat", brought)
    assert words[0] == "--verifier-command"
    assert words[-2:] == ("--env", "DEPTH=3 4")
    done = assay("run", bench, *words, "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert f"unsound: liar-unsat on {VIOLATED}" in assay("score", tmp_path / "run").stdout
    assert called_with("linear", BroughtTools()) == ("-v", "linear")


def test_reproduce_names_a_folder_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mytool"
    folder.mkdir()
    for name in ("install_tool.sh", "prepare_instance.sh", "run_instance.sh"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    found = called_with("mytool", BroughtTools(folders=[Path("mytool")]))
    assert found == ("--verifier-dir", str(folder))


def test_a_folder_that_cannot_be_written_is_known_before_the_search(
    lied: tuple[Path, str], tmp_path: Path
) -> None:
    run, command = lied
    (tmp_path / "file").write_text("mine")
    words = ("shrink", run, VIOLATED, "--verifier-command", command)
    done = assay(*words, "-o", tmp_path / "file" / "out")
    assert done.returncode == 2
    assert f"cannot write {tmp_path / 'file'}" in done.stderr
    assert "shrink:" not in done.stderr, "no word of a search"
    done = assay(*words, "-o", tmp_path)
    assert "exists already and is not overwritten; choose a new folder" in done.stderr


def test_answers_of_somebody_else_are_left_alone(lied: tuple[Path, str], tmp_path: Path) -> None:
    run, command = lied
    copy = Path(shutil.copytree(run, tmp_path / "run"))
    answers = copy / "shrunk" / f"{VIOLATED}-liar.answers.jsonl"
    for text in ("notes", "notes\nmore\n"):
        answers.parent.mkdir(exist_ok=True)
        answers.write_text(text)
        words = ("shrink", copy, VIOLATED, "--verifier-command", command)
        done = assay(*words, "-o", tmp_path / "out")
        assert done.returncode == 2
        assert "was not written by" in done.stderr
        assert answers.read_text() == text


def test_ctrl_c_before_the_search_says_so(bench: Path, tmp_path: Path) -> None:
    command = liar(tmp_path, pause=2.0)
    assay("run", bench, "--verifier-command", command, "-o", "run", cwd=tmp_path)
    process = begun("shrink", "run", VIOLATED, "--verifier-command", command, cwd=tmp_path)
    answers = tmp_path / "run" / "shrunk" / f"{VIOLATED}-liar.answers.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not answers.exists():
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "stopped before anything was shrunk" in err
    assert out == ""


def test_ctrl_c_keeps_the_best_so_far(bench: Path, tmp_path: Path) -> None:
    command = liar(tmp_path, pause=0.5)
    assay("run", bench, "--verifier-command", command, "-o", "run", cwd=tmp_path)
    words = ["shrink", "run", VIOLATED, "--verifier-command", command, "-o", "out"]
    process = begun(*words, cwd=tmp_path)
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
    assay("run", copy, "--verifier-command", command, "-o", tmp_path / "run")
    document = json.loads(truth.read_text())
    document["margin"] = "-1000"
    truth.write_text(json.dumps(document))
    done = assay("shrink", tmp_path / "run", VIOLATED, "--verifier-command", command)
    assert done.returncode == 2
    assert "the checker does not verify it" in done.stderr
    truth.unlink()
    done = assay("shrink", tmp_path / "run", VIOLATED, "--verifier-command", command)
    assert "has no truth, so that no answer can be called wrong" in done.stderr


@pytest.mark.nightly
def test_a_mutant_is_shrunk(tmp_path: Path) -> None:
    """An unsound one; docs/shrink.md, which is run as well, has a bogus one."""
    mutant, instance = "mutant-last-disjunct-wins", "planted-01-000-violated"
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
    assert document["outcome"] == "unsound"
    assert document["confirmed"] == 2
    before, after = document["before"], document["after"]
    assert after["units"] < before["units"]
    assert after["inputs"] <= before["inputs"]
    assert 2 * after["weights"] < before["weights"]
    assert assay("check", "out", cwd=tmp_path).returncode == 0
    assert assay("run", "out", "-v", mutant, "-v", "linear", "-o", "again", cwd=tmp_path)
    assert f"unsound: {mutant} on {instance}" in assay("score", "again", cwd=tmp_path).stdout
