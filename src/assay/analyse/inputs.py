"""Inputs from files: arrays (.npy), pictures (.png), folders of them, and stacks (.npz).

A folder holds one sub-folder a class, named by its number, or a `labels.csv` with lines
`FILE,LABEL`; a stack (.npz) holds the arrays `inputs` and `labels`.
"""

from __future__ import annotations

import csv
import os
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.analyse.preprocessing import Layout
from assay.errors import BadInput
from assay.optional_packages import missing_package

PICTURES, ARRAYS = (".png", ".jpg", ".jpeg", ".bmp"), (".npy",)
LABELS_FILE = "labels.csv"
_LONGEST_LABEL = 9
_GREY, _DEEP = ("1", "L", "LA"), ("I", "F")
"""Modes of Pillow: one channel, and channels of 16 or 32 bits."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """Points [n, ...] in float64 with their gold labels and names."""

    points: NDArray[np.float64]
    labels: NDArray[np.int64]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.points)

    def chosen(self, which: NDArray[np.int64]) -> Inputs:
        names = tuple(self.names[i] for i in which)
        return Inputs(self.points[which], self.labels[which], names)


def read_input(path: Path, layout: Layout = "chw", index: int | None = None) -> np.ndarray:
    """One input; `index` picks from a file that holds several."""
    if path.suffix == ".npz":
        stack = read_inputs(path, layout).points
    elif path.suffix.lower() in ARRAYS:
        array = _array(path)
        if index is None:
            return array
        stack = array
    else:
        if path.is_dir():
            raise BadInput(f"{path}: is a folder; give one file of it")
        if index is not None:
            raise BadInput(f"{path}: is one picture; leave the index out")
        return _picture(path, layout)
    if index is None:
        raise BadInput(f"{path}: holds {len(stack)} inputs; pick one with --index")
    if not (stack.ndim > 1 and 0 <= index < len(stack)):
        held = len(stack) if stack.ndim > 1 else 1
        raise BadInput(f"{path}: holds {held} inputs, numbered from 0, and no number {index}")
    return np.asarray(stack[index])


def read_inputs(path: Path, layout: Layout = "chw") -> Inputs:
    """A data set: a folder or a stack."""
    if path.is_dir():
        return _folder(path, layout)
    if path.suffix != ".npz":
        raise BadInput(f"{path}: is no folder and no .npz file; give one with inputs and labels")
    try:
        with path.open("rb") as stream:
            stack = np.load(stream, allow_pickle=False)
            if isinstance(stack, np.ndarray):
                raise BadInput(f"{path}: is one array; name it .npy")
            if not {"inputs", "labels"} <= set(stack.files):
                raise BadInput(
                    f"{path}: holds {', '.join(stack.files) or 'nothing'}; give the arrays "
                    "'inputs' and 'labels'"
                )
            points, labels = _numbers(stack["inputs"], path), stack["labels"]
    except (OSError, ValueError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error) as error:
        raise _unreadable(path, error) from None
    if points.ndim < 2 or labels.shape != (len(points),) or labels.dtype.kind not in "iu":
        raise BadInput(
            f"{path}: inputs {list(points.shape)} need one whole number each, and labels are "
            f"{labels.dtype}{list(labels.shape)}; give [n, ...] and [n]"
        )
    if not len(points):
        raise BadInput(f"{path}: holds no inputs; give at least one")
    names = tuple(f"{path.stem}#{i}" for i in range(len(points)))
    return Inputs(points, labels.astype(np.int64), names)


def refuse_one_score(classes: int) -> None:
    """One number does not say from where on it means which class."""
    if classes < 2:
        raise BadInput(
            "the model gives one score an input, and labels need one a class; for a score s that "
            "is positive for class 1 return [0, s], for its probability p return [1 - p, p], or "
            "state what the output must keep in a VNN-LIB file"
        )


def refuse_labels(data: Inputs, classes: int) -> None:
    """BadInput where a label is none of the model's classes."""
    refuse_one_score(classes)
    wrong = (data.labels < 0) | (data.labels >= classes)
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise BadInput(
            f"{data.names[first]}: label {data.labels[first]} does not exist: the model has "
            f"classes 0 to {classes - 1}; mend the labels"
        )


