"""Reading published results and scoring them against a benchmark with truth."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from small_instances import instance, write_folder

from assay.errors import BadInput
from assay.judge.score import score
from assay.judge.vnncomp_results import read_vnncomp_results
from assay.suite.folder import BenchmarkFolder
from assay.truth.instance import Instance

ROBUST = instance("meap", "robust")
VIOLATED = instance("meap", "violated")
OTHER = instance("corners", "violated")
MADE = [ROBUST, VIOLATED, OTHER]


@pytest.fixture
def folder(tmp_path: Path) -> BenchmarkFolder:
    return BenchmarkFolder.open(write_folder(tmp_path / "benchmark", MADE))


def row(made: Instance, word: str, seconds: str = "1.5") -> str:
    where = "vnncomp2026_benchmarks/benchmarks/assay"
    return (
        f"assay,{where}/./onnx/{made.name}.onnx,{where}/vnnlib/{made.name}.vnnlib.gz,"
        f"21.8,{word},{seconds}\n"
    )


def table(tmp_path: Path, *rows: str, tool: str = "crown") -> Path:
    path = tmp_path / tool / "results.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(rows))
    return path


def witness_file(beside: Path, made: Instance, witness: tuple[str, ...]) -> Path:
    pairs = "\n".join(f"(X_{i}  {value})" for i, value in enumerate(witness))
    path = beside.parent / f"{made.name}_{made.name}.counterexample.gz"
    path.write_bytes(gzip.compress(f"({pairs}\n(Y_0 1.0))".encode()))
    return path


def test_rows_become_results(tmp_path: Path, folder: BenchmarkFolder) -> None:
    path = table(tmp_path, row(ROBUST, "unsat"), row(VIOLATED, "sat", "2.25"))
    imported = read_vnncomp_results(path, folder)
    robust, violated = imported.results
    assert (robust.verifier, robust.instance, robust.verdict) == ("crown", ROBUST.name, "robust")
    assert robust.onnx_sha256 == ROBUST.truth.onnx_sha256
    assert (violated.verdict, violated.wall_s, violated.witness_class) == ("violated", 2.25, None)
    assert imported.left_out == 0


def test_they_are_scored_against_the_truth(tmp_path: Path, folder: BenchmarkFolder) -> None:
    path = table(tmp_path, row(ROBUST, "holds"), row(VIOLATED, "unsat"), row(OTHER, "timeout"))
    results = read_vnncomp_results(path, folder).results
    scores = score(results, {made.name: made.truth for made in MADE})
    assert scores.row("crown").counts == {"proved": 1, "unsound": 1, "timeout": 1}
    assert [f.instance for f in scores.unsound] == [VIOLATED.name]


@pytest.mark.parametrize(
    ("word", "ending", "verdict"),
    [
        ("unsat", "answered", "robust"),
        ("UNSAT", "answered", "robust"),
        ("holds", "answered", "robust"),
        ("unknown", "answered", "unknown"),
        ("timeout", "timeout", None),
        ("timed-out", "timeout", None),
        ("run_instance_timeout", "timeout", None),
        ("prepare_instance_timeout", "timeout", None),
        ("error_exit_code_139", "crashed", None),
        ("error", "crashed", None),
        ("no_result_in_file", "crashed", None),
        ("prepare_instance_error_", "crashed", None),
        ("", "garbled", None),
        ("unsat?", "garbled", None),
        ("timeout(X_00 1)", "garbled", None),
    ],
)
def test_words(
    tmp_path: Path, folder: BenchmarkFolder, word: str, ending: str, verdict: str | None
) -> None:
    (found,) = read_vnncomp_results(table(tmp_path, row(ROBUST, word)), folder).results
    assert (found.ending, found.verdict) == (ending, verdict)


def test_a_witness_beside_the_table_is_validated(tmp_path: Path, folder: BenchmarkFolder) -> None:
    path = table(tmp_path, row(VIOLATED, "sat"), row(ROBUST, "sat"), row(OTHER, "sat"))
    assert VIOLATED.truth.witness is not None
    witness_file(path, VIOLATED, VIOLATED.truth.witness)
    witness_file(path, ROBUST, ("9", "9", "nan"))
    garbled = witness_file(path, OTHER, ("1",))
    garbled.write_bytes(garbled.read_bytes()[:-9])
    classes = {r.instance: r.witness_class for r in read_vnncomp_results(path, folder).results}
    assert classes == {VIOLATED.name: "exact", ROBUST.name: "missing", OTHER.name: "missing"}


def test_rows_of_other_benchmarks_are_left_out(tmp_path: Path, folder: BenchmarkFolder) -> None:
    strange = "test,./onnx/test_nano.onnx,./vnnlib/test_nano.vnnlib,0,unsat,1\n"
    imported = read_vnncomp_results(table(tmp_path, strange, row(ROBUST, "unsat")), folder)
    assert (len(imported.results), imported.left_out) == (1, 1)
    with pytest.raises(BadInput, match="none of its 1 rows"):
        read_vnncomp_results(table(tmp_path, strange), folder)


def test_a_second_row_is_a_repeat(tmp_path: Path, folder: BenchmarkFolder) -> None:
    path = table(tmp_path, row(ROBUST, "unsat"), row(ROBUST, "timeout"))
    assert [r.repeat for r in read_vnncomp_results(path, folder).results] == [0, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"category,network,property,prepare,result,time\n", ":1: 'prepare' is not a number"),
        (b"a,b,c\n", ":1: has 3 fields"),
        (b"a,b,c,1,unsat,-1\n", "'-1' is not a number of seconds"),
        (b"a,b,c,1,unsat,nan\n", "'nan' is not a number of seconds"),
        (b"\xff\xfe", "not UTF-8"),
        (b"", "none of its 0 rows"),
    ],
)
def test_other_files_are_refused(
    tmp_path: Path, folder: BenchmarkFolder, text: bytes, message: str
) -> None:
    path = tmp_path / "results.csv"
    path.write_bytes(text)
    with pytest.raises(BadInput, match=message):
        read_vnncomp_results(path, folder)


def test_an_absent_file_is_refused(tmp_path: Path, folder: BenchmarkFolder) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_vnncomp_results(tmp_path / "absent.csv", folder)


def test_the_verifier_can_be_named(tmp_path: Path, folder: BenchmarkFolder) -> None:
    path = table(tmp_path, row(ROBUST, "unsat"))
    (found,) = read_vnncomp_results(path, folder, verifier="mine").results
    assert found.verifier == "mine"
