"""Read a benchmark folder, ours or any in the layout of VNN-COMP (which has no truths)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from assay.errors import BadInput
from assay.suite.build_journal import INSTANCES_FILE, STATE, SUITE_FILE
from assay.suite.instance_rows import MAX_LIST_BYTES, read_list, rows_of, seconds_of, three_fields


@dataclass(frozen=True)
class FolderEntry:
    """One row of instances.csv; `truth` is None where the folder holds none for it."""

    name: str
    onnx: Path
    vnnlib: Path
    timeout: float
    truth: Path | None
    line: int


@dataclass(frozen=True)
class BenchmarkFolder:
    """The instances of a folder in the order of its list."""

    path: Path
    entries: tuple[FolderEntry, ...]

    @classmethod
    def open(cls, path: Path) -> BenchmarkFolder:
        if not path.is_dir():
            raise BadInput(f"{path}: not a folder; give a benchmark folder")
        listing = path / INSTANCES_FILE
        if not listing.is_file():
            unfinished = (path / STATE).exists()
            remedy = "finish its build with `assay build`" if unfinished else "is it a benchmark?"
            raise BadInput(f"{path}: has no {INSTANCES_FILE}; {remedy}")
        return cls(path, tuple(_entries(path, listing)))

    @property
    def title(self) -> str:
        """What the benchmark is called: in suite.json, else by the name of its folder."""
        try:
            with (self.path / SUITE_FILE).open("rb") as stream:
                name = json.loads(stream.read(MAX_LIST_BYTES)).get("name")
        except (OSError, ValueError, AttributeError):
            name = None
        return name if isinstance(name, str) and name else self.path.absolute().name

    def without_truth(self) -> list[FolderEntry]:
        return [entry for entry in self.entries if entry.truth is None]

    def strays(self) -> list[Path]:
        """Return files in onnx/, vnnlib/ and truth/ that no row of the list refers to."""
        known = {e.onnx for e in self.entries} | {e.vnnlib for e in self.entries}
        for truth in (entry.truth for entry in self.entries if entry.truth is not None):
            known |= {truth, truth.with_suffix(".bin")}
        found = (p for part in ("onnx", "vnnlib", "truth") for p in (self.path / part).glob("**/*"))
        return sorted(p for p in found if not p.is_dir() and p not in known)


def instance_name(onnx: Path, vnnlib: Path) -> str:
    """What a question is called, from the names of its files."""
    return vnnlib.stem if vnnlib.stem == onnx.stem else f"{onnx.stem}--{vnnlib.stem}"


def _entries(folder: Path, listing: Path) -> list[FolderEntry]:
    entries: list[FolderEntry] = []
    lines: dict[str, int] = {}
    root = folder.resolve()
    for line, fields in rows_of(listing, read_list(listing)):
        entry = _entry(folder, root, fields, line)
        first = lines.setdefault(entry.name, entry.line)
        if first != entry.line:
            raise BadInput(
                f"{listing}:{entry.line}: repeats {entry.name} of line {first}; remove one"
            )
        entries.append(entry)
    if not entries:
        raise BadInput(f"{listing}: lists no instance; add rows ONNX,VNNLIB,TIMEOUT")
    return entries


def _entry(folder: Path, root: Path, row: list[str], line: int) -> FolderEntry:
    where = f"{folder / INSTANCES_FILE}:{line}"
    network, question, timeout = three_fields(row, where)
    onnx = _inside(folder, root, network, where)
    vnnlib = _inside(folder, root, question, where)
    limit = seconds_of(timeout, where)
    name = instance_name(onnx, vnnlib)
    truth = folder / "truth" / f"{name}.json"
    known = truth.is_file() and truth.resolve().is_relative_to(root)
    return FolderEntry(name, onnx, vnnlib, limit, truth if known else None, line)


def _inside(folder: Path, root: Path, text: str, where: str) -> Path:
    """Return the file that a row names; it must exist and lie inside the folder."""
    relative = Path(text)
    shown = repr(text[:80])
    try:
        resolved = (root / relative).resolve()
        if relative.is_absolute() or not resolved.is_relative_to(root):
            raise BadInput(f"{where}: {shown} lies outside the folder; use a path inside it")
        if resolved.is_file():
            return folder / relative
        packed = resolved.with_name(resolved.name + ".gz").is_file()
    except (OSError, ValueError, RuntimeError):
        raise BadInput(f"{where}: {shown} is not a usable path; correct it") from None
    remedy = "decompress its .gz first" if packed else "restore the file or remove the row"
    raise BadInput(f"{where}: there is no file {shown}; {remedy}")
