"""How results say what was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay import __version__
from assay.cli.output import print_line

if TYPE_CHECKING:
    from assay.analyse.asked import Asked
    from assay.cli.asked_options import PointOptions


def asked_document(asked: Asked, options: PointOptions) -> dict[str, Any]:
    asked_for = {"input": str(options.where), "index": options.index, "seed": options.seed}
    return {"assay": __version__, **asked.description, **asked_for}


def print_warnings(asked: Asked) -> None:
    for warning in asked.warnings:
        print_line(f"WARNING: {warning}")


def asked_sentence(asked: Asked) -> str:
    """The measure, and what must be kept."""
    labels = asked.kept.description.get("labels")
    kept = "violation as the VNN-LIB file states it" if labels is None else f"labels {labels}"
    return f"{asked.region.measure}; {kept}"
