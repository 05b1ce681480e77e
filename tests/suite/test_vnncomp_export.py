"""Exporting: the same questions in either version, exactly; and back again."""

from __future__ import annotations

import gzip
from fractions import Fraction
from itertools import count
from pathlib import Path

import pytest
from exchange_folders import beside, contents, instances, our_folder, their_folder
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import BadInput
from assay.question import vnnlib, vnnlib2
from assay.question.property import Inequality, Violation
from assay.question.region import Box
from assay.suite.checking import check_claim, claims_of_folder
from assay.suite.exchange import exporting
from assay.suite.exchange.copying import copy
from assay.suite.exchange.exporting import export
from assay.suite.exchange.importing import import_benchmark
from assay.suite.exchange.rewriting import rewritten, version_of
from assay.suite.exchange.versions import Question, write_question
from assay.suite.folder import BenchmarkFolder
from assay.truth.record import Truth

ROBUST = instances("meap")[0]


def test_both_versions_ask_the_same_and_come_back(tmp_path: Path) -> None:
    ours = our_folder(tmp_path / "ours")
    exported = export(ours, tmp_path / "out", packed=True)
    assert exported.rewritten == {"1.0": 0, "2.0": 4}
    assert beside(tmp_path / "out") == ["1.0", "2.0"]
    for version in ("1.0", "2.0"):
        assert beside(tmp_path / "out" / version) == ["instances.csv", "onnx", "vnnlib"]
        import_benchmark(tmp_path / "out", tmp_path / version, version=version)
        back = BenchmarkFolder.open(tmp_path / version)
        for mine, theirs in zip(ours.entries, back.entries, strict=True):
            assert (mine.name, mine.timeout) == (theirs.name, theirs.timeout)
            assert mine.onnx.read_bytes() == theirs.onnx.read_bytes()
            text = theirs.vnnlib.read_text()
            assert version_of(text, "x") == version
            assert vnnlib2.read_any(text, "x") == vnnlib.read(mine.vnnlib.read_text(), "x")


def test_the_same_export_has_the_same_bytes(tmp_path: Path) -> None:
    ours = our_folder(tmp_path / "ours")
    for name in ("one", "two"):
        export(ours, tmp_path / name, packed=True, with_truth=True, jobs=1 + (name == "two"))
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_truths_go_along_only_when_asked_for(tmp_path: Path) -> None:
    ours = our_folder(tmp_path / "ours", "meap", "exact_radius")
    assert export(ours, tmp_path / "bare").truths == 0
    assert not list((tmp_path / "bare").rglob("truth"))
    assert export(ours, tmp_path / "whole", with_truth=True).truths == len(ours.entries)
    first = BenchmarkFolder.open(tmp_path / "whole/1.0")
    assert {check_claim(claim).status for claim in claims_of_folder(first)} == {"verified"}
    assert list((first.path / "truth").glob("*.bin"))
    assert contents(first.path) | {"suite.json": b""} == contents(ours.path) | {"suite.json": b""}
    second = BenchmarkFolder.open(tmp_path / "whole/2.0")
    for entry in second.entries:
        assert entry.truth is not None
        truth = Truth.from_json(entry.truth.read_text(), "x")
        original = Truth.from_json((ours.path / f"truth/{entry.name}.json").read_text(), "x")
        assert truth.answer == original.answer
        assert truth.vnnlib_sha256 != original.vnnlib_sha256


def test_a_truth_about_other_bytes_is_refused(tmp_path: Path) -> None:
    ours = our_folder(tmp_path / "ours")
    with ours.entries[0].vnnlib.open("a") as stream:
        stream.write("\n")
    with pytest.raises(BadInput, match="is about other bytes than the files of"):
        export(ours, tmp_path / "out", with_truth=True)
    assert beside(tmp_path) == ["ours"]


