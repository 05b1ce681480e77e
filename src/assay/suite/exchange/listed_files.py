"""What lies at the top of a benchmark folder that Assay writes: the list and suite.json."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from assay.suite.build_journal import INSTANCES_FILE, SUITE_FILE


def write_list(folder: Path, rows: Iterable[tuple[str, str, float]]) -> bytes:
    """Write instances.csv with the names of two files and a timeout a row; return its bytes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for onnx, vnnlib, timeout in rows:
        writer.writerow((onnx, vnnlib, int(timeout) if timeout == int(timeout) else timeout))
    data = text.getvalue().encode()
    (folder / INSTANCES_FILE).write_bytes(data)
    return data


def write_suite(folder: Path, document: dict[str, Any]) -> None:
    (folder / SUITE_FILE).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
