"""Sealing: nothing tells the answer, nothing can be changed, and all comes back."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import onnx
import pytest
from exchange_folders import beside, contents, our_folder

from assay.errors import BadInput
from assay.judge.run_folder import benchmark_sha256
from assay.store.file_hash import file_sha256
from assay.suite.checking import check_claim, claims_of_folder
from assay.suite.exchange.seal import Sealed, seal
from assay.suite.exchange.telltales import Published, telltales
from assay.suite.exchange.unseal import unseal
from assay.suite.folder import BenchmarkFolder
from assay.truth.instance import sha256
from assay.truth.record import Truth


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ours (with a suite.json and arrays) and sealed."""
    place = tmp_path_factory.mktemp("seal")
    ours = our_folder(place / "ours", "meap", "corners", "exact_radius")
    (ours.path / "suite.json").write_text(json.dumps({"suite": "secret", "seed": 4711}))
    seal(ours, place / "sealed")
    return place


@pytest.fixture
def place(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "place"))


def opened(place: Path) -> BenchmarkFolder:
    unseal(place / "sealed/questions", place / "sealed/truths.tar", place / "opened")
    return BenchmarkFolder.open(place / "opened")


def answers(folder: BenchmarkFolder) -> dict[tuple[str, str], str]:
    truths = [Truth.from_json(e.truth.read_text(), "x") for e in folder.entries if e.truth]
    return {(t.onnx_sha256, t.vnnlib_sha256): t.answer for t in truths}


def test_sealed_questions_come_back_with_their_truths(place: Path) -> None:
    questions = BenchmarkFolder.open(place / "sealed/questions")
    ours = BenchmarkFolder.open(place / "ours")
    assert questions.without_truth() == list(questions.entries)
    whole = opened(place)
    assert benchmark_sha256(whole) == benchmark_sha256(questions)  # so runs can be scored
    assert answers(whole) == answers(ours)
    assert len(answers(whole)) == len(ours.entries)
    assert {check_claim(claim).status for claim in claims_of_folder(whole)} == {"verified"}
    assert not whole.strays()
    told = json.loads((whole.path / "suite.json").read_text())
    assert told["sealed"] == {"suite": "secret", "seed": 4711}
    assert sorted(told["unsealed"]["names"].values()) == sorted(e.name for e in ours.entries)
    for entry in whole.entries:
        assert entry.truth is not None
        twin = Truth.from_json(entry.truth.read_text(), "x").twin
        assert twin in told["unsealed"]["names"]


def test_nothing_published_tells_an_answer(place: Path) -> None:
    questions = place / "sealed/questions"
    assert beside(questions) == ["commitment.json", "instances.csv", "onnx", "vnnlib"]
    names = [path.stem for path in (questions / "onnx").iterdir()]
    assert sorted(names) == [f"q{i:0{len(str(len(names)))}}" for i in range(1, len(names) + 1)]
    for name, data in contents(questions).items():
        if not name.startswith("onnx"):
            assert not any(w in data for w in (b"robust", b"violated", b"meap", b"4711", b"secret"))
    dates = {path.stat().st_mtime for path in [questions, *questions.rglob("*")]}
    assert dates == {315532800}
    assert (place / "sealed/truths.tar").stat().st_mode & 0o077 == 0


def test_the_order_is_random_and_so_is_the_commitment(place: Path) -> None:
    ours = BenchmarkFolder.open(place / "ours")
    sealed = [seal(ours, place / f"s{n}", chance=Random(7) if n < 2 else None) for n in range(6)]
    assert len({s.truths_sha256 for s in sealed}) == 6  # a nonce, even with equal names
    lists = [(s.questions / "onnx/q1.onnx").read_bytes() for s in sealed[:2]]
    assert lists[0] == lists[1]
    orders = {
        tuple(sha256(e.vnnlib.read_bytes()) for e in BenchmarkFolder.open(s.questions).entries)
        for s in sealed
    }
    assert len(orders) > 1


def test_one_of_twins(place: Path) -> None:
    ours = BenchmarkFolder.open(place / "ours")
    sealed = seal(ours, place / "half", one_of_twins=True)
    assert sealed.instances == sealed.dropped == len(ours.entries) // 2
    assert not any("twins" in warning for warning in sealed.warnings)
    unseal(sealed.questions, sealed.truths, place / "opened")
    whole = BenchmarkFolder.open(place / "opened")
    for entry in whole.entries:
        assert entry.truth is not None
        assert Truth.from_json(entry.truth.read_text(), "x").twin is None


