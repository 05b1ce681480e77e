"""The rows of an instances.csv, ours or of VNN-COMP: read, split and checked one by one."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path

from assay.errors import BadInput

MAX_LIST_BYTES = 64 * 1024 * 1024
_FIELDS = 3


def read_list(listing: Path) -> bytes:
    try:
        with listing.open("rb") as stream:
            data = stream.read(MAX_LIST_BYTES + 1)
    except OSError as error:
        raise BadInput(f"{listing}: cannot be read ({error.strerror}); check the file") from None
    if len(data) > MAX_LIST_BYTES:
        raise BadInput(f"{listing}: larger than {MAX_LIST_BYTES} bytes; split the benchmark")
    return data


def rows_of(listing: Path, data: bytes, encoding: str = "utf-8") -> Iterator[tuple[int, list[str]]]:
    """The fields of every row that is not empty, with its line."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise BadInput(f"{listing}: not UTF-8 text; write it as plain CSV") from None
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    try:
        for row in reader:
            fields = [field.strip() for field in row]
            if any(fields):
                yield reader.line_num, fields
    except csv.Error as error:
        raise BadInput(f"{listing}:{reader.line_num}: {error}; correct the row") from None


def three_fields(fields: list[str], where: str) -> tuple[str, str, str]:
    """Network, property and timeout, as they are written."""
    if len(fields) != _FIELDS:
        raise BadInput(
            f"{where}: has {len(fields)} fields; write ONNX,VNNLIB,TIMEOUT without header"
        )
    return fields[0], fields[1], fields[2]


def seconds_of(text: str, where: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise BadInput(f"{where}: timeout {text[:40]!r} is not a positive number of seconds")
    return seconds
