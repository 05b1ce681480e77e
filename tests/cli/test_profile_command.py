"""`assay profile` as a person meets it: the file, the table, bad instances, stops and repeats."""

from __future__ import annotations

import csv
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from command_line import assay

from assay.difficulty.profile_rows import COLUMNS, TIMINGS
from assay.question.graph import GraphBuilder

WITHOUT_GPU = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
QUESTION = """(declare-const X_0 Real)
(declare-const Y_0 Real)
(assert (>= X_0 -1))
(assert (<= X_0 1))
(assert (<= Y_0 0))
"""


@pytest.fixture
def folder(bench: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bench, tmp_path / "bench"))


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "profile.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def network(weight: float = 2.0) -> bytes:
    graph = GraphBuilder((1, 1))
    hidden = graph.relu(graph.gemm(graph.input, np.array([[weight]], np.float32)))
    return graph.build(graph.gemm(hidden, np.ones((1, 1), np.float32), np.float32([3])))


def add(folder: Path, name: str, model: bytes, question: str = QUESTION) -> None:
    (folder / "onnx" / f"{name}.onnx").write_bytes(model)
    (folder / "vnnlib" / f"{name}.vnnlib").write_text(question)
    with (folder / "instances.csv").open("a") as stream:
        stream.write(f"onnx/{name}.onnx,vnnlib/{name}.vnnlib,10\n")


def test_writes_one_row_an_instance_and_prints_bars(folder: Path) -> None:
    add(folder, "hinge", network())
    done = assay("profile", folder, "--samples", 100)
    assert done.returncode == 0, done.stderr
    table = rows(folder)
    assert tuple(table[0]) == COLUMNS
    assert [row["status"] for row in table] == ["ok"] * 3
    hinge = table[2]
    assert (hinge["instance"], hinge["U"], hinge["cells"]) == ("hinge", "1.0", "2")
    assert float(hinge["M_searched"]) == 3.0
    assert float(hinge["L_IBP"]) == pytest.approx(3)
    assert float(hinge["G_CROWN"]) == pytest.approx(0, abs=1e-9)
    assert "█" in done.stdout
    assert "3 of 3 profiled" in done.stdout
    assert not (folder / ".profile.jsonl").exists()