def change(path: Path, old: bytes = b"", new: bytes = b"\n") -> None:
    data = path.read_bytes()
    path.write_bytes(data.replace(old, new, 1) if old else data + new)


def rewrite_archive(place: Path, edit: Callable[[str, bytes], tuple[str, bytes] | None]) -> None:
    """Change members of the archive, and let the published commitment follow."""
    path = place / "sealed/truths.tar"
    with tarfile.open(path) as archive:
        members = [(m.name, archive.extractfile(m).read()) for m in archive]  # type: ignore[union-attr]
    with tarfile.open(path, "w") as archive:
        for name, data in filter(None, (edit(*member) for member in members)):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    commitment = place / "sealed/questions/commitment.json"
    document = json.loads(commitment.read_text())
    commitment.write_text(json.dumps(document | {"truths_sha256": file_sha256(path)}))


def flip(place: Path) -> None:
    """Swap two questions that differ, and their hashes, in the published part only."""
    questions = place / "sealed/questions"
    commitment = questions / "commitment.json"
    document = json.loads(commitment.read_text())
    files = document["files"]
    one, *others = (name for name in files if name.startswith("vnnlib/"))
    two = next(name for name in others if files[name] != files[one])
    (questions / one).rename(questions / "x")
    (questions / two).rename(questions / one)
    (questions / "x").rename(questions / two)
    files[one], files[two] = files[two], files[one]
    commitment.write_text(json.dumps(document))


