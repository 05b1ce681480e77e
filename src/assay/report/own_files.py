"""Files that Assay wrote carry a mark, and only those are written over."""

from __future__ import annotations

from pathlib import Path

from assay.errors import BadInput

SVG_MARK = "<metadata>Made by Assay</metadata>"
_MARKS = (b'<meta name="generator" content="Assay', SVG_MARK.encode())
_LOOKED_AT = 64 * 1024


def refuse_foreign(target: Path) -> None:
    """Raise BadInput where a page or a chart would replace something that is not one of ours."""
    if target.is_dir():
        raise BadInput(f"{target}: is a folder; name the file to write in it")
    if target.exists() and not is_own(target):
        raise BadInput(
            f"{target}: exists and was not written by Assay; choose another name, or remove it"
        )


def is_own(target: Path) -> bool:
    """A PNG has no place for the mark: it is ours where the SVG beside it is."""
    marked = target.with_suffix(".svg") if target.suffix == ".png" else target
    try:
        if not marked.is_file():
            return False
        with marked.open("rb") as stream:
            start = stream.read(_LOOKED_AT)
    except OSError as error:
        raise BadInput(f"{marked}: cannot be read ({error.strerror}); choose another") from None
    return any(mark in start for mark in _MARKS)