def _folder(path: Path, layout: Layout) -> Inputs:
    listed = _listed(path) if (path / LABELS_FILE).is_file() else _sorted_into_classes(path)
    if not listed:
        raise BadInput(
            f"{path}: holds no inputs; give sub-folders named by class, or {LABELS_FILE}, with "
            f"{', '.join((*ARRAYS, *PICTURES))} files"
        )
    points = [read_input(file, layout) for file, _ in listed]
    for (file, _), point in zip(listed, points, strict=True):
        if point.shape != points[0].shape:
            raise BadInput(
                f"{file}: has shape {list(point.shape)} where {listed[0][0].name} has "
                f"{list(points[0].shape)}; give inputs of one shape"
            )
    names = tuple(os.path.relpath(file, path) for file, _ in listed)
    return Inputs(np.stack(points), np.array([label for _, label in listed]), names)


def _sorted_into_classes(path: Path) -> list[tuple[Path, int]]:
    found: list[tuple[Path, int]] = []
    for folder in _shown(path):
        if not folder.is_dir():
            continue
        label = _label(folder.name)
        if label is None:
            raise BadInput(
                f"{folder}: is not the number of a class; name sub-folders 0, 1, ... or give "
                f"{LABELS_FILE}"
            )
        files = [f for f in _shown(folder) if f.suffix.lower() in (*ARRAYS, *PICTURES)]
        found.extend((file, label) for file in files)
    return sorted(found, key=lambda pair: (pair[1], pair[0].name))


def _shown(folder: Path) -> list[Path]:
    """What a folder holds, without what file managers and notebooks hide in it."""
    try:
        return sorted(f for f in folder.iterdir() if not f.name.startswith("."))
    except OSError as error:
        raise _unreadable(folder, error) from None


def _listed(path: Path) -> list[tuple[Path, int]]:
    table = path / LABELS_FILE
    found: dict[Path, int] = {}
    try:
        with table.open(newline="", encoding="utf-8-sig") as stream:
            for number, row in enumerate(csv.reader(stream), 1):
                if not row:
                    continue
                label = _label(row[1].strip()) if len(row) == 2 else None
                if label is None:
                    raise BadInput(f"{table}: line {number} is not FILE,LABEL; mend it")
                file = path / os.path.normpath(row[0].strip())
                if file in found:
                    raise BadInput(f"{table}: line {number} names {row[0]} again; name it once")
                found[file] = label
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _unreadable(table, error) from None
    return list(found.items())


def _label(text: str) -> int | None:
    """The number of a class, if this is one."""
    return int(text) if text.isdecimal() and len(text) <= _LONGEST_LABEL else None


def _array(path: Path) -> NDArray[np.float64]:
    try:
        with path.open("rb") as stream:
            return _numbers(np.load(stream, allow_pickle=False), path)
    except (OSError, ValueError, EOFError, MemoryError, zipfile.BadZipFile) as error:
        raise _unreadable(path, error) from None


def _numbers(array: object, path: Path) -> NDArray[np.float64]:
    if not isinstance(array, np.ndarray):
        raise BadInput(f"{path}: is a stack of arrays; name it .npz")
    if array.dtype.kind not in "fiub" or not array.size:
        raise BadInput(f"{path}: holds {array.dtype}{list(array.shape)}; give an array of numbers")
    wrong = ~np.isfinite(array)
    if wrong.any():
        place = ", ".join(str(n) for n in np.argwhere(wrong)[0])
        raise BadInput(f"{path}: holds NaN or infinity at [{place}]; give finite numbers")
    return np.asarray(array, np.float64)


def _picture(path: Path, layout: Layout) -> NDArray[np.float64]:
    if path.suffix.lower() not in PICTURES:
        kinds = ", ".join((*ARRAYS, ".npz", *PICTURES))
        raise BadInput(f"{path}: is no kind of input that is read; give one of {kinds}")
    try:
        from PIL import Image
    except ImportError:
        raise missing_package("PIL", f"{path}: reading pictures") from None
    try:
        with Image.open(path) as image:
            if image.mode.startswith(_DEEP):
                raise BadInput(
                    f"{path}: its pixels have more than 8 bits; save it with 8 bits, or as .npy"
                )
            mode = "L" if image.mode in _GREY else "RGB"
            pixels = np.asarray(image.convert(mode), np.float64)
    except (
        OSError,
        ValueError,
        SyntaxError,
        EOFError,
        struct.error,
        Image.DecompressionBombError,
    ) as error:
        raise _unreadable(path, error) from None
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    return np.ascontiguousarray(pixels.transpose(2, 0, 1) if layout == "chw" else pixels)


def _unreadable(path: Path, error: Exception) -> BadInput:
    reason = " ".join(str(error).split())[:120]
    return BadInput(f"{path}: cannot be read ({reason}); check the path and the file")
