"""One line of a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable


def csv_line(cells: Iterable[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()
