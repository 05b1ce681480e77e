"""`assay certify`: a network and a centre become a checked folder, or one sentence."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from command_line import assay as run_assay

import assay
from assay.certify import brought
from assay.certify import proved_radius as certified_folder
from assay.certify.certifying import Request, certified_instances
from assay.cli.certify import certify
from assay.errors import BadInput, CannotCertify
from assay.question import vnnlib
from assay.question.graph import GraphBuilder, mlp
from assay.suite.checking import check, claims_of_folder
from assay.suite.folder import BenchmarkFolder
from assay.suite.proved_truths import proved_truths
from assay.truth.record import Truth

SOURCE = str(Path(assay.__file__).parents[1])
Layers = list[tuple[np.ndarray, np.ndarray]]


def layers(*sizes: int) -> Layers:
    draw = np.random.default_rng(1)
    made = []
    for inputs, outputs in pairwise(sizes):
        weight, bias = draw.normal(size=(outputs, inputs)), draw.normal(size=outputs) / 4
        made.append(tuple((np.round(a * 64) / 64).astype(np.float32) for a in (weight, bias)))
    return made


def flattened_matmul(parts: Layers, shape: tuple[int, ...]) -> bytes:
    graph = GraphBuilder(shape)
    x = graph.flatten(graph.input)
    for i, (weight, bias) in enumerate(parts):
        x = graph.relu(x) if i else x
        x = graph.add(graph.matmul(x, np.ascontiguousarray(weight.T)), bias)
    return graph.build(x)


def arguments_for(command: tuple[object, ...]) -> list[str]:
    return [sys.executable, "-m", "assay.cli.main", "certify", *map(str, command)]


def assay_certify(*command: object, given: str = "") -> subprocess.CompletedProcess[str]:
    return run_assay("certify", *command, given=given, COLUMNS="120")


def verdicts(folder: Path) -> list[str]:
    opened = BenchmarkFolder.open(folder)
    assert not opened.without_truth()
    assert not opened.strays()
    return [checked.status for checked in check(claims_of_folder(opened), jobs=1)]


@pytest.fixture
def net(tmp_path: Path) -> Path:
    path = tmp_path / "mynet.onnx"
    path.write_bytes(mlp(layers(3, 6, 5, 3)))
    return path


@pytest.fixture
def point(tmp_path: Path) -> Path:
    path = tmp_path / "point.txt"
    path.write_text("0.125, 0.25\n-0.25\n")
    return path


def test_a_network_becomes_a_checked_benchmark(net: Path, point: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["--fraction", 0.9, "--fraction", 0.99, "--timeout", 7.5]
    done = assay_certify(net, "--centre", point, *options, "-o", out)
    assert done.returncode == 0, done.stderr
    assert "certify: 1/1 mynet" in done.stderr
    names = [entry.name for entry in BenchmarkFolder.open(out).entries]
    assert names == [
        f"mynet-f{f}-{a}" for f in (0.9, 0.99, 0.99999) for a in ("robust", "violated")
    ]
    assert verdicts(out) == ["verified"] * 6
    with (out / "instances.csv").open(newline="") as stream:
        assert {line[2] for line in csv.reader(stream)} == {"7.5"}
    document = json.loads((out / "suite.json").read_text())
    assert document["counts"] == {"exact_radius": {"robust": 3, "violated": 3}}
    assert not (out / ".build").exists()
    for name in names:
        path = out / f"truth/{name}.json"
        truth = Truth.from_json(path.read_text(), name)
        assert truth.twin in names
        assert truth.facts["radius_lower"] in done.stdout
        assert truth.facts["radius_upper"] in done.stdout
        line = next(line for line in done.stdout.splitlines() if f" {name} " in line)
        assert f" {truth.answer} " in line
        assert f" {truth.guard} " in line
    assert "was moved" not in done.stdout


def test_json_of_matmul_with_flatten_from_standard_input(tmp_path: Path) -> None:
    path = tmp_path / "flat net.v2.onnx"
    path.write_bytes(flattened_matmul(layers(6, 5, 3), (1, 2, 3)))
    out = tmp_path / "out"
    centre = "0.1 0 0 0 0 -5e-1"
    done = assay_certify(path, "--centre", "-", "--json", "-o", out, given=centre)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert verdicts(out) == ["verified"] * 4
    lower, upper = (Fraction(document[f"radius_{side}"]["exact"]) for side in ("lower", "upper"))
    assert 0 < lower < upper
    assert Fraction(document["radius_lower"]["decimal"]) <= lower
    assert Fraction(document["radius_upper"]["decimal"]) >= upper
    assert 0 < Fraction(document["centre_moved"]["exact"]) <= Fraction(1, 2**21)
    robust, violated, closest, beyond = document["instances"]
    assert Fraction(closest["epsilon"]["exact"]) == lower
    assert Fraction(beyond["epsilon"]["exact"]) == upper
    assert (robust["name"], violated["answer"]) == ("flat-net.v2-f0.9-robust", "violated")
    assert Fraction(robust["epsilon"]["exact"]) <= lower
    assert Fraction(violated["epsilon"]["exact"]) >= upper
    assert Fraction(violated["margin"]["exact"]) < 0 < Fraction(robust["margin"]["exact"])
    question = out / "vnnlib/flat-net.v2-f0.9-robust.vnnlib"
    box = vnnlib.read(question.read_text(), "question").cases[0].box
    assert box.upper[1] == Fraction(robust["epsilon"]["exact"])


def test_a_finished_folder_is_shown_again_and_made_again_the_same(
    net: Path, point: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    certify(net, str(point), out, as_json=True)
    first = json.loads(capsys.readouterr().out)
    times = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    certify(net, str(point), out, as_json=True)
    second = json.loads(capsys.readouterr().out)
    assert (first.pop("already"), second.pop("already")) == (False, True)
    del first["seconds"], second["seconds"]
    assert first == second
    certify(net, str(point), tmp_path / "twin", as_json=True)
    for path in out.glob("*/*"):
        assert path.read_bytes() == (tmp_path / "twin" / path.relative_to(out)).read_bytes()
    with pytest.raises(BadInput, match="different network, centre or option; choose"):
        certify(net, str(point), out, fraction=[0.8])
    with pytest.raises(BadInput, match=r"different seed \(0, now 1\)"):
        certify(net, str(point), out, seed=1)
    assert times == {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    question = out / "vnnlib/mynet-f0.9-robust.vnnlib"
    text = question.read_text()
    question.write_text(text + "\n")
    again = f"remove {out} to certify the network again, or choose another folder"
    with pytest.raises(BadInput, match=f"is about other bytes than .*; {again}"):
        certify(net, str(point), out)
    question.write_text(text)
    (out / "truth/mynet-f0.9-robust.json").unlink()
    with pytest.raises(BadInput, match=f"its truth is gone; {again}"):
        certify(net, str(point), out)


def test_the_box_is_read_off_the_bytes_that_were_verified(
    net: Path, point: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    question = out / "vnnlib/mynet-f0.9-robust.vnnlib"

    def verified_then_edited(*given: Any, **named: Any) -> dict[str, Truth]:
        truths = proved_truths(*given, **named)
        question.write_text(question.read_text() + "\n")
        return truths

    monkeypatch.setattr(certified_folder, "proved_truths", verified_then_edited)
    with pytest.raises(BadInput, match=r"mynet-f0\.9-robust\.vnnlib: was changed"):
        certify(net, str(point), out)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"fraction": [0.0]}, "--fraction should be greater than 0"),
        ({"fraction": [0.5, 1.5]}, "--fraction should be less than"),
        ({"fraction": [float("nan")]}, "--fraction should be"),
        ({"fraction": [0.9, 0.9]}, r"--fraction 0\.9 is given twice"),
        ({"fraction": [i / 100 for i in range(1, 23)]}, "at most 20"),
        ({"solver": "gurobi"}, "--solver should be 'branch'"),
        ({"nodes": 0}, "--nodes should be greater"),
        ({"seed": -1}, "--seed -1 is not between"),
        ({"timeout": 0.0}, "--timeout 0.0 is not"),
        ({"timeout": float("nan")}, "--timeout nan is not"),
    ],
)
def test_options_out_of_range(
    net: Path, point: Path, tmp_path: Path, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence):
        certify(net, str(point), tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_fractions_that_ask_the_same(net: Path, point: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"asks about the same box as mynet-f0\.9-"):
        certify(net, str(point), tmp_path / "out", fraction=[0.9, 0.90000000001])
    assert not (tmp_path / "out").exists()


def sigmoid() -> bytes:
    graph = GraphBuilder((1, 3))
    return graph.build(graph.sigmoid(graph.gemm(graph.input, *layers(3, 2)[0])))


def batch_of_five() -> bytes:
    graph = GraphBuilder((5, 3))
    x = graph.input
    for i, (weight, bias) in enumerate(layers(3, 6, 5, 3)):
        x = graph.relu(x) if i else x
        x = graph.add(graph.matmul(x, np.ascontiguousarray(weight.T)), bias)
    return graph.build(x)


@pytest.mark.parametrize(
    ("network", "sentence"),
    [
        (lambda: b"", "the file is empty"),
        (lambda: b"not a network", "net.onnx: "),
        (sigmoid, "net.onnx.* MLP"),
        (lambda: mlp(layers(3, 2)), "net.onnx.* no hidden ReLU"),
        (lambda: mlp(layers(4, 3, 2)), "net.onnx has 4 inputs but the centre has 3"),
        (lambda: mlp(layers(3, 4, 1)), "net.onnx: .*classes.* greater than or equal to 2"),
        (lambda: mlp(layers(3, 501, 2)), "net.onnx: .*hidden.* less than or equal to 500"),
        (batch_of_five, "net.onnx: .*one row"),
    ],
)
def test_networks_that_are_refused(network: Callable[[], bytes], sentence: str) -> None:
    centre = (Fraction(1, 8), Fraction(1, 4), Fraction(-1, 4))
    request = Request("net.onnx", network(), centre, (0.9,), "branch", 20_000, 0, 60)
    with pytest.raises(BadInput, match=sentence):
        certified_instances(request)


def test_files_that_cannot_be_read(net: Path, point: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for path, centre, sentence in (
        (tmp_path / "none.onnx", point, "none.onnx: no such file"),
        (tmp_path, point, "not a file"),
        (Path("/dev/zero"), point, "not a file"),
        (tmp_path / "net.onnx.gz", point, "gunzip"),
        (tmp_path / ("x" * 300), point, "cannot be read"),
        (net, tmp_path / "none.txt", "none.txt: no such file"),
        (net, tmp_path, "not a file"),
    ):
        with pytest.raises(BadInput, match=sentence):
            certify(path, str(centre), out)
    huge = tmp_path / "huge"
    with huge.open("wb") as stream:
        stream.truncate(brought.LARGEST_NETWORK + 1)
    for path, centre in ((huge, point), (net, huge)):
        with pytest.raises(BadInput, match="huge: larger than"):
            certify(path, str(centre), out)
    assert not out.exists()


def test_folders_that_are_refused(net: Path, point: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "letter.txt").write_text("dear")
    with pytest.raises(BadInput, match="not empty and not a build"):
        certify(net, str(point), foreign)
    assert [path.name for path in foreign.iterdir()] == ["letter.txt"]
    with pytest.raises(BadInput, match="is a file"):
        certify(net, str(point), point)
    with pytest.raises(BadInput, match="cannot write"):
        certify(net, str(point), point / "below")
    other = tmp_path / "other/.build"
    other.mkdir(parents=True)
    (other / "plan.json").write_text('{"suite": "another"}')
    with pytest.raises(BadInput, match="an unfinished build with a different"):
        certify(net, str(point), other.parent)
    assert (other / "plan.json").exists()


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1 2\t3", ["1", "2", "3"]),
        ("\ufeff0.1,\n-.5,\r\n1e-3,\n", ["1/10", "-1/2", "1/1000"]),
        (
            "0.1000000000000000055511151231257827",
            ["1000000000000000055511151231257827/1" + 34 * "0"],
        ),
    ],
)
def test_text_is_read_exactly(tmp_path: Path, text: str, values: list[str]) -> None:
    path = tmp_path / "c"
    path.write_bytes(text.encode())
    assert brought.centre(str(path)) == tuple(map(Fraction, values))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "holds no number"),
        (b" ,\n", "holds no number"),
        (b"1 2\n3 four", "c:2:3: 'four' is not a decimal number"),
        (b"1, ,2", "c:1:2: a number is missing"),
        (b"nan", "not a decimal"),
        (b"1/3", "not a decimal"),
        (b"[1, 2]", "not a decimal"),
        (b"1e999999999", "more than 1100 digits"),
        (b"1e39", "number 1 is too large for float32"),
        (b"\xff\xfe1", "neither text nor"),
    ],
)
def test_text_that_is_no_centre(tmp_path: Path, data: bytes, sentence: str) -> None:
    path = tmp_path / "c"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=sentence):
        brought.centre(str(path))


def saved(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def test_arrays_are_read_exactly_in_c_order(tmp_path: Path) -> None:
    path = tmp_path / "c.npy"
    values = np.array([[0.1, 2], [-3, 1e-30]])
    for array in (values, np.asfortranarray(values), values.astype(">f4"), np.arange(4)):
        path.write_bytes(saved(array))
        assert brought.centre(str(path)) == tuple(map(Fraction, array.ravel().tolist()))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"0.1 0.2", "not a NumPy array"),
        (b"\x93NUMPY", "header is broken"),
        (saved(np.zeros(3))[:-1], "another number of bytes"),
        (saved(np.zeros(3)).replace(b"(3,)", b"(-3)"), "broken|another number"),
        (saved(np.zeros(3)).replace(b"(3,), ", b"(3**9)"), "broken"),
        (saved(np.zeros(10)).replace(b"(10,), }         ", b"(99999999999,), }"), "another number"),
        (saved(np.array([1.0, np.nan])), "NaN"),
        (saved(np.array([1 + 2j])), "complex128 is not read"),
        (saved(np.zeros(2, np.longdouble)), "is not read"),
        (saved(np.array(["a"])), "is not read"),
        (saved(np.zeros(0)), "holds no number"),
    ],
)
def test_arrays_that_are_no_centre(tmp_path: Path, data: bytes, sentence: str) -> None:
    path = tmp_path / "c.npy"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=sentence):
        brought.centre(str(path))


def test_exit_codes(net: Path, point: Path, tmp_path: Path) -> None:
    refused = assay_certify(net, "--centre", tmp_path / "none", "-o", tmp_path / "out")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == f"assay: {tmp_path}/none: no such file; check the path\n"
    net.write_bytes(mlp([(np.zeros((2, 3)), np.zeros(2)), (np.zeros((2, 2)), np.arange(2.0))]))
    unproved = assay_certify(net, "--centre", point, "-o", tmp_path / "out")
    assert (unproved.returncode, unproved.stdout) == (1, "")
    assert "no violation was found" in unproved.stderr
    assert len(unproved.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_budget_that_is_spent(point: Path, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(mlp(layers(3, 12, 12, 3)))
    with pytest.raises(CannotCertify, match="raise nodes"):
        certify(path, str(point), tmp_path / "out", nodes=1)
    assert not (tmp_path / "out").exists()


def test_a_free_batch_is_fixed_at_one_input(point: Path, tmp_path: Path) -> None:
    model = onnx.ModelProto.FromString(mlp(layers(3, 8, 3)))
    for info in (*model.graph.input, *model.graph.output):
        info.type.tensor_type.shape.dim[0].dim_param = "batch"
    path = tmp_path / "net.onnx"
    path.write_bytes(model.SerializeToString())
    certify(path, str(point), tmp_path / "out")
    folder = BenchmarkFolder.open(tmp_path / "out")
    assert {checked.status for checked in check(claims_of_folder(folder), 1)} == {"verified"}
    written = onnx.load(str(folder.entries[0].onnx))
    shapes = [i.type.tensor_type.shape for i in (*written.graph.input, *written.graph.output)]
    assert [[dim.dim_value for dim in shape.dim] for shape in shapes] == [[1, 3], [1, 3]]


def is_living(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    path, out = tmp_path / "net.onnx", tmp_path / "out"
    path.write_bytes(mlp(layers(60, 80, 80, 80, 10)))
    (tmp_path / "c").write_text("0 " * 60)
    command = (path, "--centre", tmp_path / "c", "--nodes", 2_000_000, "-o", out)
    process = subprocess.Popen(
        arguments_for(command),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": SOURCE},
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not (out / ".build/lock").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(1.5)
    os.killpg(process.pid, signal.SIGINT)
    printed, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert (printed, errors) == ("", "assay: stopped; run the same command again to start over\n")
    assert not out.exists()
    while is_living(process.pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_facts_that_nobody_proved_are_not_printed(net: Path, point: Path, tmp_path: Path) -> None:
    """What a truth says about itself beside its proof can be edited; the radii come from boxes."""
    out = tmp_path / "out"
    first = json.loads(assay_certify(net, "--centre", point, "-o", out, "--json").stdout)
    for path in (out / "truth").glob("*.json"):
        document = json.loads(path.read_text())
        document["facts"] |= {"radius_lower": "1000", "radius_upper": "1001", "epsilon": "7"}
        document["parameters"]["fraction"] = 0.5
        path.write_text(json.dumps(document))
    again = assay_certify(net, "--centre", point, "-o", out)
    assert again.returncode == 0, again.stderr
    assert "all certified before" in again.stdout
    assert "1000" not in again.stdout
    second = json.loads(assay_certify(net, "--centre", point, "-o", out, "--json").stdout)
    for key in ("radius_lower", "radius_upper", "instances"):
        assert second[key] == first[key]


def test_a_label_that_was_changed_is_not_certified(net: Path, point: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert assay_certify(net, "--centre", point, "-o", out).returncode == 0
    path = out / "truth/mynet-f0.9-robust.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"margin": "1000"}))
    again = assay_certify(net, "--centre", point, "-o", out)
    assert again.returncode == 2
    assert "mynet-f0.9-robust.json: the checker does not verify it (rejected: " in again.stderr