def test_arrays_that_change_after_the_check_are_not_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edited_then_copied(source: Path, target: Path, limit: int) -> tuple[str, int]:
        source.write_bytes(source.read_bytes() + b"0")
        return copy(source, target, limit)

    monkeypatch.setattr(exporting, "copy", edited_then_copied)
    folder = our_folder(tmp_path / "ours", "exact_radius")
    with pytest.raises(BadInput, match=r"\.bin: changed while it was being exported"):
        export(folder, tmp_path / "out", with_truth=True)
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_read_is_exported_as_it_is_only(tmp_path: Path) -> None:
    files = {"onnx/net.onnx": b"junk", "vnnlib/a.vnnlib": ROBUST.vnnlib}
    rows = "onnx/net.onnx,vnnlib/a.vnnlib,1\n"
    folder = BenchmarkFolder.open(their_folder(tmp_path / "t", files, rows))
    with pytest.raises(BadInput, match=r"cannot be written in VNN-LIB 2\.0 .* --version 1\.0 only"):
        export(folder, tmp_path / "out")
    assert beside(tmp_path) == ["t"]
    export(folder, tmp_path / "out", versions=["1.0"])
    with pytest.raises(BadInput, match="net--a has no truth; leave --with-truth out"):
        export(folder, tmp_path / "more", versions=["1.0"], with_truth=True)
    with pytest.raises(BadInput, match="--version 3 is not known"):
        export(folder, tmp_path / "more", versions=["3"])


def test_one_question_about_two_networks_is_written_once(tmp_path: Path) -> None:
    files = {"n/a.onnx": ROBUST.onnx, "m/b.onnx": ROBUST.onnx, "ask.vnnlib": ROBUST.vnnlib}
    rows = "n/a.onnx,ask.vnnlib,1\n./n/../m/b.onnx,ask.vnnlib,1\n"
    folder = BenchmarkFolder.open(their_folder(tmp_path / "t", files, rows))
    export(folder, tmp_path / "out", jobs=2)
    assert beside(tmp_path / "out/2.0/vnnlib") == ["ask.vnnlib"]
    assert beside(tmp_path / "out/2.0/onnx") == ["a.onnx", "b.onnx"]


decimals = st.integers(-(10**6), 10**6).map(lambda n: Fraction(n, 1000))


@st.composite
def questions(draw: st.DrawFn) -> str:
    """VNN-LIB 1.0 with several boxes, conjunctions, sums and equations."""
    inputs, outputs = 3, 2  # those of the network
    lines = [f"(declare-const X_{i} Real)" for i in range(inputs)]
    lines += [f"(declare-const Y_{j} Real)" for j in range(outputs)]

    def box() -> str:
        bounds = []
        for i in range(inputs):
            low, high = (vnnlib.decimal(end) for end in sorted((draw(decimals), draw(decimals))))
            same, other = f"(= X_{i} {low})", f"(>= X_{i} {low}) (<= X_{i} {high})"
            bounds.append(draw(st.sampled_from([same, other])))
        return " ".join(bounds)

    def condition() -> str:
        kind = draw(st.sampled_from(["(>= Y_1 Y_0)", "sum", "(= Y_0 1.5)", "(<= (- Y_1) 1e-3)"]))
        if kind != "sum":
            return kind
        a, b, c = (vnnlib.decimal(draw(decimals)) for _ in range(3))
        return f"(<= (+ (* {a} Y_0) (* {b} Y_1) Y_0 Y_0) (- {c} 1.0))"

    parts = []
    for _ in range(draw(st.integers(1, 4))):
        wanted = " ".join(condition() for _ in range(draw(st.integers(1, 3))))
        parts.append(f"(and {box()} {wanted})")
    return "\n".join([*lines, f"(assert (or {' '.join(parts)}))"]) + "\n"


@given(questions())
@settings(max_examples=60, deadline=None)
def test_any_question_survives_both_ways(text: str) -> None:
    try:
        expected = vnnlib.read(text, "x")
    except BadInput:  # e.g. a sum that cancels out
        return
    there = rewritten(text, "x", "2.0", (1, 3), (2, 1))
    assert version_of(there, "x") == "2.0"
    assert vnnlib2.read(there, "x") == expected
    back = rewritten(there, "x", "1.0", (1, 3), (2, 1))
    assert vnnlib.read(back, "x") == expected


