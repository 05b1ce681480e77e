"""Names for the files of a benchmark in one flat folder: unique, safe, and as they were if so.

Results of others are matched to instances by these names, so they are changed only where two
files would get the same one, or where a name cannot be used everywhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePath
from typing import TypeVar

LONGEST = 110
"""Characters of a stem: two of them and a suffix fit into the 255 bytes of a file's name."""
Place = TypeVar("Place", bound=PurePath)
_USUAL = ("onnx", "vnnlib")
_UNSAFE = re.compile(r"[^A-Za-z0-9._+=@-]+")
_HYPHENS = re.compile(r"-{2,}")  # `--` joins the stems of a network and a question


def flat_stems(paths: Iterable[Place], suffix: str) -> dict[Place, str]:
    """A stem for every relative path; of equal ones, all get the names of their folders."""
    plain = {path: _safe(_stem(path, suffix)) for path in dict.fromkeys(paths)}
    often = Counter(stem.casefold() for stem in plain.values())
    unique = {path: stem for path, stem in plain.items() if often[stem.casefold()] == 1}
    taken = {stem.casefold() for stem in unique.values()}
    for path, stem in plain.items():
        if path not in unique:
            folders = path.parts[path.parts[0] in _USUAL : -1]
            unique[path] = _untaken(_safe("-".join([*folders, stem])), taken)
    return {path: unique[path] for path in plain}


def joined(onnx: str, vnnlib: str) -> str:
    """The name that a benchmark folder gives to the instance with these two files."""
    network, question = PurePath(onnx).stem, PurePath(vnnlib).stem
    return question if question == network else f"{network}--{question}"


def _stem(path: PurePath, suffix: str) -> str:
    return path.name.removesuffix(".gz").removesuffix(suffix)


def _safe(text: str) -> str:
    """`text` with the characters that shells, CSV and file systems take as they are."""
    cleaned = _HYPHENS.sub("-", _UNSAFE.sub("-", text)).strip("-").lstrip(".-")
    return cleaned[-LONGEST:].strip("-").lstrip(".-") or "file"


def _untaken(wanted: str, taken: set[str]) -> str:
    """`wanted`, with a number behind it if it is taken; then it is."""
    stem, number = wanted, 1
    while stem.casefold() in taken:
        number += 1
        stem = f"{wanted[: LONGEST - 8]}-{number}"
    taken.add(stem.casefold())
    return stem