def test_one_question_needs_no_folder(tmp_path: Path) -> None:
    (tmp_path / "n.onnx").write_bytes(network())
    (tmp_path / "q.vnnlib").write_text(QUESTION)
    done = assay("profile", tmp_path / "n.onnx", tmp_path / "q.vnnlib", "--json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["profiles"]
    assert found["found_by"] in ("sample", "corner")
    assert found["d_eff_low"] < 0.5 < found["d_eff_high"]
    assert len(found["point"]) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["n.onnx", "q.vnnlib"]


def test_the_same_seed_gives_the_same_file_in_any_order(folder: Path) -> None:
    for number in range(3):
        add(folder, f"hinge{number}", network(1.0 + number))
    found = []
    listing = folder / "instances.csv"
    for jobs in (1, 2):
        assert assay("profile", folder, "--jobs", jobs, "--samples", 60).returncode == 0
        found.append(
            sorted(
                [value for name, value in row.items() if name not in TIMINGS]
                for row in rows(folder)
            )
        )
        listing.write_text("\n".join(reversed(listing.read_text().split())) + "\n")
    assert found[0] == found[1]
    assert assay("profile", folder, "--seed", 1, "--samples", 60).returncode == 0
    assert {row["M_min"] for row in rows(folder)} != {row[2] for row in found[0]}


def nan_weights() -> bytes:
    model = onnx.ModelProto.FromString(network())
    for tensor in model.graph.initializer:
        if tensor.raw_data:
            tensor.raw_data = np.full(len(tensor.raw_data) // 4, np.nan, np.float32).tobytes()
    return model.SerializeToString()


def unsupported_operator() -> bytes:
    model = onnx.ModelProto.FromString(network())
    for node in model.graph.node:
        if node.op_type == "Relu":
            node.op_type, node.name = "Selu", "odd"
    return model.SerializeToString()


BAD = {
    "operator": (unsupported_operator(), QUESTION, "operator Selu yet (node 'odd')"),
    "unbounded": (network(), QUESTION.replace("(assert (<= X_0 1))\n", ""), "no upper bound"),
    "nan": (nan_weights(), QUESTION, "NaN or infinity"),
    "point": (network(), QUESTION.replace("X_0 -1", "X_0 1"), "single point"),
    "sizes": (
        network(),
        QUESTION.replace("(declare-const Y_0", "(declare-const X_1 Real)\n(declare-const Y_0")
        + "(assert (>= X_1 0))\n(assert (<= X_1 1))\n",
        "1 inputs and 1 outputs where the property speaks of 2 and 1",
    ),
    "empty": (b"", QUESTION, "ONNX"),
}


def test_bad_instances_are_marked_and_the_others_profiled(folder: Path) -> None:
    for name, (model, question, _) in BAD.items():
        add(folder, name, model, question)
    done = assay("profile", folder, "--samples", 50)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    by_name = {row["instance"]: row for row in rows(folder)}
    for name, (_, _, words) in BAD.items():
        row = by_name.pop(name)
        assert (row["status"], row["M_min"]) == ("failed", "")
        assert words in row["note"], row["note"]
        (line,) = [text for text in done.stderr.splitlines() if text.startswith(f"assay: {name}: ")]
        assert words in line
    assert [row["status"] for row in by_name.values()] == ["ok", "ok"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("missing",), "not a folder"),
        ((".", "--samples", "1"), "--samples"),
        ((".", "--tau", "2"), "--tau"),
        pytest.param((".", "--device", "cuda"), "no GPU", marks=WITHOUT_GPU),
        (("a", "b", "c"), "one ONNX and one VNN-LIB"),
        (("a.onnx", "b.vnnlib"), "a.onnx"),
    ],
)
def test_bad_commands(tmp_path: Path, command: tuple[str, ...], words: str) -> None:
    done = assay("profile", *command, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_foreign_file_is_kept(folder: Path) -> None:
    (folder / "profile.csv").write_text("mine")
    done = assay("profile", folder)
    assert done.returncode == 2
    assert "no profile of Assay's" in done.stderr
    assert (folder / "profile.csv").read_text() == "mine"


def test_a_foreign_progress_file_is_kept(folder: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (folder / ".profile.jsonl").symlink_to(precious)
    assert assay("profile", folder).returncode == 2
    assert precious.read_text() == "mine"
    (folder / ".profile.jsonl").unlink()
    (folder / ".profile.jsonl").write_text("mine\n")
    done = assay("profile", folder)
    assert done.returncode == 2
    assert "no file of Assay's" in done.stderr
    assert (folder / ".profile.jsonl").read_text() == "mine\n"


def test_a_wrong_label_stops_everything(folder: Path) -> None:
    (path,) = (folder / "truth").glob("*violated.json")
    truth = json.loads(path.read_text())
    truth |= {"answer": "robust", "margin": "1/2"}
    path.write_text(json.dumps(truth))
    files = (folder / "onnx" / f"{path.stem}.onnx", folder / "vnnlib" / f"{path.stem}.vnnlib")
    for asked in ((folder,), files):
        done = assay("profile", *asked)
        assert done.returncode == 2
        assert f"{path.name}: the checker does not verify it" in done.stderr
    assert not (folder / "profile.csv").exists()


def test_goes_on_after_a_kill_and_refuses_to_share(folder: Path) -> None:
    for number in range(12):
        add(folder, f"hinge{number}", network(1.0 + number))
    command = [sys.executable, "-m", "assay.cli.main", "profile", str(folder), "--jobs", "1"]
    first = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    progress = folder / ".profile.jsonl"
    while not progress.exists() or progress.read_bytes().count(b"\n") < 3:
        assert first.poll() is None
        time.sleep(0.05)
    second = assay("profile", folder)
    assert second.returncode == 2
    assert "another command" in second.stderr
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert not (folder / "profile.csv").exists()
    with progress.open("ab") as stream:
        stream.write(b'{"instance": "hin')  # what a kill in the middle of a write leaves
    done = assay("profile", folder)
    assert done.returncode == 0, done.stderr
    assert "of them known before" in done.stdout
    assert len(rows(folder)) == 14
    # Changed bytes or settings are never answered from what was done before.
    assert "known before" not in assay("profile", folder).stdout