@given(
    st.lists(st.tuples(decimals, decimals).map(sorted), min_size=3, max_size=3),
    st.lists(st.tuples(decimals, decimals, decimals), min_size=1, max_size=4),
    st.floats(0.001, 1e6),
)
@settings(max_examples=6, deadline=None)
def test_any_instance_survives_export_and_import(
    tmp_path_factory: pytest.TempPathFactory,
    bounds: list[list[Fraction]],
    conditions: list[tuple[Fraction, Fraction, Fraction]],
    timeout: float,
) -> None:
    box = Box(tuple(b[0] for b in bounds), tuple(b[1] for b in bounds))
    disjuncts = tuple(
        (Inequality(tuple((i, k) for i, k in enumerate((a or Fraction(1), b)) if k), c),)
        for a, b, c in conditions
    )
    text = vnnlib.write(box, Violation(2, disjuncts))
    place = tmp_path_factory.mktemp("round")
    files = {"onnx/n.onnx": ROBUST.onnx, "vnnlib/q.vnnlib": text.encode()}
    rows = f"onnx/n.onnx,vnnlib/q.vnnlib,{timeout!r}\n"
    source = BenchmarkFolder.open(their_folder(place / "t", files, rows))
    export(source, place / "out", versions=["2.0"], packed=True)
    import_benchmark(place / "out", place / "back")
    (entry,) = BenchmarkFolder.open(place / "back").entries
    assert entry.timeout == timeout
    assert entry.onnx.read_bytes() == ROBUST.onnx
    assert vnnlib2.read(entry.vnnlib.read_text(), "x") == vnnlib.read(text, "x")


@pytest.mark.parametrize("shape", [(), (3,), (1, 3), (3, 1, 1)])
def test_elements_are_numbered_in_c_order(shape: tuple[int, ...]) -> None:
    inputs = 1 if shape == () else 3
    numbers = count(1)
    box = Box(*([tuple(Fraction(next(numbers)) for _ in range(inputs))] * 2))
    text = vnnlib.write(box, Violation.misclassification(0, 2))
    there = rewritten(text, "x", "2.0", shape, (2,))
    assert vnnlib2.read(there, "x").cases[0].box == box


def test_names_like_operators_and_spaces_in_brackets() -> None:
    text = (
        "(vnnlib-version <2.0>)\n; a comment\n(declare-network f (declare-input or real [ 1 , 2 ])"
        " (declare-output e float32 [1,1]))\n(assert (or (and (>= or[0, 1] 1) (<= e[0,0] 2.5))))\n"
        "(assert (and (== or [0,0] 1e-1) (<= or[0,1] 3)))\n"
    )
    back = rewritten(text, "x", "1.0", (2,), (1,))
    assert vnnlib.read(back, "x") == vnnlib2.read(text, "x")
    assert "comment" not in back
    assert "(= X_0 1e-1)" in back


def test_a_question_of_another_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="has 3 inputs and 2 outputs, its network 4 and 2"):
        rewritten(ROBUST.vnnlib.decode(), "x", "2.0", (4,), (2,))
    (tmp_path / "n.onnx").write_bytes(instances("corners")[0].onnx)
    (tmp_path / "q.vnnlib").write_bytes(ROBUST.vnnlib)
    question = Question(
        tmp_path / "q.vnnlib", (tmp_path / "n.onnx",), (("2.0", tmp_path / "out"),), False
    )
    with pytest.raises(BadInput, match=r"cannot be written in VNN-LIB 2\.0"):
        write_question(question)


def test_packed_files_hold_no_clock(tmp_path: Path) -> None:
    export(our_folder(tmp_path / "ours", "meap"), tmp_path / "out", packed=True)
    for path in (tmp_path / "out").rglob("*.gz"):
        data = path.read_bytes()
        assert data[3:8] == bytes(5)  # no flags (so no name), no time
        assert gzip.decompress(data)
