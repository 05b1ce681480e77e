"""`assay attack` as a person meets it: the files, wrong labels, stops and repeats, refusals."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from command_line import assay

from assay.attack.battery import attacks
from assay.attack.table import read

WITHOUT_GPU = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
WITHOUT_PACKAGE = any(attack.missing() for attack in attacks().values())
QUICK = ("--attacks", "random", "--attacks", "pgd-margin", "--jobs", 1)


@pytest.fixture
def folder(bench: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bench, tmp_path / "bench"))


def test_writes_the_table_and_says_what_is_hidden(folder: Path) -> None:
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    done = assay("attack", folder, "--jobs", 1)
    assert done.returncode == 0, done.stderr
    rows = read(folder)
    by_answer = {row.answer: row for row in rows.values()}
    assert by_answer["violated"].hidden == "no"
    assert "random" in by_answer["violated"].found_by
    assert by_answer["robust"].hidden == ""
    assert by_answer["robust"].found_by == ()
    assert "meap: 0 of 1 violated instances are hidden." in done.stdout
    assert "1 robust instances: nothing found that exact arithmetic confirms." in done.stdout
    document = json.loads((folder / "attack.json").read_text())
    assert document["strength"] == 1
    assert document["attacks"]["random"] == {"restarts": 50_000, "steps": 1}
    assert document["whole"] is not WITHOUT_PACKAGE
    assert document["counts"] == {"meap": {"robust": 1, "found": 1}}
    assert {p: p.read_bytes() for p in before} == before
    assert not (folder / ".attack.jsonl").exists()


def test_the_same_numbers_on_any_number_of_processes(folder: Path) -> None:
    found = []
    for jobs in (1, 2):
        assert assay("attack", folder, *QUICK[:4], "--jobs", jobs).returncode == 0
        found.append({n: (r.margins, r.queries, r.gradients) for n, r in read(folder).items()})
    assert found[0] == found[1]


def test_a_part_of_the_battery_calls_nothing_hidden(folder: Path) -> None:
    done = assay("attack", folder, "--attacks", "quiet-units", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["whole"] is False
    assert "violated instances are hidden" not in assay("attack", folder, *QUICK).stdout
    assert all(row["hidden"] != "yes" for row in document["instances"])
    assert list(document["attacks"]) == ["quiet-units"]


def test_one_question_needs_no_folder(folder: Path) -> None:
    (truth,) = (folder / "truth").glob("*violated.json")
    files = (folder / "onnx" / f"{truth.stem}.onnx", folder / "vnnlib" / f"{truth.stem}.vnnlib")
    done = assay("attack", *files, *QUICK, "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["instances"]
    assert (row["answer"], row["hidden"]) == ("violated", "no")
    assert not (folder / "attack.csv").exists()


def test_a_wrong_label_stops_everything(folder: Path) -> None:
    (path,) = (folder / "truth").glob("*violated.json")
    truth = json.loads(path.read_text()) | {"answer": "robust", "margin": "1/2"}
    path.write_text(json.dumps(truth))
    files = (folder / "onnx" / f"{path.stem}.onnx", folder / "vnnlib" / f"{path.stem}.vnnlib")
    for asked in ((folder,), files):
        done = assay("attack", *asked, *QUICK)
        assert done.returncode == 2
        assert f"{path.name}: the checker does not verify it" in done.stderr
    assert not (folder / "attack.csv").exists()


def test_bad_instances_are_marked_and_the_others_attacked(folder: Path) -> None:
    (folder / "onnx" / "empty.onnx").write_bytes(b"")
    (question,) = (folder / "vnnlib").glob("*violated.vnnlib")
    with (folder / "instances.csv").open("a") as stream:
        stream.write(f"onnx/empty.onnx,vnnlib/{question.name},10\n")
    done = assay("attack", folder, *QUICK)
    assert done.returncode == 2
    rows = list(read(folder).values())
    assert [row.status for row in rows] == ["ok", "ok", "failed"]
    assert rows[2].note
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("missing",), "not a folder"),
        ((".", "--strength", "0"), "--strength 0"),
        ((".", "--attacks", "pdg-ce"), "did you mean 'pgd-ce'?"),
        ((".", "--device", "tpu"), "give cpu, cuda or auto"),
        pytest.param((".", "--device", "cuda"), "no GPU", marks=WITHOUT_GPU),
        (("a", "b", "c"), "one ONNX and one VNN-LIB"),
        (("a.onnx", "b.vnnlib", "--attacks", "random"), "a.onnx"),
    ],
)
def test_bad_commands(tmp_path: Path, command: tuple[str, ...], words: str) -> None:
    done = assay("attack", *command, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_foreign_files_are_kept(folder: Path) -> None:
    (folder / "attack.csv").write_text("mine")
    done = assay("attack", folder, *QUICK)
    assert done.returncode == 2
    assert "no table of attacks of Assay's" in done.stderr
    assert (folder / "attack.csv").read_text() == "mine"
    (folder / "attack.csv").unlink()
    for name in ("folder", "file"):
        path = folder / "attack.json"
        path.mkdir() if name == "folder" else path.write_text("mine")
        done = assay("attack", folder, *QUICK)
        assert done.returncode == 2
        assert "attack.json" in done.stderr
        assert "move it away" in done.stderr
        path.rmdir() if name == "folder" else path.unlink()
    (folder / ".attack.jsonl").write_text("mine\n")
    assert "no file of Assay's" in assay("attack", folder, *QUICK).stderr
    assert (folder / ".attack.jsonl").read_text() == "mine\n"


def test_goes_on_after_a_kill(folder: Path) -> None:
    (question,) = (folder / "vnnlib").glob("*robust.vnnlib")
    network = (folder / "onnx" / f"{question.stem}.onnx").read_bytes()
    with (folder / "instances.csv").open("a") as stream:
        for number in range(8):
            (folder / "onnx" / f"n{number}.onnx").write_bytes(network)
            stream.write(f"onnx/n{number}.onnx,vnnlib/{question.name},10\n")
    command = [sys.executable, "-m", "assay.cli.main", "attack", str(folder), *map(str, QUICK)]
    first = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    progress = folder / ".attack.jsonl"
    while not progress.exists() or progress.read_bytes().count(b"\n") < 3:
        assert first.poll() is None
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert not (folder / "attack.csv").exists()
    done = assay("attack", folder, *QUICK)
    assert done.returncode == 0, done.stderr
    assert "of them known before" in done.stdout
    assert len(read(folder)) == 10
    # Another budget is never answered from what was done before.
    assert "known before" not in assay("attack", folder, *QUICK, "--seed", 1).stdout


def test_a_stopped_command_is_not_forgotten_for_another(folder: Path) -> None:
    progress = folder / ".attack.jsonl"
    (folder / "onnx" / "empty.onnx").write_bytes(b"")
    (question,) = (folder / "vnnlib").glob("*violated.vnnlib")
    with (folder / "instances.csv").open("a") as stream:
        stream.write(f"onnx/empty.onnx,vnnlib/{question.name},10\n")
    assert assay("attack", folder, *QUICK).returncode == 2
    again = assay("attack", folder, *QUICK)  # what was good is not attacked again
    assert "2 of them known before" in again.stdout
    lines = progress.read_text().splitlines()
    assert json.loads(lines[-1]) == {"ended": True}
    rows = [line for line in lines[1:] if "ended" not in line]
    stopped = "\n".join([lines[0], *rows]) + "\n"
    progress.write_text(stopped)
    other = assay("attack", folder, *QUICK, "--seed", 1)
    assert other.returncode == 2
    assert "holds 2 finished rows of a stopped command (other seed)" in other.stderr
    assert progress.read_text() == stopped
    # Damaged rows and rows about another truth are made again.
    (truth,) = (folder / "truth").glob("*violated.json")
    truth.write_text(truth.read_text() + "\n")
    damaged = {**json.loads(rows[0]), "found_by": 3, "margins": None}
    progress.write_text("\n".join([lines[0], json.dumps(damaged), rows[1]]) + "\n")
    done = assay("attack", folder, *QUICK)
    assert "Traceback" not in done.stderr
    assert "known before" not in done.stdout


def test_a_part_of_the_battery_replaces_all_of_it_only_by_force(folder: Path) -> None:
    assert assay("attack", folder, *QUICK).returncode == 0
    settings = json.loads((folder / "attack.json").read_text())
    (folder / "attack.json").write_text(json.dumps({**settings, "whole": True}, indent=1))
    before = (folder / "attack.csv").read_bytes()
    done = assay("attack", folder, "--attacks", "corners")
    assert done.returncode == 2
    assert "give --force to replace it" in done.stderr
    assert (folder / "attack.csv").read_bytes() == before
    assert assay("attack", folder, "--attacks", "corners", "--force").returncode == 0
    assert (folder / "attack.csv").read_bytes() != before


def test_a_sealed_benchmark_does_not_tell(folder: Path, tmp_path: Path) -> None:
    assert assay("attack", folder, *QUICK).returncode == 0
    done = assay("seal", folder, "-o", tmp_path / "sealed", "--allow-telltales")
    assert done.returncode == 0, done.stderr
    published = {path.name for path in (tmp_path / "sealed" / "questions").rglob("*")}
    assert not any("attack" in name for name in published)
    exported = assay("export", folder, "-o", tmp_path / "out")
    assert exported.returncode == 0, exported.stderr
    assert not list((tmp_path / "out").rglob("attack*"))
