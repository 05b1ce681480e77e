"""Importing benchmarks of others: every layout, and everything that may be wrong with one."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import onnx
import pytest
from exchange_folders import beside, contents, instances, their_folder

from assay.engine.work import Watcher
from assay.errors import BadInput
from assay.question import vnnlib, vnnlib2
from assay.suite.exchange import copying, importing
from assay.suite.exchange.flat_names import flat_stems
from assay.suite.exchange.importing import import_benchmark
from assay.suite.exchange.new_folder import new_folder
from assay.suite.folder import BenchmarkFolder
from assay.truth.instance import sha256

ROBUST, VIOLATED = instances("meap")
OTHER = instances("corners")[0]
NET, ASK, ASK_TOO = ROBUST.onnx, ROBUST.vnnlib, VIOLATED.vnnlib + b"\n"
FILES = {"onnx/net.onnx.gz": NET, "vnnlib/a.vnnlib.gz": ASK, "vnnlib/b.vnnlib": ASK_TOO}
ROWS = "onnx/net.onnx,vnnlib/a.vnnlib,10\n./onnx/net.onnx.gz, vnnlib/b.vnnlib.gz ,2.5\r\n\n"


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    return their_folder(tmp_path / "theirs", FILES, ROWS)


def test_a_benchmark_is_unpacked_and_its_source_is_told(theirs: Path, tmp_path: Path) -> None:
    imported = import_benchmark(theirs, tmp_path / "ours")
    folder = BenchmarkFolder.open(tmp_path / "ours")
    assert [e.name for e in folder.entries] == ["net--a", "net--b"]
    assert [e.timeout for e in folder.entries] == [10, 2.5]
    assert [i.name for i in imported.instances] == ["net--a", "net--b"]
    assert all(instance.readable for instance in imported.instances)
    assert folder.without_truth() == list(folder.entries)
    assert not folder.strays()
    found = contents(folder.path)
    assert found.pop("instances.csv") == (
        b"onnx/net.onnx,vnnlib/a.vnnlib,10\nonnx/net.onnx,vnnlib/b.vnnlib,2.5\n"
    )
    told = json.loads(found.pop("suite.json"))
    assert found == {"onnx/net.onnx": NET, "vnnlib/a.vnnlib": ASK, "vnnlib/b.vnnlib": ASK_TOO}
    assert told["name"] == "theirs"
    assert told["imported"]["from"] == str(theirs / "instances.csv")
    assert told["instances"][0]["vnnlib"]["source"] == "vnnlib/a.vnnlib.gz"
    assert beside(tmp_path) == ["ours", "theirs"]


def test_the_list_itself_may_be_given(theirs: Path, tmp_path: Path) -> None:
    (theirs / "instances.csv").rename(theirs / "few.csv")
    import_benchmark(theirs / "few.csv", tmp_path / "ours")
    assert len(BenchmarkFolder.open(tmp_path / "ours").entries) == 2


def test_the_list_of_2021_bears_the_name_of_its_benchmark(theirs: Path, tmp_path: Path) -> None:
    (theirs / "instances.csv").rename(theirs / "theirs_instances.csv")
    import_benchmark(theirs, tmp_path / "ours")
    assert len(BenchmarkFolder.open(tmp_path / "ours").entries) == 2
    (theirs / "more_instances.csv").write_text(ROWS)
    with pytest.raises(BadInput, match=r"has 2 lists, more_instances\.csv and others; give one"):
        import_benchmark(theirs, tmp_path / "again")
    with pytest.raises(BadInput, match="name one of the 2 benchmarks in it: ours, theirs"):
        import_benchmark(tmp_path, tmp_path / "again")


def second(made: bytes) -> bytes:
    case = vnnlib.read(made.decode(), "x").cases[0]
    return vnnlib2.write(case.box, case.violation).encode()


def test_folders_of_versions(tmp_path: Path) -> None:
    both = tmp_path / "both"
    rows = "onnx/net.onnx,vnnlib/a.vnnlib,10\n"
    for version, text in (("1.0", ASK), ("2.0", second(ASK))):
        files = {"onnx/net.onnx.gz": NET, "vnnlib/a.vnnlib.gz": text}
        their_folder(both / version, files, rows)
    with pytest.raises(BadInput, match=r"holds VNN-LIB 1\.0 and 2\.0; choose one with --version"):
        import_benchmark(both, tmp_path / "ours")
    with pytest.raises(BadInput, match="3 is not known"):
        import_benchmark(both, tmp_path / "ours", version="3")
    for version in ("1.0", "2.0"):
        imported = import_benchmark(both, tmp_path / version, version=version)
        assert [(i.version, i.readable) for i in imported.instances] == [(version, True)]
        assert imported.name == "both"
    with pytest.raises(BadInput, match="leave it out"):
        import_benchmark(both / "1.0/instances.csv", tmp_path / "ours", version="1.0")
    (both / "1.0/instances.csv").unlink()
    assert import_benchmark(both, tmp_path / "ours").instances[0].version == "2.0"
    with pytest.raises(BadInput, match=r"has no 1\.0/instances\.csv"):
        import_benchmark(both, tmp_path / "more", version="1.0")


def test_a_folder_of_benchmarks_names_them(theirs: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="name one of the 1 benchmarks in it: theirs"):
        import_benchmark(theirs.parent, tmp_path / "ours")


def test_same_names_in_different_folders_stay_apart(tmp_path: Path) -> None:
    files = {
        "onnx/x/net.onnx": NET,
        "onnx/y/net.onnx.gz": OTHER.onnx,
        "vnnlib/p.vnnlib": ASK,
        "more/p.vnnlib": OTHER.vnnlib,
    }
    rows = "onnx/x/net.onnx,vnnlib/p.vnnlib,1\nonnx/y/net.onnx,more/p.vnnlib,1\n"
    imported = import_benchmark(their_folder(tmp_path / "t", files, rows), tmp_path / "ours")
    assert [i.name for i in imported.instances] == ["x-net--p", "y-net--more-p"]
    assert all(i.readable for i in imported.instances)
    assert (tmp_path / "ours/onnx/y-net.onnx").read_bytes() == OTHER.onnx


def test_repeated_questions_are_kept_once(theirs: Path, tmp_path: Path) -> None:
    (theirs / "onnx/copy.onnx").write_bytes(NET)
    with (theirs / "instances.csv").open("a") as stream:
        stream.write("onnx/net.onnx,vnnlib/a.vnnlib,20\nonnx/copy.onnx,vnnlib/b.vnnlib,2.5\n")
    imported = import_benchmark(theirs, tmp_path / "ours")
    assert len(imported.instances) == 2
    assert [(r.line, r.reason) for r in imported.repeated] == [
        (4, "asks the same as line 1, which grants 10 s"),
        (5, "asks the same as line 2"),
    ]
    assert not (tmp_path / "ours/onnx/copy.onnx").exists()


def test_what_our_readers_cannot_read_is_imported_and_named(tmp_path: Path) -> None:
    files = {
        "onnx/net.onnx": NET,
        "onnx/junk.onnx": b"junk",
        "vnnlib/a.vnnlib": ASK,
        "vnnlib/strict.vnnlib": ASK.replace(b"(<= X_0", b"(< X_0"),
        "vnnlib/large.vnnlib": OTHER.vnnlib,
        "vnnlib/latin.vnnlib": b"\xff",
    }
    rows = "".join(
        f"onnx/{net}.onnx,vnnlib/{ask}.vnnlib,1\n"
        for net, ask in [
            ("net", "a"),
            ("junk", "a"),
            ("net", "strict"),
            ("net", "large"),
            ("net", "latin"),
        ]
    )
    imported = import_benchmark(their_folder(tmp_path / "t", files, rows), tmp_path / "ours")
    reasons = [i.reason for i in imported.instances]
    assert [i.readable for i in imported.instances] == [True, False, False, False, False]
    assert reasons[1].startswith("junk.onnx: not an ONNX file")
    assert "ties count as violations" in reasons[2]
    assert "6 inputs and 3 outputs, the network 3 and 2" in reasons[3]
    assert reasons[4].startswith("latin.vnnlib: not UTF-8 text")
    assert json.loads((tmp_path / "ours/suite.json").read_text())["counts"] == {
        "instances": 5,
        "readable": 1,
    }


def test_rows_about_several_networks_are_left_out(theirs: Path, tmp_path: Path) -> None:
    several = "\"[('f', 'onnx/a.onnx'), ('g', 'onnx/b.onnx')]\",vnnlib/a.vnnlib,100\n"
    (theirs / "instances.csv").write_text(several + ROWS)
    imported = import_benchmark(theirs, tmp_path / "ours")
    assert [row.line for row in imported.left_out] == [1]
    assert len(imported.instances) == 2
    (theirs / "instances.csv").write_text(several)
    with pytest.raises(BadInput, match="none can be taken: its row names several networks"):
        import_benchmark(theirs, tmp_path / "more")


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("", "lists no instance"),
        ("onnx/net.onnx,vnnlib/a.vnnlib\n", ":1: has 2 fields"),
        ("onnx/net.onnx,vnnlib/a.vnnlib,1,2\n", ":1: has 4 fields"),
        ("onnx/net.onnx,vnnlib/a.vnnlib,soon\n", "timeout 'soon' is not a positive"),
        ("onnx/net.onnx,vnnlib/a.vnnlib,inf\n", "is not a positive"),
        ("\nonnx/z.onnx,vnnlib/a.vnnlib,1\n", ":2: there is no file 'onnx/z.onnx', gzip-ed or not"),
        ("../net.onnx,vnnlib/a.vnnlib,1\n", "'../net.onnx' lies outside the folder"),
        ("onnx/link.onnx,vnnlib/a.vnnlib,1\n", "lies outside the folder"),
        ("/etc/x.onnx,vnnlib/a.vnnlib,1\n", "lies outside the folder"),
        ("onnx/loop.onnx,vnnlib/a.vnnlib,1\n", ":1: "),
        ("instances.csv,vnnlib/a.vnnlib,1\n", "is no .onnx file"),
        ("onnx/net.onnx,onnx/net.onnx,1\n", "is no .vnnlib file"),
        (f"onnx/{'a' * 5000}.onnx,vnnlib/a.vnnlib,1\n", "is not a usable path"),
        (f"{'a' * 200_000},vnnlib/a.vnnlib,1\n", "field larger than field limit"),
        ("onnx/cut.onnx,vnnlib/a.vnnlib,1\n", "cut.onnx.gz: broken gzip"),
        ("onnx/plain.onnx,vnnlib/a.vnnlib,1\n", "plain.onnx.gz: broken gzip"),
        ("onnx/crc.onnx,vnnlib/a.vnnlib,1\n", "crc.onnx.gz: broken gzip"),
        ("onnx/lfs.onnx,vnnlib/a.vnnlib,1\n", "get the file with `git lfs pull`"),
        ("onnx/a\0.onnx,vnnlib/a.vnnlib,1\n", ":1: "),
    ],
)
def test_a_wrong_benchmark_is_one_sentence(
    theirs: Path, tmp_path: Path, rows: str, sentence: str
) -> None:
    packed = gzip.compress(NET)
    outside = tmp_path / "outside.onnx"
    outside.write_bytes(NET)
    (theirs / "onnx/link.onnx").symlink_to(outside)
    (theirs / "onnx/loop.onnx").symlink_to(theirs / "onnx/loop.onnx")
    (theirs / "onnx/cut.onnx.gz").write_bytes(packed[:-20])
    (theirs / "onnx/plain.onnx.gz").write_bytes(NET)
    (theirs / "onnx/crc.onnx.gz").write_bytes(packed[:-8] + b"\0" * 8)
    (theirs / "onnx/lfs.onnx").write_text("version https://git-lfs.github.com/spec/v1\noid 1\n")
    (theirs / "instances.csv").write_text(rows)
    with pytest.raises(BadInput) as caught:
        import_benchmark(theirs, tmp_path / "ours")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert beside(tmp_path) == ["outside.onnx", "theirs"]


def test_a_gzip_bomb_stops_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"onnx/net.onnx.gz": bytes(3 << 20), "vnnlib/a.vnnlib": ASK}
    theirs = their_folder(tmp_path / "t", files, "onnx/net.onnx,vnnlib/a.vnnlib,1\n")
    with pytest.raises(BadInput, match="holds more than 1048576 bytes"):
        copying.copy(theirs / "onnx/net.onnx.gz", tmp_path / "out", 1 << 20)
    assert (tmp_path / "out").stat().st_size <= 1 << 20
    monkeypatch.setattr(importing, "LARGEST_BENCHMARK", 2 << 20)
    with pytest.raises(BadInput, match="its files hold more than 2097152 bytes"):
        import_benchmark(theirs, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


@pytest.mark.parametrize("taken", ["file", "full", "link"])
def test_nothing_is_overwritten(theirs: Path, tmp_path: Path, taken: str) -> None:
    ours = tmp_path / "ours"
    if taken == "file":
        ours.write_text("mine")
    elif taken == "full":
        their_folder(ours, {"mine": b"mine"}, "mine")
    else:
        ours.symlink_to(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="exists already and is not overwritten"):
        import_benchmark(theirs, ours)
    assert beside(tmp_path) == ["ours", "theirs"]


def test_an_empty_folder_is_filled_and_missing_parents_are_made(
    theirs: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "new/deep/er"):
        import_benchmark(theirs, tmp_path / name)
        assert BenchmarkFolder.open(tmp_path / name).entries


class Interrupting(Watcher):
    def finished(self, name: str, seconds: float, note: str = "") -> None:  # noqa: ARG002
        if name.startswith("read"):
            raise KeyboardInterrupt


def test_an_interrupted_import_leaves_nothing(theirs: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        import_benchmark(theirs, tmp_path / "ours", watcher=Interrupting())
    assert beside(tmp_path) == ["theirs"]


def written_around_another(target: Path) -> None:
    with new_folder(target) as late:
        (late / "late").touch()
        with new_folder(target) as early:
            (early / "early").touch()


def test_a_folder_that_appears_meanwhile_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="appeared while this was being written"):
        written_around_another(tmp_path / "ours")
    assert beside(tmp_path) == ["ours"]
    assert beside(tmp_path / "ours") == ["early"]


def test_stems_are_unique_safe_and_short() -> None:
    names = ["onnx/a b.onnx", "onnx/A-b.onnx", "x/é.onnx.gz", "..onnx", "onnx/p--q.onnx"]
    paths = [Path(name) for name in [*names, f"onnx/{'n' * 240}.onnx", f"y/{'n' * 239}.onnx"]]
    stems = list(flat_stems(paths, ".onnx").values())
    assert len({stem.casefold() for stem in stems}) == len(paths)
    assert all(stem.isascii() and "--" not in stem and len(stem) <= 110 for stem in stems)
    assert stems[4] == "p-q"
    assert not any(stem.startswith((".", "-")) for stem in stems)


def _split(folder: Path, name: str = "onnx/net.onnx") -> None:
    """The network's weights move to a file beside it, as torch writes them."""
    path = folder / name
    path.with_suffix(".onnx.gz").unlink()
    model = onnx.load_from_string(NET)
    onnx.save(model, path, save_as_external_data=True, location="w.data", size_threshold=0)


