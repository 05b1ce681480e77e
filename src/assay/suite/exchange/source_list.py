"""The list of a VNN-COMP benchmark: which file it is, its rows, and the files that they name.

A benchmark is a folder with an instances.csv (in 2021 still NAME_instances.csv), or (since 2026)
one with a folder for each version of VNN-LIB, `1.0` and `2.0`, that has its own. Rows name files
without `.gz` although the files are often gzip-ed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay.errors import BadInput
from assay.suite.build_journal import INSTANCES_FILE
from assay.suite.instance_rows import read_list, rows_of, seconds_of, three_fields

VERSIONS = ("1.0", "2.0")
_OLD_LISTS = f"*_{INSTANCES_FILE}"
_SEVERAL_NETWORKS = "its row names several networks, and Assay's questions are about one"
_SHOWN = 5


@dataclass(frozen=True)
class SourceRow:
    """A row whose two files exist inside of the benchmark."""

    onnx: Path
    vnnlib: Path
    timeout: float
    line: int


@dataclass(frozen=True)
class LeftOut:
    """A row that is not taken, and why."""

    line: int
    reason: str


@dataclass(frozen=True)
class SourceList:
    """A list, the folder that its rows are about, and those rows."""

    path: Path
    data: bytes
    rows: tuple[SourceRow, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def folder(self) -> Path:
        return self.path.parent


def open_list(path: Path, version: str | None = None) -> SourceList:
    """Read the list of the benchmark at `path`: a folder, or the list itself."""
    if version is not None and version not in VERSIONS:
        raise BadInput(f"--version {version} is not known; give {' or '.join(VERSIONS)}")
    listing = _listing(path, version)
    data = read_list(listing)
    root = listing.parent.resolve()
    rows: list[SourceRow] = []
    left_out: list[LeftOut] = []
    for line, fields in rows_of(listing, data, "utf-8-sig"):
        where = f"{listing}:{line}"
        network, question, timeout = three_fields(fields, where)
        limit = seconds_of(timeout, where)
        if network.startswith("["):
            left_out.append(LeftOut(line, _SEVERAL_NETWORKS))
            continue
        onnx = _source(listing.parent, root, network, ".onnx", where)
        vnnlib = _source(listing.parent, root, question, ".vnnlib", where)
        rows.append(SourceRow(onnx, vnnlib, limit, line))
    if not rows:
        reason = f"none can be taken: {left_out[0].reason}" if left_out else "lists no instance"
        raise BadInput(f"{listing}: {reason}; choose another benchmark")
    return SourceList(listing, data, tuple(rows), tuple(left_out))


def _listing(path: Path, version: str | None) -> Path:
    if path.is_file():
        if version is not None:
            raise BadInput(f"--version is for folders and {path} is a list; leave it out")
        return path
    if not path.is_dir():
        raise BadInput(f"{path}: no such folder; give a benchmark folder or its instances.csv")
    own = path / INSTANCES_FILE
    found = [v for v in VERSIONS if (path / v / INSTANCES_FILE).is_file()]
    if version is not None:
        if version not in found:
            raise BadInput(
                f"{path}: has no {version}/{INSTANCES_FILE}; leave --version {version} out"
            )
        return path / version / INSTANCES_FILE
    if own.is_file():
        return own
    if len(found) == 1:
        return path / found[0] / INSTANCES_FILE
    if found:
        raise BadInput(f"{path}: holds VNN-LIB {' and '.join(found)}; choose one with --version")
    old = sorted(path.glob(_OLD_LISTS))
    if len(old) == 1:
        return old[0]
    if old:
        raise BadInput(f"{path}: has {len(old)} lists, {old[0].name} and others; give one of them")
    raise BadInput(f"{path}: has no {INSTANCES_FILE}; {_hint(path)}")


def _hint(path: Path) -> str:
    """Several benchmarks often lie in one repository."""
    lists = (INSTANCES_FILE, _OLD_LISTS, *(f"{v}/{INSTANCES_FILE}" for v in VERSIONS))
    below = sorted({p.relative_to(path).parts[0] for name in lists for p in path.glob(f"*/{name}")})
    if not below:
        return "is it a benchmark?"
    named = ", ".join(below[:_SHOWN]) + (", ..." if len(below) > _SHOWN else "")
    return f"name one of the {len(below)} benchmarks in it: {named}"


def _source(folder: Path, root: Path, text: str, suffix: str, where: str) -> Path:
    """The file that a row names, or its gzip-ed or unpacked twin; inside of the benchmark."""
    shown = repr(text[:80])
    bare = text.removesuffix(".gz")
    if not bare.endswith(suffix):
        raise BadInput(f"{where}: {shown} is no {suffix} file; correct the row")
    for name in (text, f"{bare}.gz" if text == bare else bare):
        try:
            resolved = (root / name).resolve()
            if Path(name).is_absolute() or not resolved.is_relative_to(root):
                raise BadInput(f"{where}: {shown} lies outside the folder; use a path inside it")
            if resolved.is_file():
                direct = ".." not in Path(name).parts
                return folder / (name if direct else resolved.relative_to(root))
        except (OSError, ValueError, RuntimeError):
            raise BadInput(f"{where}: {shown} is not a usable path; correct it") from None
    raise BadInput(f"{where}: there is no file {shown}, gzip-ed or not; restore it")
