"""Charts as files for papers: SVG, and PNG beside it where asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from assay.report.own_files import refuse_foreign
from assay.report.png import png
from assay.store.whole_file import write_whole


def refuse_foreign_charts(folder: Path, names: Iterable[str], with_png: bool) -> None:
    for name in names:
        for suffix in (".svg", ".png") if with_png else (".svg",):
            refuse_foreign(folder / f"{name}{suffix}")


def write_chart_files(folder: Path, drawn: Mapping[str, str], with_png: bool) -> list[Path]:
    """Write each drawing under its name; all are drawn before the first is written."""
    files: dict[Path, str | bytes] = {folder / f"{name}.svg": svg for name, svg in drawn.items()}
    if with_png:
        files |= {folder / f"{name}.png": png(svg) for name, svg in drawn.items()}
    for path, data in files.items():
        write_whole(path, data)
    return list(files)
