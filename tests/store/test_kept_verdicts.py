"""What the checker verified is kept for those bytes and that checker, and not in a benchmark."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from exchange_folders import our_folder

import assay.proof
from assay.engine.work import Watcher
from assay.errors import BadInput
from assay.store import kept_verdicts
from assay.store.kept_verdicts import Digests, KeptVerdicts
from assay.suite.checking import check, claims_of_folder
from assay.suite.folder import BenchmarkFolder
from assay.suite.proved_truths import entry_truth, proved_truths

KNOWN = Digests("a" * 64, "b" * 64, "c" * 64, "d" * 64)


class Heard(Watcher):
    def __init__(self) -> None:
        self.names: list[str] = []

    def finished(self, name: str, seconds: float, note: str = "") -> None:
        del seconds, note
        self.names.append(name)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a process that has verified nothing."""
    place = tmp_path / "cache"
    monkeypatch.setenv("ASSAY_CACHE", str(place))
    monkeypatch.setattr(kept_verdicts, "_HERE", set())
    return place


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_verdicts, "_HERE", set())


@pytest.fixture
def bench(tmp_path: Path) -> BenchmarkFolder:
    return our_folder(tmp_path / "bench", "exact_radius")


def test_it_is_about_all_four_files(monkeypatch: pytest.MonkeyPatch) -> None:
    KeptVerdicts().add(KNOWN)
    forget(monkeypatch)
    kept = KeptVerdicts()
    assert KNOWN in kept
    for name in ("onnx", "vnnlib", "truth", "arrays"):
        assert replace(KNOWN, **{name: "e" * 64}) not in kept
    swapped = replace(KNOWN, onnx=KNOWN.vnnlib, vnnlib=KNOWN.onnx)
    assert swapped not in kept


def test_another_checker_has_verified_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    KeptVerdicts().add(KNOWN)
    forget(monkeypatch)
    changed = tmp_path / "proof"
    shutil.copytree(Path(assay.proof.__file__).parent, changed)
    with (changed / "interval.py").open("a") as stream:
        stream.write("\n")
    monkeypatch.setattr(assay.proof, "__file__", str(changed / "__init__.py"))
    kept_verdicts._checker_sha256.cache_clear()
    try:
        assert KNOWN not in KeptVerdicts()
    finally:
        kept_verdicts._checker_sha256.cache_clear()


def test_lines_that_were_cut_off_are_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    KeptVerdicts().add(KNOWN)
    (file,) = cache.iterdir()
    line = file.read_text()
    for damaged in (line[:40], line[:40] + line, line.strip() + "0\n", "\0" * 64, line[1:]):
        file.write_text(damaged)
        forget(monkeypatch)
        assert KNOWN not in KeptVerdicts(), damaged
    file.write_text(line[:40] + "\n" + line)
    assert KNOWN in KeptVerdicts()


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_not_believed(
    mode: int, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    KeptVerdicts().add(KNOWN)
    (file,) = cache.iterdir()
    assert file.stat().st_mode & 0o077 == 0
    forget(monkeypatch)
    assert KNOWN in KeptVerdicts(), "read once, before others could write it"
    file.chmod(mode)
    assert KNOWN not in KeptVerdicts()


def test_where_nothing_can_be_written_work_goes_on(bench: BenchmarkFolder, cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    heard = Heard()
    assert len(proved_truths(bench, watcher=heard, jobs=1)) == 2
    assert len(heard.names) == 2
    proved_truths(bench, watcher=heard, jobs=1)
    assert len(heard.names) == 2, "the same command does not check twice"


def test_what_was_checked_is_not_checked_again(
    bench: BenchmarkFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(claims_of_folder(bench), jobs=1)
    forget(monkeypatch)
    heard = Heard()
    truths = proved_truths(bench, watcher=heard, jobs=1)
    assert not heard.names
    assert {truth.answer for truth in truths.values()} == {"robust", "violated"}


def test_a_single_truth_that_was_checked_is_kept(
    bench: BenchmarkFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for entry in bench.entries:
        entry_truth(entry)
    forget(monkeypatch)
    heard = Heard()
    proved_truths(bench, watcher=heard, jobs=1)
    assert not heard.names


@pytest.mark.parametrize("is_kept", [True, False])
def test_weights_beside_a_network_with_a_truth_are_refused(
    is_kept: bool, bench: BenchmarkFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inlined they are the bytes that were verified, whether that is still known or not."""
    entry = bench.entries[0]
    assert entry.truth is not None
    model = onnx.load(entry.onnx)
    whole = model.SerializeToString(deterministic=True)
    document = json.loads(entry.truth.read_text())
    document["onnx_sha256"] = hashlib.sha256(whole).hexdigest()
    entry.truth.write_text(json.dumps(document))
    if is_kept:
        entry.onnx.write_bytes(whole)
        check(claims_of_folder(bench), jobs=1)
        forget(monkeypatch)
    onnx.save(model, entry.onnx, save_as_external_data=True, location="w", size_threshold=0)
    for ask in (lambda: proved_truths(bench, jobs=1), lambda: entry_truth(entry)):
        with pytest.raises(BadInput, match=r"its weights lie in other files.*`assay import`"):
            ask()


def test_a_benchmark_cannot_vouch_for_itself(
    bench: BenchmarkFolder, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that verified it, and every file of the cache, is put into the folder that travels."""
    check(claims_of_folder(bench), jobs=1)
    entry = bench.entries[0]
    assert entry.truth is not None
    document = json.loads(entry.truth.read_text())
    entry.truth.write_text(json.dumps(document | {"margin": "-100000", "answer": "violated"}))
    for place in (bench.path, bench.path / "truth", bench.path / ".assay"):
        shutil.copytree(cache, place, dirs_exist_ok=True)
    forget(monkeypatch)
    with pytest.raises(BadInput, match=r"the checker does not verify it \(rejected: "):
        proved_truths(bench, jobs=1)
