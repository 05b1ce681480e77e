"""No command believes a truth that the checker rejects."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from command_line import assay

ROBUST = "meap-00-000-robust"


@pytest.fixture
def run(bench: Path, tmp_path: Path) -> Path:
    """What a tool that always says robust answered, before the truths were touched."""
    tool = "mine=sh -c 'echo unsat > {result}' {onnx} {vnnlib}"
    done = assay("run", bench, "--verifier-command", tool, "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    return tmp_path / "run"


@pytest.fixture
def flipped(bench: Path, run: Path, tmp_path: Path) -> Path:
    """The same benchmark, where a robust network is said to be violated."""
    copy = tmp_path / "flipped"
    shutil.copytree(bench, copy)
    path = copy / "truth" / f"{ROBUST}.json"
    document = json.loads(path.read_text()) | {"answer": "violated", "margin": "-1"}
    document |= {"certificate": {"kind": "witness"}, "witness": ["0", "0", "0"]}
    path.write_text(json.dumps(document))
    plan = run / "run.json"
    plan.write_text(plan.read_text().replace(str(bench), str(copy)))
    return copy


COMMANDS = {
    "run": ["run", "{bench}", "-v", "milp", "-o", "{new}"],
    "score": ["score", "{run}"],
    "report": ["report", "{run}", "-o", "{new}"],
    "explain": ["explain", "{bench}", "--run", "{run}"],
    "shrink": ["shrink", "{run}", ROBUST],
    "profile": ["profile", "{bench}"],
    "profile a question": ["profile", "{onnx}", "{vnnlib}"],
    "attack": ["attack", "{bench}", "--attacks", "random"],
    "attack a question": ["attack", "{onnx}", "{vnnlib}", "--attacks", "random"],
    "power": ["power", "{bench}", "--mutants", "full-queue", "-o", "{new}"],
    "export": ["export", "{bench}", "--with-truth", "-o", "{new}"],
    "seal": ["seal", "{bench}", "-o", "{new}"],
    "calibrate": ["calibrate", "{bench}", "-o", "{new}"],
    "published": ["score", "--results", "{results}", "--benchmark", "{bench}"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_flipped_truth_stops_it(name: str, flipped: Path, run: Path, tmp_path: Path) -> None:
    results = tmp_path / "results.csv"
    results.write_text(f"t,{ROBUST}.onnx,{ROBUST}.vnnlib,0,unsat,1.0\n")
    if name == "explain":
        table = f"instance,status,M_min,G_IBP,U,A_tau,d_eff\n{ROBUST},ok,1,1,1,1,1\n"
        (flipped / "profile.csv").write_text(table)
    places = {
        "bench": flipped,
        "run": run,
        "new": tmp_path / "new",
        "results": results,
        "onnx": flipped / "onnx" / f"{ROBUST}.onnx",
        "vnnlib": flipped / "vnnlib" / f"{ROBUST}.vnnlib",
    }
    before = sorted(p.name for p in flipped.iterdir())
    done = assay(*(word.format(**places) for word in COMMANDS[name]))
    assert done.returncode == 2, done.stdout + done.stderr
    last = done.stderr.splitlines()[-1]
    assert f"{ROBUST}.json: the checker does not verify it (rejected: " in last
    assert "remove this truth to ask the question without one" in last
    assert "unsound" not in done.stdout
    assert sorted(p.name for p in flipped.iterdir()) == before
    assert not (tmp_path / "new").exists()


def test_without_the_truth_the_question_is_asked(flipped: Path, run: Path) -> None:
    (flipped / "truth" / f"{ROBUST}.json").unlink()
    scored = assay("score", run)
    assert scored.returncode == 1, "the other truth is right, and the tool is wrong about it"
    assert "no truth" in scored.stdout or "without" in scored.stdout


def test_a_truth_is_checked_once(bench: Path, run: Path, tmp_path: Path) -> None:
    fresh = {"ASSAY_CACHE": str(tmp_path / "cache")}
    first, second = (assay("score", run, **fresh) for _ in range(2))
    assert "check: 2/2" in first.stderr
    assert "check:" not in second.stderr
    assert first.stdout == second.stdout
    assert not any("verified" in path.name for path in bench.rglob("*"))


def test_unsealed_truths_are_verified(bench: Path, tmp_path: Path) -> None:
    """A commitment to a false answer is kept by whoever made it; it is false all the same."""
    sealed, opened = tmp_path / "sealed", tmp_path / "opened"
    assert assay("seal", bench, "--allow-telltales", "-o", sealed).returncode == 0
    archive, commitment = sealed / "truths.tar", sealed / "questions" / "commitment.json"
    data = archive.read_bytes()
    start = data.index(b'"margin": "', data.index(b'"answer": "robust"')) + len(b'"margin": "')
    forged = data[:start] + b"9" + data[start + 1 :]
    archive.write_bytes(forged)
    before, after = (hashlib.sha256(d).hexdigest() for d in (data, forged))
    commitment.write_text(commitment.read_text().replace(before, after))
    done = assay("unseal", sealed / "questions", "--truths", archive, "-o", opened)
    assert done.returncode == 2
    assert f"{archive}, truth/q" in done.stderr
    assert "the checker does not verify it (rejected: the margin" in done.stderr
    assert not opened.exists()