def test_weights_beside_a_network_are_inlined(theirs: Path, tmp_path: Path) -> None:
    _split(theirs)
    imported = import_benchmark(theirs, tmp_path / "ours")
    assert all(instance.readable for instance in imported.instances)
    network = tmp_path / "ours" / "onnx" / "net.onnx"
    model = onnx.load(network, load_external_data=False)
    assert not any(tensor.external_data for tensor in model.graph.initializer)
    assert imported.instances[0].onnx.sha256 == sha256(network.read_bytes())
    assert beside(network.parent) == ["net.onnx"]


def test_a_network_without_its_weights_is_left_out(theirs: Path, tmp_path: Path) -> None:
    _split(theirs)
    (theirs / "onnx" / "small.onnx").write_bytes(NET)
    (theirs / "instances.csv").write_text(ROWS + "onnx/small.onnx,vnnlib/a.vnnlib,10\n")
    (theirs / "onnx" / "w.data").unlink()
    imported = import_benchmark(theirs, tmp_path / "ours")
    assert [instance.name for instance in imported.instances] == ["small--a"]
    assert "no such file beside the model" in imported.left_out[0].reason


def test_a_network_that_no_file_holds_is_left_out(theirs: Path, tmp_path: Path) -> None:
    """Beyond protobuf's 2 GB by what its file says; a sparse file stands for the weights."""
    _split(theirs)
    (theirs / "onnx" / "small.onnx").write_bytes(NET)
    rows = ROWS + "onnx/small.onnx,vnnlib/a.vnnlib,10\n"
    (theirs / "instances.csv").write_text(rows)
    network = theirs / "onnx" / "net.onnx"
    model = onnx.load(network, load_external_data=False)
    tensor = model.graph.initializer[0]
    tensor.dims[:] = [2**29, 1]
    del tensor.external_data[:]
    tensor.external_data.add(key="location", value="large.data")
    network.write_bytes(model.SerializeToString())
    with (theirs / "onnx" / "large.data").open("wb") as stream:
        stream.truncate(2**31)
    imported = import_benchmark(theirs, tmp_path / "ours")
    assert [instance.name for instance in imported.instances] == ["small--a"]
    assert [row.line for row in imported.left_out] == [1, 2]
    assert "protobuf limits a single file to 2147483647 (2 GB)" in imported.left_out[0].reason
    assert beside(tmp_path / "ours" / "onnx") == ["small.onnx"]
    (theirs / "instances.csv").write_text(ROWS)
    with pytest.raises(BadInput, match="protobuf limits a single file"):
        import_benchmark(theirs, tmp_path / "again")