TAMPERED: dict[str, tuple[Callable[[Path], object], str]] = {
    "a network": (lambda p: change(p / "sealed/questions/onnx/q1.onnx"), "q1.onnx: was changed"),
    "a question": (
        lambda p: change(p / "sealed/questions/vnnlib/q2.vnnlib", b"(<= X_0", b"(>= X_0"),
        "q2.vnnlib: was changed",
    ),
    "a missing question": (
        lambda p: (p / "sealed/questions/vnnlib/q2.vnnlib").unlink(),
        "q2.vnnlib: cannot be read",
    ),
    "a timeout": (
        lambda p: change(p / "sealed/questions/instances.csv", b",30", b",31"),
        "instances.csv: was changed",
    ),
    "a swap": (flip, "lists other questions than were sealed"),
    "the archive": (lambda p: change(p / "sealed/truths.tar"), "is not the archive that"),
    "an answer": (
        lambda p: change(p / "sealed/truths.tar", b'"answer": "robust"', b'"answer": "violat"'),
        "is not the archive that",
    ),
    "the commitment": (
        lambda p: change(
            p / "sealed/questions/commitment.json", b'"instances": ', b'"instances": 1'
        ),
        "lists other questions than were sealed",
    ),
    "the committed hash": (
        lambda p: change(
            p / "sealed/questions/commitment.json", b'"truths_sha256": "', b'"truths_sha256": "0'
        ),
        "is no sha256",
    ),
    "no commitment": (
        lambda p: (p / "sealed/questions/commitment.json").unlink(),
        "give a folder of sealed questions",
    ),
    "an unknown key": (
        lambda p: change(p / "sealed/questions/commitment.json", b"{", b'{"x": 1,'),
        "not written by this version",
    ),
    "a path outside": (
        lambda p: change(p / "sealed/questions/commitment.json", b'"onnx/q1.onnx', b'"../q1.onnx'),
        "its list of files is broken",
    ),
    "no JSON": (
        lambda p: (p / "sealed/questions/commitment.json").write_text("[" * 100_000),
        "not a readable JSON object",
    ),
    "a forged archive without a truth": (
        lambda p: rewrite_archive(p, lambda n, d: None if n == "truth/q1.json" else (n, d)),
        "truth/q1.json: is missing",
    ),
    "a forged archive with another truth": (
        lambda p: rewrite_archive(
            p, lambda n, d: (n, d.replace(b'"onnx_sha256": "', b'"onnx_sha256": "0'))
        ),
        "is about other bytes than were sealed",
    ),
    "a forged archive with more": (
        lambda p: rewrite_archive(
            p, lambda n, d: ("truth/q9999.json", d) if n.endswith(".bin") else (n, d)
        ),
        "do not match",
    ),
    "a forged archive that climbs out": (
        lambda p: rewrite_archive(
            p, lambda n, d: ("truth/../../q1.json", d) if n == "truth/q1.json" else (n, d)
        ),
        "give the sealed truths",
    ),
    "a forged archive without index": (
        lambda p: rewrite_archive(p, lambda n, d: None if n == "index.json" else (n, d)),
        "index.json: not a readable JSON object",
    ),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_tampering_is_detected(place: Path, what: str) -> None:
    tamper, sentence = TAMPERED[what]
    tamper(place)
    before = beside(place)
    with pytest.raises(BadInput) as caught:
        opened(place)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert beside(place) == before


def test_an_archive_that_is_none(place: Path) -> None:
    (place / "sealed/truths.tar").write_bytes(b"no tar at all")
    rewritten = json.loads((place / "sealed/questions/commitment.json").read_text())
    rewritten["truths_sha256"] = sha256(b"no tar at all")
    (place / "sealed/questions/commitment.json").write_text(json.dumps(rewritten))
    with pytest.raises(BadInput, match="not a readable archive"):
        opened(place)


def test_only_what_is_verified_is_sealed(place: Path) -> None:
    ours = BenchmarkFolder.open(place / "ours")
    entry = next(e for e in ours.entries if e.name.endswith("robust"))
    assert entry.truth is not None
    truth = Truth.from_json(entry.truth.read_text(), "x")
    entry.truth.write_text(replace(truth, margin=truth.margin * 1000).to_json())
    with pytest.raises(BadInput, match=r"the checker does not verify it \(rejected: "):
        seal(ours, place / "more")
    entry.truth.unlink()
    with pytest.raises(BadInput, match="has no truth; there is nothing to seal"):
        seal(BenchmarkFolder.open(place / "ours"), place / "more")
    assert beside(place) == ["ours", "sealed"]


def rebound(folder: BenchmarkFolder, answer: str, edit: Callable[[Path, Path], None]) -> None:
    """Edit the files of all instances with this answer, and bind their truths anew."""
    for entry in folder.entries:
        assert entry.truth is not None
        truth = Truth.from_json(entry.truth.read_text(), "x")
        if truth.answer == answer:
            edit(entry.onnx, entry.vnnlib)
            hashes = [sha256(path.read_bytes()) for path in (entry.onnx, entry.vnnlib)]
            bound = replace(truth, onnx_sha256=hashes[0], vnnlib_sha256=hashes[1])
            entry.truth.write_text(bound.to_json())


def commented(_: Path, vnnlib: Path) -> None:
    vnnlib.write_text("; seed 12\n" + vnnlib.read_text())


def documented(network: Path, _: Path) -> None:
    model = onnx.ModelProto.FromString(network.read_bytes())
    model.metadata_props.add(key="note", value="x")
    network.write_bytes(model.SerializeToString())


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [(commented, "comment '; seed 12'"), (documented, "metadata props 'note'")],
)
def test_text_that_tells_the_answer_is_refused(
    tmp_path: Path, edit: Callable[[Path, Path], None], sentence: str
) -> None:
    ours = our_folder(tmp_path / "ours", "meap")
    rebound(ours, "violated", edit)
    with pytest.raises(BadInput, match=f"{sentence} goes only with instances that are violated"):
        seal(ours, tmp_path / "sealed")
    sealed: Sealed = seal(ours, tmp_path / "sealed", allow_telltales=True)
    assert any(sentence in warning for warning in sealed.warnings)
    rebound(ours, "robust", edit)
    again = seal(ours, tmp_path / "again")  # text that goes with both answers tells nothing
    assert not any(sentence in warning for warning in again.warnings)


def test_words_and_timeouts() -> None:
    model = onnx.ModelProto()
    model.graph.name = "the_robust_one"
    model.graph.initializer.add(name="w", dims=[1], float_data=[1.0])
    one = Published("a", "robust", model.SerializeToString(), b"", 30)
    assert [t.kind for t in telltales([one])] == ["name"]
    model.graph.name = "saturated robustly"
    plain = replace(one, onnx=model.SerializeToString())
    assert not telltales([plain])
    other = replace(plain, name="b", answer="violated", timeout=60)
    assert [(t.kind, t.text) for t in telltales([plain, other])] == [
        ("timeout", "30"),
        ("timeout", "60"),
    ]
    with pytest.raises(BadInput, match="its network is no ONNX file"):
        telltales([replace(one, onnx=b"\xff\xff")])
